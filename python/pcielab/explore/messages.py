"""Messages by stores and by descriptors, for the page that asks: the closed form of `pcielab model pio`.

Stands alone: one page asks this.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from pcielab.errors import refusal
from pcielab.explore.answers import ask_page
from pcielab.library.cores import PRESENT_DAY
from pcielab.library.input_files import read_toml
from pcielab.library.profiles import KINDS
from pcielab.library.shipped import ProfileKind, profile_files

SIZES = "20,64,256,1K,4K,16K,64K"
"""Payloads of the table that the page opens with."""


@cache
def shipped_files() -> dict[str, dict[str, Any]]:
    """The tables of the shipped files by kind and name: messages, and the systems that their times are of."""
    return {kind: {name: read_toml(path) for name, path in profile_files(kind).items()} for kind in _OF_MESSAGES}


def setting() -> dict[str, Any]:
    """What the page needs first: names and titles of the profiles, and what it opens with."""
    titles = {name: table["title"] for name, table in shipped_files()["messages"].items()}
    return {"titles": titles, "first": {"profile": PRESENT_DAY[max(PRESENT_DAY)], "sizes": SIZES}}


def answered(asked: Any) -> dict[str, Any]:
    """Messages of each payload, as the page without a server computes them.

    Args:
        asked: The `profile` with its `name` and `changes` by dotted key; `payloads` and `curve` as `--messages`
            takes them, and perhaps `batch` and the given values of the `link`.

    Raises:
        InputError: A value is refused.
    """
    if not isinstance(asked, Mapping) or not isinstance(asked.get("profile"), Mapping):
        raise refusal("wrong-type", "give an object with a profile")
    found: dict[str, Any] = ask_page("pio", {**asked, "profile": {**asked["profile"], "shipped": shipped_files()}})
    return found


_OF_MESSAGES: tuple[ProfileKind, ...] = ("messages", *KINDS)
