"""Install pcielab from this tree into a virtual environment without building: `python setup/adopt.py .venv`.

The extension module must be there already, built from the same sources, here or on another machine. Because it is
built for the stable ABI, one file serves every Python that pcielab supports.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTENSION = ROOT / "python" / "pcielab" / "_core.abi3.so"
SCRIPT = """#!{python}
import sys
from pcielab.cli import main
sys.exit(main())
"""


def adopt(environment: Path) -> None:
    """Let the environment's Python find the package, and write its `pcielab`.

    Raises:
        FileNotFoundError: The extension module is missing.
    """
    if not EXTENSION.exists():
        raise FileNotFoundError(f"{EXTENSION.relative_to(ROOT)}: missing: build it with make build")
    python = environment.absolute() / "bin" / "python"
    [packages] = environment.glob("lib/python3.*/site-packages")
    (packages / "pcielab.pth").write_text(f"{ROOT / 'python'}\n", encoding="utf-8")
    command = environment / "bin" / "pcielab"
    command.write_text(SCRIPT.format(python=python), encoding="utf-8")
    command.chmod(0o755)


if __name__ == "__main__":
    try:
        adopt(Path(sys.argv[1]))
    except FileNotFoundError as error:
        sys.exit(f"error: {error}")
