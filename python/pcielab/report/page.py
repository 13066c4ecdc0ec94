"""The report as one HTML page that needs nothing else: styles, scripts and data are in it.

The pictures are Vega-Lite specifications, drawn in the browser so that points tell their values and legends can be
clicked. A content security policy in the page's head makes "no network" a rule that the browser keeps.
"""

import json
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

import jinja2
import vl_convert
from markupsafe import Markup

from pcielab import __version__
from pcielab.report.catalogue import Drawn, LeftOut
from pcielab.report.doctor import machines
from pcielab.report.figures import Figure
from pcielab.report.provenance import provenance
from pcielab.report.run import Run
from pcielab.report.style import configuration
from pcielab.report.summary import summary
from pcielab.report.table import family_tables

_FILES = resources.files("pcielab.report") / "template"


def render(runs: Sequence[Run], drawn: Sequence[Drawn], left_out: Sequence[LeftOut]) -> str:
    """The page.

    Args:
        runs: what the report is about, the measured overlay among them.
        drawn: the figures, in order.
        left_out: the figures for which data lack.
    """
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    template = environment.get_template("report.html.j2")
    return template.render(
        title=", ".join(dict.fromkeys(run.label for run in runs)),
        badges=list(dict.fromkeys(run.badge for run in runs)),
        version=__version__,
        provenances=[provenance(run) for run in runs],
        entries=[run.entry for run in runs],
        summary=summary(runs),
        machines=machines(runs),
        sections=_by_section(drawn),
        left_out=left_out,
        tables=[(run.entry, list(family_tables(run))) for run in runs],
        rows=sum(len(run.rows) for run in runs),
        style=Markup(_read("report.css")),
        script=_script(_read("report.js")),
        bundle=_script(_vega()),
        specifications=_data({one.entry.name: _specification(one.figure) for one in drawn}),
        configurations=_data({theme: configuration(theme) for theme in ("light", "dark")}),
    )


def _by_section(drawn: Sequence[Drawn]) -> dict[str, list[Drawn]]:
    sections: dict[str, list[Drawn]] = {}
    for one in drawn:
        sections.setdefault(one.entry.section, []).append(one)
    return sections


def _specification(figure: Figure) -> dict[str, Any]:
    """The figure without a configuration: the page adds the one of its theme."""
    spec: dict[str, Any] = json.loads(figure.to_json(validate=False))
    del spec["config"]
    return spec


@cache
def _vega() -> str:
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
