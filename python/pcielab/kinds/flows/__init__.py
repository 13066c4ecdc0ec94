"""Flows through a fabric."""

from pcielab.kinds.flows.rows import FLOW_KEYS, flow_table
from pcielab.store.kinds import NUMBER, Columns, Table

COLUMNS = Columns(
    types=dict.fromkeys(("duration_us", "warm_up_us"), NUMBER),
    heads={
        "sweep": "swept",
        "discipline": "credits",
        "source": "from",
        "destination": "to",
        "standalone_gbytes_per_s": "alone (GB/s)",
    },
    noun="flows",
    table=Table(
        rows=flow_table,
        parameters=("experiment", "sweep", "value", "discipline", "flow", *FLOW_KEYS),
        metrics=(
            ("gbytes_per_s", "GB/s", 3, 1.0),
            ("requests", "requests", 0, 1.0),
            ("in_flight", "in flight", 2, 1.0),
            ("average_ns", "average (ns)", 1, 1.0),
            ("p50_ns", "50 % (ns)", 1, 1.0),
            ("p90_ns", "90 % (ns)", 1, 1.0),
            ("p99_ns", "99 % (ns)", 1, 1.0),
            ("host_ns", "host (ns)", 1, 1.0),
            ("fabric_ns", "fabric (ns)", 1, 1.0),
            ("device_ns", "device (ns)", 1, 1.0),
            ("fits", "fits", 0, 1.0),
        ),
    ),
)
