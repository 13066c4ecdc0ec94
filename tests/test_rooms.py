"""The house as CONTRIBUTING draws it: every crate and every room is on its map, and needs only those above it."""

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


def layers() -> list[set[str]]:
    """The rooms of the Python package as import-linter holds them, those that others stand on first."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    whole = next(one for one in tools["importlinter"]["contracts"] if one["containers"] == ["pcielab"])
    return [set(layer.split(" | ")) for layer in reversed(whole["layers"])]


def drawn_rooms() -> list[str]:
    """The rooms of the Python package in the order of the map."""
    rows = re.findall(r"^\| (`[^|]+(?:\.py|/)`) \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    return [re.sub(r"\.py$|/$", "", room) for row in rows for room in re.findall(r"`([a-z_./]+)`", row)]


def test_every_room_of_python_is_on_the_map_in_the_order_of_its_layers() -> None:
    rooms, left = drawn_rooms(), layers()
    assert sorted(rooms) == sorted(set().union(*left))
    for layer in left:
        first, rooms = rooms[: len(layer)], rooms[len(layer) :]
        assert set(first) == layer
