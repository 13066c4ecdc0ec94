"""All HTML pages of pcielab are written here, each as one file with its styles, scripts and data.

Content of stores, fabrics and other files is treated as text: templates escape it, and inside scripts it is JSON
that cannot end its element. As a second barrier, a content security policy in the page allows only the page's own
script, by its digest, what that script adds, and no fetches. Pictures are Vega-Lite specifications, drawn in the
browser for tooltips and clickable legends; their expressions are interpreted, not run as scripts. Specifications
and the drawing library are packed, which makes a page a quarter as long; its script unpacks them.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from pcielab import _core
from pcielab.charts.frame import Figure
from pcielab.charts.style import configuration
from pcielab.report.drawing import drawing_engine, vega_lite
from pcielab.strict_json import strict_json

_FILES = resources.files("pcielab.report") / "template"


@dataclass(frozen=True)
class Pictured:
    """A figure on a page, with a heading above it and a caption below, if not empty."""

    figure: Figure
    title: str = ""
    caption: str = ""


def html_page(template: str, figures: Mapping[str, Figure], **values: object) -> str:
    """A page from a template, with figures by their `data-figure` names, and values whose text is escaped."""
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FunctionLoader(_read),
    )
    script = _script(_read("report.js"))
    return environment.get_template(template).render(
        version=_core.__version__,
        style=Markup(_read("report.css")),
        script=script,
        script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        library=packed_vega() if figures else "",
        specifications=_packed(_json({name: _specification(figure) for name, figure in figures.items()})),
        configurations=_data({theme: configuration(theme) for theme in ("light", "dark")}),
        **values,
    )


def figures_page(title: str, notes: Sequence[str], pictured: Sequence[Pictured]) -> str:
    """A page of figures in order, below a heading and lines of notes."""
    named = {f"figure-{number}": one for number, one in enumerate(pictured, start=1)}
    figures = {name: one.figure for name, one in named.items()}
    return html_page("figures.html.j2", figures, title=title, notes=notes, pictured=named)


def _specification(figure: Figure) -> dict[str, Any]:
    """The figure without a configuration: the page adds its theme's."""
    spec = vega_lite(figure)
    del spec["config"]
    return spec


@cache
def vega_script() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that sets `window.vegaEmbed`; bundling takes a second."""
    bundle: str = drawing_engine().javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle


@cache
def packed_vega() -> str:
    """`vega_script`, packed."""
    return _packed(vega_script())


def _packed(text: str) -> str:
    """A text in the zlib format, in letters that can stand in any element."""
    return base64.b64encode(_core.compressed(text.encode())).decode()


def _script(source: str) -> Markup:
    """JavaScript inside a script element, with its only exits `</script` and `<!--` escaped."""
    return Markup(source.replace("</script", "<\\/script").replace("<!--", "<\\!--"))


def _data(value: object) -> Markup:
    """JSON inside a script element, with `<` escaped so that no text can end the element."""
    return Markup(_json(value).replace("<", "\\u003c"))


def _json(value: object) -> str:
    return strict_json(value, separators=(",", ":"), ensure_ascii=False)


def _read(name: str) -> str:
    return (_FILES / name).read_text(encoding="utf-8")
