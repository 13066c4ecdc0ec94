"""The notebooks run from top to bottom, ship with the outputs of their cells, and show them without a network."""

import json
import re
import socket
from pathlib import Path
from typing import Any, NoReturn

import pytest

from generate.notebooks import code_of, run, shown

from .blocks import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
_FETCHES = re.compile(r"<script|<link|@import|(?:src|href)=[\"']?https?:|require\(", re.IGNORECASE)
"""What makes a page fetch something, or run a script that could."""


def cells(notebook: Path) -> list[str]:
    """The code of a notebook."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in code_of(content)]


def stored(notebook: Path) -> list[dict[str, str]]:
    """The MIME types of the output of each cell with code; empty for a cell without an output."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    return [
        {kind: "".join(text) for output in cell.get("outputs", ()) for kind, text in output["data"].items()}
        for cell in code_of(content)
    ]


def is_picture(kinds: dict[str, str]) -> bool:
    return "image/svg+xml" in kinds or "data:image/svg+xml" in kinds.get("text/html", "")


def no_network(*_arguments: object, **_options: object) -> NoReturn:
    raise AssertionError("a notebook opened a connection")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_ships_with(
    notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket.socket, "connect", no_network)
    names: dict[str, Any] = {}
    values = [run(code, f"{notebook.name}, cell {number}", names) for number, code in enumerate(cells(notebook))]
    assert len(values) > 4
    for value, kept in zip(values, stored(notebook), strict=True):
        found = {} if value is None else shown(value)
        assert set(found) == set(kept)
        assert is_picture(found) == is_picture(kept)
        assert not [kind for kind, text in found.items() if _FETCHES.search(text)]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_ships_with_pictures_and_no_scripts(notebook: Path) -> None:
    outputs = stored(notebook)
    assert any(is_picture(kinds) for kinds in outputs)
    assert not [text[:200] for kinds in outputs for text in kinds.values() if _FETCHES.search(text)]
    assert not [text[:200] for kinds in outputs for text in kinds.values() if "/tmp/" in text]


def test_a_script_from_a_network_is_found() -> None:
    """Altair's own renderer writes one."""
    assert _FETCHES.search('<script src="https://cdn.jsdelivr.net/npm/vega@6"></script>')
    assert not _FETCHES.search('<svg xmlns="http://www.w3.org/2000/svg"></svg>')


def test_plotting_ddio_ways_by_window_takes_ten_lines_at_most() -> None:
    [first, *_] = cells(ROOT / "docs" / "notebooks" / "ddio-and-my-window.ipynb")
    assert first.rstrip().endswith(".plot()")
    assert len([line for line in first.splitlines() if line.strip()]) <= 10
