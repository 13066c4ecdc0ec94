"""Print the parts list (SBOM) of the wheel as CycloneDX 1.6: crates in its extension, and packages that it needs.

Versions of crates are those of Cargo.lock; packages are not in the wheel, so that they have ranges instead.
"""

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

EXTENSION = "pcie-python"
PLATFORM = "x86_64-unknown-linux-gnu"
ROOT = Path(__file__).parents[1]


def parts_list() -> dict[str, Any]:
    """The parts list; identical bytes for the same Cargo.lock and pyproject.toml."""
    metadata = json.loads(_cargo("metadata", "--format-version", "1", "--filter-platform", PLATFORM))
    packages = {(package["name"], package["version"]): package for package in metadata["packages"]}
    crates = [packages[crate] for crate in sorted(_built_from())]
    own = next(crate for crate in crates if crate["name"] == EXTENSION)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "pcielab", "version": own["version"]}},
        "components": [
            *(_crate(crate) for crate in crates),
            *(_package(requirement) for requirement in project["dependencies"]),
        ],
    }


def _built_from() -> set[tuple[str, str]]:
    """Name and version of each crate that the extension is built from, itself included.

    `cargo metadata` has the features of the whole workspace, among them those that only tests switch on.
    `cargo tree` has the features of the one crate, and leaves out crates that only build or test it.
    """
    selection = ("--package", EXTENSION, "--edges", "normal", "--target", PLATFORM)
    lines = _cargo("tree", *selection, "--prefix", "none", "--format", "{p}").splitlines()
    return {(name, version.removeprefix("v")) for name, version, *_ in map(str.split, filter(None, lines))}


def _cargo(*words: str) -> str:
    """The output of a cargo command on Cargo.lock as it is."""
    return subprocess.run(
        ["cargo", *words, "--locked"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def _crate(crate: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "library",
        "name": crate["name"],
        "version": crate["version"],
        "purl": f"pkg:cargo/{crate['name']}@{crate['version']}",
        **({"licenses": [{"expression": crate["license"].replace("/", " OR ")}]} if crate["license"] else {}),
    }


def _package(requirement: str) -> dict[str, Any]:
    name = requirement.partition(">")[0]
    return {
        "type": "library",
        "name": name,
        "purl": f"pkg:pypi/{name}",
        "scope": "required",
        "description": requirement,
    }


if __name__ == "__main__":
    print(json.dumps(parts_list(), indent=1))
