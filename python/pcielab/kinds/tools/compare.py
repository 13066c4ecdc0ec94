"""Pairs of what other tools measured: by direction, ends, engine and queues.

Stands alone: `kinds/rooms.py` loads each part at its use.
"""

from pcielab.kinds.rooms import Cells, Compare, Row
from pcielab.store.identity import NAMED, SETTING
from pcielab.strict_json import known

_PARAMETERS = (
    *("tool", "direction", "beside", "counted", "engine", "pair", "part"),
    *("queues", "outstanding", "transport", "io_engine", "access", "state"),
)
"""Parameters besides size and pattern."""
_ASKED = ("direction", "pair", "part", "queues", "outstanding", "pattern", "size_bytes")


def _asked(row: Row) -> Cells:
    return {key.removesuffix("_bytes"): known(row[key]) for key in _ASKED}


def _metric(row: Row) -> str:
    units = {"bandwidth": "gbps", "median": "ns"}
    return next((one for one, unit in units.items() if known(row.get(f"{one}_a_{unit}")) is not None), "average")


def _sort(parameters: Row, is_latency: bool) -> str:
    return f"{parameters.get('direction') or parameters['name']} {'latencies' if is_latency else 'bandwidths'}"


COMPARE = Compare(
    keys=((*NAMED, *_PARAMETERS), (*SETTING, *_PARAMETERS)),
    shown=("direction", *_PARAMETERS),
    sort=_sort,
    asked=_asked,
    metric=_metric,
    optional=tuple(key.removesuffix("_bytes") for key in _ASKED),
)
