"""Pairs of tests of a NIC: by frames, line and direction.

Stands alone: `kinds/rooms.py` loads each part at its use.
"""

from pcielab.kinds.rooms import Cells, Compare, Row
from pcielab.store.identity import NAMED, SETTING

_PARAMETERS = ("direction", "frame_bytes", "line_gbps", "vlan", "gap")
"""They have none of the parameters of transfers."""
_SORTS = {"both": "frames both ways", "tx": "frames sent", "rx": "frames received"}


def _asked(row: Row) -> Cells:
    return {"frame": row["frame_bytes"], "line Gb/s": row["line_gbps"]}


COMPARE = Compare(
    keys=((*NAMED, *_PARAMETERS), (*SETTING, *_PARAMETERS)),
    shown=_PARAMETERS,
    sort=lambda parameters, _is_latency: _SORTS.get(parameters["direction"], "frames"),
    asked=_asked,
    metric=lambda _row: "bandwidth",
    machines="NICs and systems",
)
