"""Code of the documents can be read in a window of 1,400 px: long lines wrap, and drawings are narrow enough."""

import re
from html import escape
from pathlib import Path
from typing import Any

import pytest

from browser import chromium

from .blocks import DOCUMENTS, ROOT

DOCS = ROOT / "docs"
WIDEST = 120
"""Letters of a line for which `code.css` has room."""
ROOM_PX = 868
"""Width of a block of code between both sidebars of the theme in a window of 1,400 px."""
FENCED = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)
DRAWN = set("│┃━─├└")
PAGE = """<!doctype html><html style="font-size: 20px">
<style>code {{ display: block; font-family: monospace; overflow: auto }}</style>
<body class="md-typeset" style="margin: 0; width: {room}px">{blocks}</body></html>"""
RUN_MODULE = "text => import(`data:text/javascript,${encodeURIComponent(text)}`).then(() => null)"
"""Runs a module to its end; a script element of a module runs at some later time."""
LAID_OUT = """() => [...document.querySelectorAll("code")].map((code) => ({
  cut: code.scrollWidth > code.clientWidth + 1,
  wraps: [...code.children].map((line) => line.classList.contains("wraps")),
}))"""


def written() -> list[tuple[str, str]]:
    """Every block of code of the site, with its document."""
    return [
        (document.name, text)
        for document in DOCUMENTS
        if document.is_relative_to(DOCS)
        for text in FENCED.findall(document.read_text(encoding="utf-8"))
    ]


@pytest.fixture(scope="module")
def shown() -> list[dict[str, Any]]:
    """Every block as the browser lays it out: whether it is cut, and which of its lines wrap."""
    page = PAGE.format(room=ROOM_PX, blocks="".join(_html(text) for _, text in written()))
    with chromium() as launched:
        tab = launched.new_page(viewport={"width": 1400, "height": 900})
        tab.set_content(page)
        tab.add_style_tag(path=str(DOCS / "code.css"))
        tab.evaluate(RUN_MODULE, (DOCS / "code.js").read_text(encoding="utf-8"))
        found: list[dict[str, Any]] = tab.evaluate(LAID_OUT)
    return found


def _html(text: str) -> str:
    """A block as the theme renders it, with a span for each line."""
    lines = "".join(f"<span>{escape(line)}\n</span>" for line in text.splitlines())
    return f"<pre><code>{lines}</code></pre>"


def test_no_block_is_cut(shown: list[dict[str, Any]]) -> None:
    assert len(shown) == len(written()) > 100
    cut = [(name, text[:60]) for (name, text), one in zip(written(), shown, strict=True) if one["cut"]]
    assert cut == []


def test_drawings_keep_their_lines_whole_and_sentences_wrap(shown: list[dict[str, Any]]) -> None:
    wrapped = 0
    for (_, text), one in zip(written(), shown, strict=True):
        for line, wraps in zip(text.splitlines(), one["wraps"], strict=True):
            assert not (wraps and set(line) & DRAWN), line
            wrapped += wraps
    assert wrapped > 500


def test_drawings_are_narrow_enough() -> None:
    wide = [
        (name, len(line))
        for name, text in written()
        for line in text.splitlines()
        if len(line) > WIDEST and set(line) & DRAWN
    ]
    assert wide == []


def test_the_site_has_the_style_and_the_script() -> None:
    settings = Path(ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "- code.css\n" in settings
    assert "path: code.js\n" in settings
