"""The notebooks run from top to bottom, and the values of their cells have a rich display."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from .blocks import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
RICH = ("_repr_html_", "_repr_mimebundle_")


def cells(notebook: Path) -> list[str]:
    """The code of a notebook."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "code"]


def run(code: str, origin: str, names: dict[str, Any]) -> object:
    """Run a cell; returns the value of its last line."""
    body = ast.parse(code).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), origin, "exec"), names)
    return eval(compile(ast.Expression(last.value), origin, "eval"), names) if isinstance(last, ast.Expr) else None


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    shown = [run(code, f"{notebook.name}, cell {number}", names) for number, code in enumerate(cells(notebook))]
    assert len(shown) > 4
    for one in shown:
        if one is None or isinstance(one, dict | list):
            continue
        rich = [getattr(one, name)() for name in RICH if hasattr(one, name)]
        assert any(rich) or hasattr(one, "to_frame"), repr(one)


def test_plotting_ddio_ways_by_window_takes_ten_lines_at_most() -> None:
    [first, *_] = cells(ROOT / "docs" / "notebooks" / "ddio-and-my-window.ipynb")
    assert first.rstrip().endswith(".plot()")
    assert len([line for line in first.splitlines() if line.strip()]) <= 10
