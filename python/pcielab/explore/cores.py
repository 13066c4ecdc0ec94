"""What loads and stores of a core cost, for the page that asks: the closed form of `pcielab model mmio`.

Stands alone: one page asks this.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from pcielab import _core
from pcielab.analysis.why.access import STEPS
from pcielab.errors import refusal
from pcielab.library.cores import PRESENT_DAY, bar_for
from pcielab.library.shipped import profile_tables
from pcielab.library.usual_link import USUAL_MPS_BYTES, USUAL_MRRS_BYTES


@cache
def shipped_sides() -> dict[str, dict[str, Any]]:
    """The tables of shipped cores and BARs by kind and name, without the sources of single keys."""
    tables = profile_tables("core", "bar")
    return {kind: {name: _table(table) for name, table in of_kind.items()} for kind, of_kind in tables.items()}


def setting() -> dict[str, Any]:
    """What the page needs first: cores and BARs, what it opens with, and what `model mmio` assumes of a link."""
    generation = max(PRESENT_DAY)
    return {
        **shipped_sides(),
        "because": STEPS,
        "first": {"core": PRESENT_DAY[generation], "bar": bar_for(None), "generation": generation},
        "link": {"mps_bytes": USUAL_MPS_BYTES, "mrrs_bytes": USUAL_MRRS_BYTES},
    }


def answered(asked: Any) -> list[Any]:
    """What accesses of a shipped core to a shipped BAR cost, as the page without a server computes it.

    Args:
        asked: The names of `core` and `bar`, their `link`, and `accesses`.

    Raises:
        InputError: A value is refused.
    """
    if not isinstance(asked, Mapping):
        raise refusal("wrong-type", "give an object")
    sides = {kind: {"name": asked.get(kind), "shipped": {kind: table}} for kind, table in shipped_sides().items()}
    found: list[Any] = json.loads(_core.ask_page("accesses", json.dumps({**asked, **sides})))
    return found


def _table(whole: dict[str, Any]) -> dict[str, Any]:
    sources = {key: text for key, text in whole["provenance"].items() if key != "keys"}
    return {**whole, "provenance": sources}
