"""Pairs of tests of transfers: by name and the published files' parameters, then by all that determine them."""

from pcielab.kinds.finished import finished
from pcielab.kinds.rooms import Cells, Compare, Row
from pcielab.kinds.transfers.resolution import difference_errors_ns
from pcielab.store.identity import NAMED, SETTING

_SORTS = {"bw-rd": "reads", "bw-wr": "writes", "bw-rdwr": "reads with writes"}


def sort(parameters: Row, _is_latency: bool) -> str:
    """Tests of this operation."""
    return _SORTS.get(parameters["operation"], "latencies")


def metric(row: Row) -> str:
    """The metric of tests whose names say it: latencies, and messages alone."""
    return "median" if row["name"].startswith("LAT_") or row["name"].endswith("_ALONE") else "bandwidth"


def _asked(row: Row) -> Cells:
    return {
        "size": row["size_bytes"],
        "window": row["window_bytes"],
        "offsets": f"{row['host_offset_bytes']}/{row['device_offset_bytes']}",
        "cache": row["cache"],
    }


COMPARE = Compare(
    rows=finished,
    keys=(NAMED, SETTING),
    sort=sort,
    asked=_asked,
    metric=metric,
    errors_ns=difference_errors_ns,
    titled_by=("operation", "path"),
)
