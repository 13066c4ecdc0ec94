"""Pairs of the reads, and of the writes, of one trace on two hosts.

Stands alone: `kinds/rooms.py` loads each part at its use.
"""

from pcielab.kinds.rooms import Cells, Compare, Row

_ALIKE = ("trace", "direction")


def _asked(row: Row) -> Cells:
    return {"trace": row["trace"], "direction": row["direction"], "cache": row["cache"]}


COMPARE = Compare(
    keys=((*_ALIKE, "cache", "window_bytes"), _ALIKE),
    shown=_ALIKE,
    sort=lambda parameters, _is_latency: f"{parameters['direction']}s of the trace",
    asked=_asked,
    metric=lambda _row: "median",
)
