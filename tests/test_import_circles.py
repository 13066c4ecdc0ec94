"""No module of the Python package imports another in a circle, however the import is written.

Counted are imports at the top of a module, inside functions, and for type checkers alone: each of them is one more
module to know before the first can be understood. What a package hands on counts as its import, and so does what a
module imports of its own package: with both, a reader goes round.

Not counted is that Python loads a package before its modules: nobody reads it for that. Nor is `_core`, which
modules import from `pcielab` and which is compiled: nothing in it imports any of them. Rooms that import each
other without a circle of modules are found by the contracts of import-linter (`pyproject.toml`).
"""

from graphlib import CycleError, TopologicalSorter

import grimp
import pytest

PACKAGE = "pcielab"


def imports() -> dict[str, set[str]]:
    """The modules that each module imports."""
    graph = grimp.build_graph(PACKAGE, exclude_type_checking_imports=False, cache_dir=None)
    found = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    for module in graph.find_modules_that_directly_import(PACKAGE):
        lines = graph.get_import_details(importer=module, imported=PACKAGE)
        names = [name for line in lines for name in line["line_contents"].partition(" import ")[2].split(", ")]
        if all(name == "_core" or f"{PACKAGE}.{name}" in graph.modules for name in names):
            found[module].discard(PACKAGE)
    return found


def circles(uses: dict[str, set[str]]) -> list[str]:
    """Circles, each broken where it was found, until none is left."""
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
        ("for type checkers alone", "pcielab.store", "pcielab.store.table"),
        ("inside a function", "pcielab.library.catalog", "pcielab.library.nics"),
        ("of the whole package", "pcielab.paper.measures", "pcielab"),
    ],
)
def test_every_kind_of_import_is_counted(kind: str, importer: str, imported: str) -> None:
    assert imported in imports()[importer], kind


def test_every_circle_is_found() -> None:
    uses = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert sorted(sorted(set(circle.split(" <- "))) for circle in circles(uses)) == [["a", "b", "c"], ["d", "e"]]
