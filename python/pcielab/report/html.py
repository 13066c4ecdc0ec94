"""The one way in which pcielab writes an HTML page: one file that needs nothing else and lets nothing in.

Styles, scripts and data are in it. Everything that comes from a store, a fabric or any other file is text to it:
the templates escape it, and inside scripts it is JSON that cannot end its element. Should that ever fail, a
content security policy in the page's head makes the browser run no script but the page's own, which it knows by
its digest, and fetch nothing. Pictures are Vega-Lite specifications, drawn in the browser so that points tell
their values and legends can be clicked; their expressions are interpreted, not run as scripts.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import jinja2
import vl_convert
from markupsafe import Markup

from pcielab import _core
from pcielab.report.figures.frame import Figure
from pcielab.report.specification import vega_lite
from pcielab.report.style import configuration

_FILES = resources.files("pcielab.report") / "template"


@dataclass(frozen=True)
class Pictured:
    """A figure on a page.

    Attributes:
        figure: An Altair chart.
        title: What stands over it; empty where the figure says it itself.
        caption: What stands below it.
    """

    figure: Figure
    title: str = ""
    caption: str = ""


def html_page(template: str, figures: Mapping[str, Figure], **values: object) -> str:
    """A page from a template that extends `page.html.j2`.

    Args:
        template: Its file name.
        figures: By the names under which the template places them, in `data-figure`.
        values: What else the template shows; text is escaped.
    """
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FunctionLoader(_read),
    )
    script = _script(f"{vega_script()}\n{_read('report.js')}")
    return environment.get_template(template).render(
        version=_core.__version__,
        style=Markup(_read("report.css")),
        script=script,
        script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        specifications=_data({name: _specification(figure) for name, figure in figures.items()}),
        configurations=_data({theme: configuration(theme) for theme in ("light", "dark")}),
        **values,
    )


def figures_page(title: str, notes: Sequence[str], pictured: Sequence[Pictured]) -> str:
    """A page of figures below each other.

    Args:
        title: Its heading.
        notes: Lines below that.
        pictured: The figures, in order.
    """
    named = {f"figure-{number}": one for number, one in enumerate(pictured, start=1)}
    figures = {name: one.figure for name, one in named.items()}
    return html_page("figures.html.j2", figures, title=title, notes=notes, pictured=named)


def _specification(figure: Figure) -> dict[str, Any]:
    """The figure without a configuration: the page adds the one of its theme."""
    spec = vega_lite(figure)
    del spec["config"]
    return spec


@cache
def vega_script() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that sets `window.vegaEmbed`; bundling takes a second."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle


def _script(source: str) -> Markup:
    """JavaScript inside a script element, which only `</script` and `<!--` could leave."""
    return Markup(source.replace("</script", "<\\/script").replace("<!--", "<\\!--"))


def _data(value: object) -> Markup:
    """JSON inside a script element; `<` is written so that no text in it can end the element."""
    return Markup(json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c"))


def _read(name: str) -> str:
    return (_FILES / name).read_text(encoding="utf-8")
