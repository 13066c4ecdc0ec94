"""Why a NIC moves no more frames over its link, for the page that asks: the answer of `pcielab why --nic`.

Stands alone: one page asks this.
"""

from collections.abc import Mapping
from typing import Any

from pcielab._core import LINE_RATES_GBPS
from pcielab.errors import refusal
from pcielab.explore.answers import ask_page
from pcielab.library.packet_rates import stated_rates
from pcielab.library.shipped import profile_tables

FIRST = {"nic": "connectx-6-dx", "line": 100, "frame": 64, "measured": 60, "generation": 3, "lanes": 16}
"""The question that the page opens with."""


def setting() -> dict[str, Any]:
    """What the page needs first: NICs, lines, the question that it opens with, and packet rates of vendors."""
    names = {name: table["description"] for name, table in profile_tables("nic")["nic"].items()}
    return {"names": names, "lines": LINE_RATES_GBPS, "first": FIRST, "stated": stated_rates()}


def answered(asked: Any) -> dict[str, Any]:
    """The answer about frames through a NIC, as the page without a server computes it.

    Args:
        asked: The `nic` with its `name`, perhaps the `text` of its file, and `changes` by dotted key; `line_gbps`,
            `frame_bytes`, and perhaps `direction`, the given values of the `link`, and the `measured` Gb/s.

    Raises:
        InputError: A value is refused.
    """
    if not isinstance(asked, Mapping) or not isinstance(asked.get("nic"), Mapping):
        raise refusal("wrong-type", "give an object with a nic")
    nic = {**asked["nic"], "shipped": profile_tables("nic")}
    found: dict[str, Any] = ask_page("why-nic", {**asked, "nic": nic, "stated": stated_rates()})
    return found
