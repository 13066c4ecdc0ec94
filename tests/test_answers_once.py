"""Constants of links stand in the crates alone: Python asks `pcielab._core` for rates and line codes."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from pcielab._core import SPEEDS_GTPS

PACKAGE = Path(__file__).parents[1] / "python/pcielab"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if not path.name.startswith("test_"))
LINE_CODE = (128, 130)
"""Bits of data and bits on the line of generations 3 to 5."""
FEW = 4
"""A table of generations has at least as many of their rates."""


def _faults(text: str) -> Iterator[str]:
    if "2.5" not in text and "130" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            sides = [side.value for side in (node.left, node.right) if isinstance(side, ast.Constant)]
            if tuple(sides) == LINE_CODE or (LINE_CODE[1] in sides and LINE_CODE[0] in _numbers(node.left)):
                yield f"line {node.lineno}: a line code"
        elif isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
            parts = [*node.keys, *node.values] if isinstance(node, ast.Dict) else node.elts
            known = {float(str(part.value)) for part in parts if isinstance(part, ast.Constant) and _is_rate(part)}
            if len(known) >= FEW and min(SPEEDS_GTPS) in known:
                yield f"line {node.lineno}: rates of generations"


def _numbers(node: ast.AST) -> set[object]:
    return {one.value for one in ast.walk(node) if isinstance(one, ast.Constant)}


def _is_rate(part: ast.Constant) -> bool:
    return str(part.value) in {text for speed in SPEEDS_GTPS for text in (f"{speed:g}", f"{speed:.1f}")}


@pytest.mark.parametrize(
    "text",
    [
        "x = (2.5, 5.0, 8.0, 16.0, 32.0)",
        'x = {"2.5": 1, "5": 2, "8": 3, "16": 4}',
        "x = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0}",
        "x = 128 / 130",
        "x = 8 * 8 * 128 / 130",
    ],
)
def test_a_table_or_a_code_is_found(text: str) -> None:
    assert list(_faults(text))


def test_no_module_has_constants_of_links() -> None:
    found = [f"{path.relative_to(PACKAGE)}: {fault}" for path in MODULES for fault in _faults(path.read_text())]
    assert found == []
