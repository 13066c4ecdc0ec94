"""A store as one table: a row per test, the origin first, units in the names of the columns.

Of flows through a fabric, of which a test has several, a row per flow; behind a test of a mux, a row for each of
its connections.
"""

from typing import TYPE_CHECKING

from pcielab.store.connections import with_connections

if TYPE_CHECKING:
    import pandas as pd

    from pcielab.store import Store

SUFFIXES = {"ns": "_ns", "B": "_bytes", "Gb/s": "_gbps", "1/s": "_per_second", "1": ""}
"""What the unit of a metric adds to its name."""

COUNTS = ("B", "1")
"""The units of metrics that are whole numbers."""


def table(store: "Store") -> "pd.DataFrame":
    """One row per test, in suite order: origin, test, parameters, status, metrics such as `median_ns`."""
    if store.kind == "fabric":
        from pcielab.store.flows import flow_table

        flows = flow_table(store)
        flows.insert(0, "origin", store.origin)
        return flows
    frame = with_connections(store, store.scalars.copy())
    for metric, unit in store.units.items():
        if metric in frame and unit in COUNTS and (frame[metric].dropna() % 1 == 0).all():
            frame[metric] = frame[metric].astype("Int64")
    if "outstanding" in frame:
        frame["outstanding"] = frame["outstanding"].astype("Int64")
    frame["message"] = frame["message"].astype("string")
    frame.insert(0, "origin", store.origin)
    return frame.rename(columns={metric: column_of(metric, unit) for metric, unit in store.units.items()})


def column_of(metric: str, unit: str) -> str:
    """The column of a metric, with its unit last: `median_ns`, `bandwidth_gbps`."""
    suffix = SUFFIXES.get(unit, f"_{unit}")
    return metric if f"_{metric}".endswith(suffix) else metric + suffix
