"""Run the notebooks of the documentation, and write the outputs of their cells into them.

    python -m generate.notebooks          runs all
    python -m generate.notebooks NAME...  runs these, for example size-a-nic

Run it in the root of the repository. It needs no Jupyter: a cell's output is the MIME types of its last value, as
IPython would ask for them, without what differs from run to run. Pages and viewers of notebooks show the outputs
without running anything.
"""

import ast
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"
_IN_A_FOLDER = re.compile(re.escape(tempfile.gettempdir()) + r"/[\w.-]+/")
"""Temporary folders, whose names differ from run to run."""
_METHODS = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}


def code_of(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells with code."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(code: str, origin: str, names: dict[str, Any]) -> object:
    """Run a cell; returns the value of its last line."""
    body = ast.parse(code).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), origin, "exec"), names)
    return eval(compile(ast.Expression(last.value), origin, "eval"), names) if isinstance(last, ast.Expr) else None


def shown(value: object) -> dict[str, str]:
    """The MIME types of a value: its bundle, its representations, and its text."""
    found = {"text/plain": repr(value)}
    for kind, method in _METHODS.items():
        if hasattr(value, method) and (text := getattr(value, method)()):
            found[kind] = text
    if hasattr(value, "_repr_mimebundle_"):
        found |= value._repr_mimebundle_() or {}
    # HTML that has the picture is shown instead of it.
    if "<img" in found.get("text/html", ""):
        found.pop("image/svg+xml", None)
    return found


def with_outputs(path: Path) -> str:
    """The text of a notebook with the outputs of its cells, run from top to bottom in an empty folder."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    for number, cell in enumerate(code_of(notebook), start=1):
        value = run("".join(cell["source"]), f"{path.name}, cell {number}", names)
        cell["execution_count"] = number
        cell["outputs"] = [] if value is None else [_output(number, shown(value))]
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _output(number: int, found: dict[str, str]) -> dict[str, Any]:
    data = {kind: _IN_A_FOLDER.sub("", text).splitlines(keepends=True) for kind, text in sorted(found.items())}
    return {"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}


def main(names: list[str]) -> None:
    """Run the named notebooks, or all, and write them."""
    paths = [NOTEBOOKS / f"{name}.ipynb" for name in names] or sorted(NOTEBOOKS.glob("*.ipynb"))
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            text = with_outputs(path)
            os.chdir(NOTEBOOKS)
        path.write_text(text, encoding="utf-8")
        print(f"{path}: written", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
