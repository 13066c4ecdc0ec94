"""Pairs of tests of two expanders: by load and mix.

Stands alone: `kinds/rooms.py` loads each part at its use.
"""

from pcielab.kinds.rooms import Cells, Compare, Row

_ALIKE = ("read_share", "load")


def _asked(row: Row) -> Cells:
    return {"reads": row["read_share"], "load": row["load"]}


def _metric(row: Row) -> str:
    """Below the peak, reads: their rate is that of the cores. At the peak, and without reads, the rate."""
    return "bandwidth" if row["load"] >= 1 or row["read_share"] == 0 else "average"


COMPARE = Compare(
    keys=((*_ALIKE, "expander", "cores", "fill_buffers"), _ALIKE),
    shown=_ALIKE,
    sort=lambda parameters, _is_latency: f"lines with {100 * parameters['read_share']:.3g} % reads",
    asked=_asked,
    metric=_metric,
    machines="expanders",
)
