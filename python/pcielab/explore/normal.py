"""Whether a value is normal, for the page that asks: the answer, and its picture as a specification.

Stands alone: one page asks this.
"""

from collections.abc import Mapping
from typing import Any

from pcielab._core import read_number, read_size, read_whole
from pcielab.analysis.normal import normal
from pcielab.errors import refusal
from pcielab.library.figure_words import ENGINES, STATES, WHATS
from pcielab.report.figures.normal import draw_normal

_TEXTS = ("what", "value", "link", "engine", "size", "depth", "mps", "line", "state", "device")
_MOST_LETTERS = 200


def words() -> dict[str, dict[str, str]]:
    """The choices of the page, with their meanings."""
    return {"what": dict(WHATS), "engine": dict(ENGINES), "state": dict(STATES)}


def answered(asked: Any) -> dict[str, Any]:
    """The answer to the fields of the page, as `pcielab normal --format json` prints it, and its picture.

    Args:
        asked: Texts by the names of the options; empty ones are not given.

    Raises:
        InputError: A field is no text, or its value is refused.
    """
    if not isinstance(asked, Mapping):
        raise refusal("wrong-type", "give an object")
    given = {key: _text(key, asked[key]) for key in _TEXTS if asked.get(key)}
    for key in ("what", "value"):
        if key not in given:
            raise refusal("missing", f"--{key}: missing: fill in {key}")
    answer = normal(
        given["what"],
        given["value"],
        link=given.get("link"),
        engine=given.get("engine"),
        size_bytes=read_size(given["size"], "--size") if "size" in given else None,
        depth=read_whole(given["depth"], "--depth", "count") if "depth" in given else None,
        mps_bytes=read_size(given["mps"], "--mps") if "mps" in given else None,
        line_gbps=read_number(given["line"], "--line", "line", "Gb/s") if "line" in given else None,
        state=given.get("state"),
        device=given.get("device", ""),
    )
    if answer.ratio is None:
        return {"answer": answer.to_dict(), "picture": None}
    picture = draw_normal(answer).to_dict()
    picture.pop("title", None)
    return {"answer": answer.to_dict(), "picture": picture}


def _text(key: str, value: object) -> str:
    if not isinstance(value, str) or len(value) > _MOST_LETTERS:
        raise refusal("too-large", f"--{key}: give a text of at most {_MOST_LETTERS} letters")
    return value
