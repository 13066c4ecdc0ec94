"""docs/concepts/architecture.md lists every crate and package, and each depends only on those above it.

And functions that only one module may have: reading TOML, writing files, printing."""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]


MAP = (ROOT / "docs" / "concepts" / "architecture.md").read_text()


def listed_crates() -> list[str]:
    """The crates in the order of the table."""
    return re.findall(r"^\| `(pcie[a-z-]+)` \|", MAP, re.MULTILINE)


def dependencies(crate: str) -> set[str]:
    """The crates of this project that a crate needs, to build or to test."""
    manifest = tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text())
    tables = [manifest, *manifest.get("target", {}).values()]
    kinds = ("dependencies", "dev-dependencies", "build-dependencies")
    return {name for table in tables for kind in kinds for name in table.get(kind, {}) if name.startswith("pcie-")}


def test_every_crate_is_listed() -> None:
    assert sorted(listed_crates()) == sorted(path.parent.name for path in ROOT.glob("crates/*/Cargo.toml"))


def test_a_crate_depends_only_on_crates_above_it() -> None:
    order = listed_crates()
    wrong = [
        f"{crate} needs {needed}, which is below it"
        for position, crate in enumerate(order)
        for needed in sorted(dependencies(crate))
        if needed not in order[:position]
    ]
    assert wrong == []


def layers() -> list[set[str]]:
    """The packages of pcielab as import-linter orders them, lowest first."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    whole = next(one for one in tools["importlinter"]["contracts"] if one.get("containers") == ["pcielab"])
    return [set(layer.split(" | ")) for layer in reversed(whole["layers"])]


def listed_packages() -> list[str]:
    """The packages of pcielab in the order of the table."""
    rows = re.findall(r"^\| (`[^|]+(?:\.py|/)`) \|", MAP, re.MULTILINE)
    return [re.sub(r"\.py$|/$", "", room) for row in rows for room in re.findall(r"`([a-z_./]+)`", row)]


def test_every_package_is_listed_in_the_order_of_its_layer() -> None:
    packages, left = listed_packages(), layers()
    assert sorted(packages) == sorted(set().union(*left))
    for layer in left:
        first, packages = packages[: len(layer)], packages[len(layer) :]
        assert set(first) == layer


@cache
def package_files() -> list[tuple[str, ast.Module]]:
    """The files of the Python package but its tests, by their path in it."""
    package = ROOT / "python" / "pcielab"
    return [
        (str(path.relative_to(package)), ast.parse(path.read_text()))
        for path in package.rglob("*.py")
        if not path.stem.startswith("test_") and not path.stem.endswith("_test") and path.stem != "conftest"
    ]


def imported_by(tree: ast.Module) -> Iterator[str]:
    """The modules that a module imports, and names that may be modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{one.name}" for one in node.names)


REASONS = re.compile(r"^Stands alone: |^Written by `make generate` ", re.MULTILINE)
"""How the head of a small module says why it is a file."""
SMALL = 60
"""Fewer lines are read together with what needs them."""


def test_a_small_module_says_why_it_stands_alone() -> None:
    """Reading one thing in many small files costs more than in one."""
    trees = {f"pcielab.{path.removesuffix('.py').replace('/', '.')}": tree for path, tree in package_files()}
    importers: dict[str, set[str]] = {name: set() for name in trees}
    for importer, tree in trees.items():
        for name in imported_by(tree):
            importers.get(name, set()).add(importer.removesuffix(".__init__"))
    without = []
    for name, tree in trees.items():
        package = name.rpartition(".")[0]
        is_small = len((ROOT / "python" / f"{name.replace('.', '/')}.py").read_text().splitlines()) < SMALL
        is_own = all(package in (one, one.rpartition(".")[0]) for one in importers[name])
        if is_small and is_own and not name.endswith("__") and not REASONS.search(ast.get_docstring(tree) or ""):
            without.append(name)
    assert without == [], "merge them with what needs them, or let their heads say why they stand alone"


def test_heads_of_modules_say_what_pydantic_is_for() -> None:
    """The compiled half checks descriptions; pydantic stays where Python alone has a shape."""
    without = [
        path
        for path, tree in package_files()
        if any(name.startswith("pydantic") for name in imported_by(tree))
        if "pydantic" not in (ast.get_docstring(tree) or "")
    ]
    assert without == []


def test_one_module_reads_toml() -> None:
    """Another reader would have no limit on nesting, and other messages."""
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
    """Another writer could leave half a file, or replace a file that is not ours."""
    found = {
        path
        for path, tree in package_files()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and writes(node)
    }
    # Stdout, and a journal that is only appended to.
    assert found == {"cli/exits.py", "sweeps/journal.py"}


def prints(node: ast.AST) -> bool:
    """Whether a piece of code puts something on stdout or stderr by itself."""
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", "") == "print" or ast.unparse(node.func) in ("typer.echo", "typer.secho")
    return isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.stdout.write", "sys.stderr.write")


def test_one_module_prints() -> None:
    """Another printer would let control characters through to the terminal."""
    found = {
        path
        for path, tree in package_files()
        for node in ast.walk(tree)
        if prints(node) or (isinstance(node, ast.ImportFrom) and node.module == "rich.console")
    }
    # The progress bar shows one text, which passes that function; a sweep's worker answers over a pipe.
    assert found == {"cli/output.py", "cli/progress.py", "sweeps/worker.py"}
