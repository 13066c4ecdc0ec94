"""The oldest versions that pyproject.toml allows: `python setup/floor.py > floor.lock` resolves them.

The dependencies of pcielab and of its extras have the lowest versions allowed; everything else, tools for tests
included, keeps the version of requirements.lock unless those old versions rule it out.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS_APART = {"cuda12"}
"""It excludes cuda13, whose versions are the newer ones."""
HEAD = "# The lowest versions that pyproject.toml allows, for the oldest Python: make lock\n"


def project() -> dict[str, object]:
    """The table `project` of pyproject.toml."""
    table: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def extras() -> list[str]:
    """The extras that can be installed together."""
    optional = project()["optional-dependencies"]
    assert isinstance(optional, dict)
    return sorted(optional.keys() - EXTRAS_APART)


def bounds() -> dict[str, str]:
    """The lower bound of each dependency of pcielab and its extras, by normalized name.

    Raises:
        ValueError: A dependency has no lower bound.
    """
    table = project()
    core, optional = table["dependencies"], table["optional-dependencies"]
    assert isinstance(core, list)
    assert isinstance(optional, dict)
    found: dict[str, str] = {}
    for requirement in [*core, *(one for extra in extras() for one in optional[extra])]:
        match = re.match(r"([\w.-]+)>=([\d.]+)", requirement)
        if match is None:
            raise ValueError(f"pyproject.toml: {requirement}: needs a lower bound, NAME>=VERSION")
        found[normalized(match[1])] = match[2]
    return found


def normalized(name: str) -> str:
    """A package's name as resolvers write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def resolve() -> str:
    """Resolve the floor with uv, which asks the package index."""
    direct = bounds()
    with tempfile.TemporaryDirectory() as folder:
        lowest = Path(folder) / "lowest.txt"
        pins = _compiled("--resolution", "lowest-direct").splitlines()
        lowest.write_text("\n".join(pin for pin in pins if pin.partition("==")[0] in direct))
        # uv prefers the versions that its output file has.
        preferred = Path(folder) / "floor.lock"
        preferred.write_text((ROOT / "requirements.lock").read_text(encoding="utf-8"), encoding="utf-8")
        _compiled("--constraint", lowest, "--group", "dev", "--output-file", preferred)
        return HEAD + preferred.read_text(encoding="utf-8")


def _compiled(*options: str | Path) -> str:
    oldest = str(project()["requires-python"]).removeprefix(">=")
    words = ["uv", "pip", "compile", "pyproject.toml", "--python-version", oldest, "--python-platform", "linux"]
    words += [word for extra in extras() for word in ("--extra", extra)]
    words += ["--quiet", "--no-annotate", "--no-header", *map(str, options)]
    return subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    sys.stdout.write(resolve())
