"""Pairs of flows: by family, experiment, swept value and name; the rest by ends, primitive, size and requests.

Stands alone: `kinds/rooms.py` loads each part at its use.
"""

import math
from typing import Any

from pcielab.kinds.flows.rows import flow_rows
from pcielab.kinds.rooms import Cells, Compare, Row
from pcielab.store import Store
from pcielab.strict_json import known


def _rows(store: Store) -> list[dict[str, Any]]:
    """A row for each flow of each finished test, with the metrics and units of other tests."""
    rows: list[dict[str, Any]] = []
    for number, row in enumerate(row for row in flow_rows(store) if row["status"] == "ok"):
        named = {"id": number, "test": row["id"], "name": row["experiment"], "swept_to": row["value"]}
        metrics = {"bandwidth": 8 * row.get("gbytes_per_s", math.nan), "median": row.get("p50_ns")}
        rows.append(row | named | metrics | {"average": row.get("average_ns")})
    return rows


def _asked(row: Row) -> Cells:
    return {"flow": row["flow"], "swept to": row["swept_to"]}


def _line(row: Row) -> Cells:
    """A flow's bandwidth (GB/s) and, if it has requests, their average latency (ns)."""
    more, later = row["bandwidth_difference_percent"], row["average_difference_ns"]
    return {
        "experiment": row["name"],
        "swept to": known(row["swept_to"]),
        "flow": row["flow"],
        "A GB/s": known(row["bandwidth_a_gbps"] / 8),
        "B GB/s": known(row["bandwidth_b_gbps"] / 8),
        "B - A": f"{more:+.2f} %" if more == more else "-",
        "A ns": known(row["average_a_ns"]),
        "B ns": known(row["average_b_ns"]),
        "later": f"{later:+.2f} ns" if later == later else "-",
    }


COMPARE = Compare(
    rows=_rows,
    keys=(
        ("family", "name", "swept_to", "flow"),
        ("source", "destination", "primitive", "size_bytes", "outstanding", "swept_to"),
    ),
    shown=("flow", "swept_to"),
    sort=lambda _parameters, is_latency: "latencies of flows" if is_latency else "flows",
    asked=_asked,
    metric=lambda _row: "bandwidth",
    line=_line,
    rate_unit=("GB/s", 8.0),
)
