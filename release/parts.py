"""Print the parts list (SBOM) of the wheel as CycloneDX 1.6: crates in its extension, and packages that it needs.

Versions of crates are those of Cargo.lock; packages are not in the wheel, so that they have ranges instead.
"""

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

EXTENSION = "pcie-python"
ROOT = Path(__file__).parents[1]


def parts_list() -> dict[str, Any]:
    """The parts list; identical bytes for the same Cargo.lock and pyproject.toml."""
    command = [
        "cargo",
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        "x86_64-unknown-linux-gnu",
    ]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    own = next(package for package in packages.values() if package["name"] == EXTENSION)
    crates = [packages[one] for one in _needed(own["id"], metadata["resolve"]["nodes"])]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "pcielab", "version": own["version"]}},
        "components": [
            *(_crate(crate) for crate in sorted(crates, key=lambda one: (one["name"], one["version"]))),
            *(_package(requirement) for requirement in project["dependencies"]),
        ],
    }


def _needed(root: str, nodes: list[dict[str, Any]]) -> set[str]:
    """The crates that a crate is built from, itself included; not those that only build or test it."""
    below = {
        node["id"]: [one["pkg"] for one in node["deps"] if any(kind["kind"] is None for kind in one["dep_kinds"])]
        for node in nodes
    }
    found, left = {root}, [root]
    while left:
        new = set(below[left.pop()]) - found
        found |= new
        left += new
    return found


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
