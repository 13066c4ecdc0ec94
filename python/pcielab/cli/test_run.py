"""The commands that run something name no kind of device or work: kinds are declared elsewhere."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from pcielab.devices import kinds
from pcielab.library.shipped import SuiteKind
from pcielab.work.options import WorkKind

HERE = Path(__file__).parent
FILES = [*sorted(HERE.glob("run*.py")), HERE / "outcome.py", HERE / "fabric.py"]
MOST_LINES = 60


def nodes(kind: type[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """The syntax nodes of a kind, each with its file."""
    return (
        (path.name, node)
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, kind)
    )


def test_no_command_compares_kinds_of_devices_or_work() -> None:
    names = {*kinds(), *get_args(WorkKind), *get_args(SuiteKind)}
    asking = [*nodes(ast.Compare), *nodes(ast.MatchValue)]
    assert asking
    found = [
        f"{file}: {ast.unparse(node)}"
        for file, node in asking
        if any(isinstance(part, ast.Constant) and part.value in names for part in ast.walk(node))
    ]
    assert found == []


def test_a_function_of_run_fits_a_screen() -> None:
    lengths = {
        f"{file}: {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for file, node in nodes(ast.FunctionDef)
        if isinstance(node, ast.FunctionDef) and file.startswith("run")
    }
    assert "run.py: run" in lengths
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}
