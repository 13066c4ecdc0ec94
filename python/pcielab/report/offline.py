"""Figures in notebooks: SVG without scripts or a network; other charts of Altair keep the reader's renderer.

Stands alone: `pcielab.report` loads it where Altair is there.
"""

from collections.abc import Callable
from typing import Any

import altair as alt

from pcielab.charts.frame import CLAIMS
from pcielab.charts.style import PAGE, configuration
from pcielab.notebook import SVG, TEXT
from pcielab.report.drawing import drawing_engine, writable

_RENDERER, _DEFAULT = "pcielab", "default"


def draw_offline() -> None:
    """Make Altair show figures of pcielab as SVG, unless the reader has chosen a renderer.

    Altair's own shows a page that fetches its scripts from a network.
    """
    usual = alt.renderers.get()
    if usual is not None and alt.renderers.active == _DEFAULT:
        alt.renderers.register(_RENDERER, lambda spec, **options: _bundle(spec, usual, options))
        alt.renderers.enable(_RENDERER)


def _bundle(spec: dict[str, Any], usual: Callable[..., Any], options: dict[str, Any]) -> Any:
    if CLAIMS not in (spec.get("usermeta") or {}):
        return usual(spec, **options)
    drawn = {**writable(spec), "config": {**configuration("light"), "background": PAGE["light"]}, "padding": 12}
    return {SVG: str(drawing_engine().vegalite_to_svg(drawn)), TEXT: "<a figure of pcielab>"}
