"""What depends on the kind of a run is in the kind's folder: no other module asks for it."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pcielab import _core
from pcielab.kinds.rooms import Compare, Events, Explain, Figures, room
from pcielab.store import RunKind
from pcielab.store.kinds import KINDS, Columns

SOURCES = Path(__file__).parents[1] / "python" / "pcielab"
REGISTRY = SOURCES / "store" / "frames.py"
"""The only module that compares kinds, in `is_of`."""
OF_OTHERS = ("design", "devices", "library", "work")
"""Kinds of work and of suites have words of their own, some of them the same."""


def asked(tree: ast.AST) -> Iterator[int]:
    """The lines that compare `.kind` with something of runs, or choose by it from a table or with `match`."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, comparators=others):
                sides = [left, *others]
                if any(map(_is_kind, sides)) and (any(map(_is_of_run, sides)) or any(map(_has_word, sides))):
                    yield node.lineno
            case ast.Subscript(slice=key) if _is_of_run(key):
                yield node.lineno
            case ast.Call(func=ast.Attribute(attr="get"), args=[key, *_]) if _is_of_run(key):
                yield node.lineno
            case ast.Match(subject=subject) if _is_of_run(subject):
                yield node.lineno
            case ast.Dict(keys=keys) if sum(key is not None and _has_word(key) for key in keys) > 1:
                yield node.lineno


def _is_kind(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "kind"


def _is_of_run(node: ast.expr) -> bool:
    """Whether it is the kind of a store, a run or a side of a comparison, by its name."""
    match node:
        case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr="kind"):
            return name in ("store", "run", "measured", "comparison", "a", "b")
    return False


def _has_word(node: ast.expr) -> bool:
    """Whether a kind of runs is written in it."""
    return any(isinstance(one, ast.Constant) and one.value in KINDS for one in ast.walk(node))


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ('store.kind == "flows"', 1),
        ('run.store.kind in ("flows", "frames")', 1),
        ("a.kind != b.kind", 1),
        ("TABLE[comparison.a.kind]", 1),
        ("TABLE.get(store.kind, [])", 1),
        ('{"transfers": one, "frames": other}', 1),
        ('match store.kind:\n    case "flows": pass', 1),
        ('step.kind == "dma-read"', 0),
        ('room_of(store).explain, {"flows": 1}, store.kind', 0),
    ],
)
def test_questions_for_the_kind_are_found(source: str, count: int) -> None:
    assert len(list(asked(ast.parse(source)))) == count


def test_no_module_asks_for_the_kind_of_a_run() -> None:
    modules = [path for path in SOURCES.rglob("*.py") if not path.name.startswith(("test_", "conftest"))]
    found = [
        f"{path.relative_to(SOURCES)}:{line}"
        for path in modules
        if path != REGISTRY and path.relative_to(SOURCES).parts[0] not in OF_OTHERS
        for line in asked(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_every_part(kind: RunKind) -> None:
    found = room(kind)
    parts = (found.columns, found.explain, found.compare, found.figures, found.events)
    assert tuple(map(type, parts)) == (Columns, Explain, Compare, Figures, Events)


def test_both_halves_have_the_same_kinds() -> None:
    assert {kind for kind, _ in json.loads(_core.store_metrics())} == set(KINDS)
    folders = {path.parent.name for path in (SOURCES / "kinds").glob("*/explain.py")}
    assert folders == set(KINDS)
