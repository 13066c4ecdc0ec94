r"""Figures as Vega-Lite JSON, safe for any text in their rows: the input of pictures and pages.

Pictures are drawn by way of SVG, which is XML: a character outside XML ends the process inside the drawing
library. Vega-Lite puts titles into expressions, which a line end breaks, and in which a written `\u001b` becomes
that character. All of these are replaced here.
"""

import json
import re
import resource
from types import ModuleType
from typing import TYPE_CHECKING, Any

import vl_convert

from pcielab.errors import RunError

if TYPE_CHECKING:
    from pcielab.charts.frame import Figure

_LINE_END = re.compile("[\n\r\u2028\u2029]")
_NOT_IN_XML = re.compile("[^\t\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Everything but `Char` of XML 1.0, <https://www.w3.org/TR/xml/#charsets>."""
_ESCAPE = re.compile(r"\\(?=[0-9bfuvx])")
"""A backslash that an expression reads as the start of a control character."""


def vega_lite(figure: "Figure") -> dict[str, Any]:
    """The figure as a Vega-Lite specification with its data; characters outside XML become `?`."""
    import altair as alt

    with alt.data_transformers.enable("default", max_rows=None):
        text = figure.to_json(validate=False, indent=None)
    specification: dict[str, Any] = writable(json.loads(text))
    return specification


def writable(value: Any) -> Any:
    """A value of a specification with the texts that pictures can have."""
    if isinstance(value, str):
        return value if value.isprintable() else _NOT_IN_XML.sub("?", _LINE_END.sub(" ", value))
    if isinstance(value, list):
        return [writable(one) for one in value]
    if isinstance(value, dict):
        return {writable(key): _title(one) if key == "title" else writable(one) for key, one in value.items()}
    return value


def _title(value: Any) -> Any:
    return _ESCAPE.sub("?", writable(value)) if isinstance(value, str) else writable(value)


NEEDED_BYTES = 66 << 30
"""Address space that V8 reserves at its start: two cages of 32 GiB, and the rest."""


def drawing_engine() -> ModuleType:
    """The engine, if the process may reserve what it needs.

    Raises:
        RunError: The limit of the address space is too low.
    """
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < NEEDED_BYTES:
        raise RunError(
            f"memory is short: drawing reserves {NEEDED_BYTES >> 30} GiB of address space, most of it unused, and "
            f"the limit is {limit / (1 << 30):.1f} GiB: raise it (ulimit -v unlimited), or leave the figure out"
        )
    return vl_convert
