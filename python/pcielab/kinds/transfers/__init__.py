"""Transfers of a device: latencies and bandwidths of DMA and commands, by size, window, cache and offset."""

from pcielab.library.suites.parameter import PARAMETERS
from pcielab.store.kinds import SWITCH, TEXT, WHOLE, Columns

COLUMNS = Columns(
    types={one.key: {"word": TEXT, "switch": SWITCH}.get(one.kind, WHOLE) for one in PARAMETERS},
    shown=tuple(one.key for one in PARAMETERS if one.key != "transactions"),
    heads={one.key: one.heading for one in PARAMETERS},
)
