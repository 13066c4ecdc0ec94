"""The files of pages: HTML from templates, scripts and styles."""

from collections.abc import Mapping
from functools import cache
from importlib import resources

import jinja2

from pcielab.explore.question import ASKED, START

_FILES = resources.files("pcielab.explore") / "pages"
_KINDS = ("js", "css")


def html(name: str, pages: Mapping[str, str], *, without_server: bool = False) -> str:
    """A page.

    Args:
        name: Its template: `explore`.
        pages: Names of the pages that it links to, by their addresses.
        without_server: Whether the browser computes everything itself; its addresses are relative.
    """
    return (
        _templates()
        .get_template(f"{name}.html.j2")
        .render(name=name, pages=pages, asked=ASKED, start=START.model_dump_json(), without_server=without_server)
    )


def page_file(name: str) -> bytes:
    """A script or style of the pages, by its name in `page_files`."""
    return (_FILES / name).read_bytes()


@cache
def page_files() -> frozenset[str]:
    """The names of scripts and styles."""
    return frozenset(file.name for file in _FILES.iterdir() if file.name.rpartition(".")[2] in _KINDS)


@cache
def _templates() -> jinja2.Environment:
    loader = jinja2.FunctionLoader(lambda name: (_FILES / name).read_text(encoding="utf-8"))
    return jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined)
