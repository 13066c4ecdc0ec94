"""Changes for what other tools measured: another link, by the bound of its wire, or more requests in flight.

Stands alone: only stores of other tools load it.
"""

from collections.abc import Iterator
from dataclasses import asdict, replace

from pcielab.analysis.why.gains import Gain, link_changes, ordered
from pcielab.kinds.explained import Explained
from pcielab.kinds.tools.explain import limits_of_tool
from pcielab.kinds.tools.lines import link_of_tool
from pcielab.library.link import Link
from pcielab.store import Store

_NEAR, _ABOVE = 0.9, 1.05
"""Shares of the binding bound from which the link holds a value, and above which a value contradicts the link."""


def tool_gains(store: Store, row: Explained) -> list[Gain]:
    """What another link gives a value that its wire binds; nothing for values well below or above the bound."""
    if row.share is None or not _NEAR <= row.share <= _ABOVE:
        return []
    return ordered(list(_gains(store, row)))


def _gains(store: Store, row: Explained) -> Iterator[Gain]:
    link = link_of_tool(store.manifest)
    parameters = next(record["parameters"] for record in store.records() if record["id"] == row.test)
    if link is None:
        return
    keys = {key: asdict(link)[key] for key in ("mrrs_bytes", "mps_bytes", "generation", "lanes")}
    for change, new in link_changes(keys):
        after = limits_of_tool(parameters, Link(**{**asdict(link), **new}))[0].value
        change = replace(change, before=row.limits[0].value, after=after, unit=row.unit)
        yield Gain(change, (change.gain_percent,))
