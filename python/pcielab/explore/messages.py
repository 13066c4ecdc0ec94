"""Messages by stores and by descriptors, for the page that asks: the closed form of `pcielab model pio`.

Stands alone: one page asks this.
"""

from collections.abc import Mapping
from typing import Any

from pcielab.errors import refusal
from pcielab.explore.answers import ask_page
from pcielab.library.cores import PRESENT_DAY
from pcielab.library.profiles import KINDS
from pcielab.library.shipped import profile_tables

SIZES = "20,64,256,1K,4K,16K,64K"
"""Payloads of the table that the page opens with."""


def setting() -> dict[str, Any]:
    """What the page needs first: names and titles of the profiles, and what it opens with."""
    titles = {name: table["title"] for name, table in profile_tables("messages")["messages"].items()}
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
    # Messages name the systems that their times are of.
    profile = {**asked["profile"], "shipped": profile_tables("messages", *KINDS)}
    found: dict[str, Any] = ask_page("pio", {**asked, "profile": profile})
    return found
