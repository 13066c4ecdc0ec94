"""No modules of the Python package import each other in a circle, however the imports are written.

Imports at the top of a module, inside functions and for type checkers alone count: each is one more module that a
reader must know. So do a package's re-exports in its stub, and a module's imports from its own package.

That Python loads a package before its modules does not count, nor does `_core`, which is compiled and imports no
module. import-linter (`pyproject.toml`) finds rooms that import each other without a circle of modules.
"""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

PACKAGE = "pcielab"
SOURCES = Path(__file__).parents[1] / "python" / PACKAGE


def imports() -> dict[str, set[str]]:
    """The modules that each module imports."""
    graph = grimp.build_graph(PACKAGE, exclude_type_checking_imports=False, cache_dir=None)
    found = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    for module in graph.find_modules_that_directly_import(PACKAGE):
        lines = graph.get_import_details(importer=module, imported=PACKAGE)
        names = [name for line in lines for name in line["line_contents"].partition(" import ")[2].split(", ")]
        if all(name == "_core" or f"{PACKAGE}.{name}" in graph.modules for name in names):
            found[module].discard(PACKAGE)
    for stub in SOURCES.rglob("__init__.pyi"):
        package = ".".join((PACKAGE, *stub.parent.relative_to(SOURCES).parts))
        modules = {node.module for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ImportFrom)}
        found[package] |= (modules & graph.modules) - {package}
    return found


def circles(uses: dict[str, set[str]]) -> list[str]:
    """All circles, found by breaking each until none is left."""
    found = []
    while True:
        try:
            TopologicalSorter(uses).prepare()
        except CycleError as error:
            circle = error.args[1]
            found.append(" <- ".join(circle))
            uses[circle[1]].discard(circle[0])
        else:
            return found


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circles(imports()) == []


@pytest.mark.parametrize(
    ("kind", "importer", "imported"),
    [
        ("of a stub", "pcielab.store", "pcielab.store.table"),
        ("inside a function", "pcielab.library.catalog", "pcielab.library.nics"),
        ("of the whole package", "pcielab.paper.measures", "pcielab"),
    ],
)
def test_every_kind_of_import_is_counted(kind: str, importer: str, imported: str) -> None:
    assert imported in imports()[importer], kind


def test_every_circle_is_found() -> None:
    uses = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert sorted(sorted(set(circle.split(" <- "))) for circle in circles(uses)) == [["a", "b", "c"], ["d", "e"]]
