"""The house as CONTRIBUTING draws it: a crate depends only on crates above it, and every crate is on the map."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def drawn() -> list[str]:
    """The crates in the order of the map."""
    return re.findall(r"^\| `crates/([a-z-]+)` \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)


def dependencies(crate: str) -> set[str]:
    """The crates of this house that one needs, to be built or tested."""
    manifest = tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text())
    tables = [manifest, *manifest.get("target", {}).values()]
    kinds = ("dependencies", "dev-dependencies", "build-dependencies")
    return {name for table in tables for kind in kinds for name in table.get(kind, {}) if name.startswith("pcie-")}


def test_every_crate_is_on_the_map() -> None:
    assert sorted(drawn()) == sorted(path.parent.name for path in ROOT.glob("crates/*/Cargo.toml"))


def test_a_crate_depends_only_on_crates_above_it() -> None:
    order = drawn()
    wrong = [
        f"{crate} needs {needed}, which is below it"
        for place, crate in enumerate(order)
        for needed in sorted(dependencies(crate))
        if needed not in order[:place]
    ]
    assert wrong == []
