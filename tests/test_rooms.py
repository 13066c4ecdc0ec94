"""The house as CONTRIBUTING draws it: every crate and every room is on its map, and needs only those above it;
in no crate do files or rooms use each other in a circle."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from rust_modules import Crate

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


def laid(folder: Path, files: dict[str, str]) -> Crate:
    """A crate of these files."""
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return Crate(folder)


def test_a_file_and_one_below_it_that_use_each_other_are_found(tmp_path: Path) -> None:
    crate = laid(
        tmp_path,
        {
            "lib.rs": "mod queue;",
            "queue.rs": "mod slot;\npub struct Queue;\nimpl Queue { fn go(&self) { self.advance() } }",
            "queue/slot.rs": "use super::Queue;\nimpl Queue { pub(super) fn advance(&self) {} }",
        },
    )
    (circle,) = crate.circles()
    assert "queue.rs (advance(), line 3)" in circle
    assert "slot.rs (Queue, line 2)" in circle


def test_rooms_whose_files_use_each_other_are_found(tmp_path: Path) -> None:
    crate = laid(
        tmp_path,
        {
            "lib.rs": "mod cache; mod link;",
            "cache.rs": "pub mod lines; pub mod sets;",
            "cache/lines.rs": "pub struct Line;",
            "cache/sets.rs": "use crate::link::port::{self, Port};\nfn f(_: Port) {}",
            "link.rs": "pub mod port; pub mod turn;",
            "link/port.rs": "pub struct Port;",
            "link/turn.rs": "fn f() { crate::cache::lines::Line; }",
        },
    )
    (circle,) = crate.circles()
    assert "sets.rs (Port, line 2)" in circle
    assert "turn.rs (crate::cache::lines::Line, line 1)" in circle


def test_what_is_handed_on_and_what_tests_use_is_no_circle(tmp_path: Path) -> None:
    crate = laid(
        tmp_path,
        {
            "lib.rs": "pub use queue::Slot; mod queue;",
            "queue.rs": "pub use slot::Slot;\nmod slot;\npub struct Queue;\n"
            '#[cfg(test)]\nmod tests { fn f() { slot::f("}") } }',
            "queue/slot.rs": "/// See [`super::Queue`].\nuse super::Queue;\npub struct Slot(Queue);\n"
            "pub fn f(_: &'static str) {}",
        },
    )
    assert crate.uses == {("queue", "slot"): {("queue",): "Queue, line 3"}}
    assert crate.circles() == []


@pytest.mark.parametrize("crate", drawn())
def test_no_files_or_rooms_of_a_crate_use_each_other_in_a_circle(crate: str) -> None:
    assert Crate(ROOT / "crates" / crate / "src").circles() == []


def layers() -> list[set[str]]:
    """The rooms of the Python package as import-linter holds them, those that others stand on first."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    whole = next(one for one in tools["importlinter"]["contracts"] if one.get("containers") == ["pcielab"])
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


def package_files() -> Iterator[tuple[str, ast.Module]]:
    """The files of the Python package but its tests, by their path in it."""
    package = ROOT / "python" / "pcielab"
    for path in package.rglob("*.py"):
        if not path.stem.startswith("test_") and not path.stem.endswith("_test") and path.stem != "conftest":
            yield str(path.relative_to(package)), ast.parse(path.read_text())


def test_one_module_reads_toml() -> None:
    """What is read elsewhere has no limit to what it may ask of its parser, and other messages."""
    found = {
        path
        for path, tree in package_files()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        and "tomllib" in (getattr(node, "module", None), *(one.name for one in node.names))
    }
    assert found == {"library/input_files.py"}


def writes(call: ast.Call) -> bool:
    """Whether a call writes a file by itself: `write_text`, `write_bytes`, or `open` in a mode that changes it."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name == "open":
        given = [*call.args, *(word.value for word in call.keywords if word.arg == "mode")]
        modes = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        return any(re.fullmatch("[rwaxbt+]+", mode) and set(mode) & set("wax+") for mode in modes)
    return name in ("write_text", "write_bytes") and len(call.args) == 1


def test_one_module_writes_files() -> None:
    """What is written elsewhere could be left half written, or take the place of something else."""
    found = {
        path
        for path, tree in package_files()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and writes(node)
    }
    # Stdout, an invented machine for tests, and what is only ever added to, line by line.
    assert found == {"cli/exits.py", "doctor/made_machine.py", "sweeps/journal.py"}


def prints(node: ast.AST) -> bool:
    """Whether a piece of code puts something on stdout or stderr by itself."""
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", "") == "print" or ast.unparse(node.func) in ("typer.echo", "typer.secho")
    return isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.stdout.write", "sys.stderr.write")


def test_one_module_prints() -> None:
    """What is printed elsewhere does not pass the function that keeps control characters from a terminal."""
    found = {
        path
        for path, tree in package_files()
        for node in ast.walk(tree)
        if prints(node) or (isinstance(node, ast.ImportFrom) and node.module == "rich.console")
    }
    # The bar of progress shows one text, which passes that function; a worker of a sweep answers over a pipe.
    assert found == {"cli/output.py", "cli/progress.py", "sweeps/worker.py"}
