"""Write every generated file of this repository, or check that all of them are current.

    python -m generate            writes them
    python -m generate --check    names the stale ones, and fails if there are any
    python -m generate --check --unsimulated    the same, without the pages whose numbers are simulated
    python -m generate --site     writes the JSON Schemas that the site alone has, which git ignores

Run it in the root of the repository. `make generate`, `make lint` and `make docs` do.
"""

import argparse
import importlib
import subprocess
import sys
from pathlib import Path

from generate.fixtures import fixtures

WRITTEN = {
    "python/pcielab/library/profiles/quantity_types.py": "quantity_types:module",
    "python/pcielab/library/profiles/parts.py": "profile_types:module",
    "python/pcielab/library/nic_parts.py": "model_types:nics",
    "python/pcielab/library/engine_parts.py": "model_types:engines",
    "python/pcielab/library/expander_parts.py": "model_types:expanders",
    "python/pcielab/library/core_parts.py": "model_types:cores",
    "python/pcielab/library/bar_parts.py": "model_types:bars",
    "python/pcielab/library/message_parts.py": "model_types:messages",
    "python/pcielab/library/fabrics/parts.py": "fabric_types:module",
    "python/pcielab/library/link.py": "crossing_types:link",
    "python/pcielab/model/link.py": "crossing_types:asked",
    "python/pcielab/model/answers.py": "crossing_types:answers",
    "python/pcielab/model/whole_questions.py": "crossing_types:questions",
    "python/pcielab/work/nic_test.py": "crossing_types:nic_test",
    "python/pcielab/fabric/answers.py": "crossing_types:fabrics",
    "python/pcielab/analysis/calibrate/predictions.py": "crossing_types:predictions",
    "python/pcielab/library/suites/parameters.py": "test_types:module",
    "docs/reference/store.md": "store_reference:page",
    "docs/reference/profiles.md": "profile_reference:markdown",
    "docs/reference/hardware.md": "hardware_reference:markdown",
    "docs/reference/expanders.md": "expander_reference:markdown",
    "docs/reference/loads-and-stores.md": "access_reference:markdown",
    "docs/reference/loaded-hosts.md": "loaded_host_reference:markdown",
    "docs/reference/published-figures.md": "published_figures_reference:markdown",
    "docs/reference/api.md": "api_reference:markdown",
    "docs/reference/doctor.md": "doctor_reference:markdown",
}
"""Each generated file and its function, in order: references depend on the types before them."""
SIMULATED = {"docs/reference/hardware.md", "docs/reference/expanders.md", "docs/reference/loaded-hosts.md"}
"""Those whose numbers are simulated."""


def main(root: Path) -> int:
    """Write, or with `--check` compare; returns the exit code."""
    options = argparse.ArgumentParser(prog="python -m generate", description=__doc__.partition("\n")[0])
    options.add_argument("--check", action="store_true", help="Change nothing; fail if a file is stale.")
    options.add_argument("--unsimulated", action="store_true", help="Leave out pages with simulated numbers.")
    options.add_argument(
        "--site", action="store_true", help="Write the JSON Schemas of the site, and nothing else."
    )
    asked = options.parse_args()
    if asked.site:
        for name, text in _site().items():
            _differs(root / name, text, write=True)
        return 0
    check = asked.check
    written = {name: maker for name, maker in WRITTEN.items() if not (asked.unsimulated and name in SIMULATED)}
    stale = [name for name, maker in written.items() if _differs(root / name, _made(name, maker), write=not check)]
    stale += [name for name, text in fixtures().items() if _differs(root / name, text, write=not check)]
    for name in stale:
        print(f"{name}: {'is stale: run make generate' if check else 'written'}", file=sys.stderr)
    return 1 if check and stale else 0


def _site() -> dict[str, str]:
    """The JSON Schemas of files, for editors, and of the doctor's report."""
    from generate import doctor_reference, file_schemas

    return {**file_schemas.schemas(), "docs/reference/doctor.schema.json": doctor_reference.schema()}


def _made(name: str, maker: str) -> str:
    """Import the module only now, so that it sees the files written before it."""
    module, _, function = maker.partition(":")
    content: str = getattr(importlib.import_module(f"generate.{module}"), function)()
    return _formatted(content) if name.endswith(".py") else content


def _formatted(source: str) -> str:
    """Format source like `make format`."""
    ruff = [sys.executable, "-m", "ruff", "format", "--quiet", "-"]
    return subprocess.run(ruff, input=source, capture_output=True, text=True, check=True).stdout


def _differs(path: Path, content: str, *, write: bool) -> bool:
    if path.exists() and path.read_text(encoding="utf-8") == content:
        return False
    if write:
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return True


if __name__ == "__main__":
    sys.exit(main(Path.cwd()))
