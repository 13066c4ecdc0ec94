"""Objects as a notebook shows them: a picture, a table and a line of text, all without a network.

The picture is SVG, drawn by the renderer of reports. Rooms that have such objects are below the one that draws, so
that `pcielab.report.notebook` is found by its name, at the first display. Without the extra `report` there is no
picture; the table and the text remain.
"""

import base64
import importlib
import importlib.util
from collections.abc import Container
from typing import Protocol

_DRAWN_BY = "pcielab.report.notebook"
_NEEDED = ("altair", "jinja2", "vl_convert")
SVG, HTML, TEXT = "image/svg+xml", "text/html", "text/plain"


class _Drawing(Protocol):
    def svg_of(self, shown: object) -> str | None: ...


class Pictured:
    """An object that a notebook shows with a picture.

    A class may override `_figure`, and may have `_repr_html_` for its table.
    """

    def _figure(self) -> object | None:
        """Its picture, a chart of Altair, if `pcielab.report.notebook` has none for its type; None for none."""
        return None

    def _repr_mimebundle_(
        self, include: Container[str] | None = None, exclude: Container[str] | None = None
    ) -> dict[str, str]:
        """Its MIME types, as IPython asks for them: SVG, HTML with the picture and the table, and text."""
        picture = _svg(self)
        table = getattr(self, "_repr_html_", str)()
        found = {TEXT: repr(self)}
        if table:
            found[HTML] = (_image(picture) if picture else "") + table
        if picture:
            found[SVG] = picture
        return {
            kind: content
            for kind, content in found.items()
            if (not include or kind in include) and not (exclude and kind in exclude)
        }


def _svg(shown: object) -> str | None:
    if any(importlib.util.find_spec(package) is None for package in _NEEDED):
        return None
    drawing: _Drawing = importlib.import_module(_DRAWN_BY)
    return drawing.svg_of(shown)


def _image(svg: str) -> str:
    """The picture inside HTML, which front ends prefer to SVG; as an image, so that its ids are its own."""
    content = base64.b64encode(svg.encode()).decode()
    return f'<img alt="" style="max-width: 100%" src="data:{SVG};base64,{content}">'
