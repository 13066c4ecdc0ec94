"""The files of pages (HTML from templates, scripts, styles), and the setting that a page needs first."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib import resources
from typing import Any

import jinja2

from pcielab import __version__
from pcielab.charts.style import BOUND_COLOURS, configuration
from pcielab.explore import cores, expanders, messages, nics, normal
from pcielab.explore.answers import curve_values
from pcielab.explore.question import ASKED, FIRST, START, Systems
from pcielab.library.profiles import ResolvedSystem
from pcielab.library.profiles.borrowed import borrowed_keys, unmeasured_keys
from pcielab.library.profiles.keys import keys_of


def setting_of(systems: Systems) -> dict[str, Any]:
    """The setting of a page about these systems."""
    return {
        "version": __version__,
        "systems": systems.names,
        "experimental": systems.experimental,
        "opening": systems.opening.model_dump(),
        "first": FIRST,
        "themes": {theme: configuration(theme) for theme in ("light", "dark")},
        "bounds": BOUND_COLOURS,
        **curve_values(),
        "normal": normal.words(),
        "expanders": expanders.setting(),
        "cores": cores.setting(),
        "nics": nics.setting(),
        "messages": messages.setting(),
    }


def described(system: ResolvedSystem) -> dict[str, Any]:
    """Title and keys of a system, for the controls of a page."""
    keys = keys_of(system.system, system.source_of)
    return {
        "title": system.title,
        "keys": [asdict(key) | {"group": key.group} for key in keys],
        "unmeasured": unmeasured_keys(system),
        "borrowed": borrowed_keys(system),
    }


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
