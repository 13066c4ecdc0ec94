"""Trace events of the requests of a traced run of flows.

Each test is a process; each flow has one thread per concurrent request; a request is a slice with its phases
nested.
"""

import heapq
import math
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

from pcielab.kinds.flows.rows import request_table
from pcielab.kinds.rooms import Events
from pcielab.kinds.trace_events import Event, Track, named_process
from pcielab.store import Store

if TYPE_CHECKING:
    import pandas as pd


def _request_events(store: Store) -> Iterator[Event]:
    """The events of every traced request.

    Raises:
        InputError: The run was not traced.
    """
    threads = count(1)
    for test, rows in request_table(store).groupby("id", sort=False):
        process, first = int(str(test)), rows.iloc[0]
        swept = f", {first['value']:g}" if "value" in rows and rows["value"].notna().all() else ""
        yield named_process(process, f"{first['family']}: {first['experiment']}{swept}")
        for flow, of_flow in rows.groupby("flow", sort=False):
            lanes: dict[int, Track] = {}
            for lane, row in _in_lanes(of_flow):
                if lane not in lanes:
                    lanes[lane] = Track(process, next(threads))
                    yield lanes[lane].named(str(flow))
                yield from _slices(lanes[lane], row)


def _in_lanes(requests: "pd.DataFrame") -> Iterator[tuple[int, dict[Any, Any]]]:
    """Each request with the lowest lane that is free at its submission."""
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    for row in requests.sort_values("submitted_ns", kind="stable").to_dict("records"):
        while busy and busy[0][0] <= round(row["submitted_ns"]):
            heapq.heappush(free, heapq.heappop(busy)[1])
        lane = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (round(row["submitted_ns"] + row["total_ns"]), lane))
        yield lane, row


def _slices(track: Track, row: dict[Any, Any]) -> Iterator[Event]:
    start, reached = row["submitted_ns"], row["reached_ns"]
    left, end = start + row["host_ns"], start + row["total_ns"]
    phases = {key: row[key] for key in ("host_ns", "fabric_ns", "device_ns")}
    yield track.slice(f"request {row['request']}", start, end, phases)
    yield track.slice("queued at the host", start, left)
    if math.isnan(reached):
        yield track.slice("in the fabric and at the device", left, end)
        return
    executed = reached + row["device_ns"]
    yield track.slice("command in the fabric", left, reached)
    yield track.slice("executed at the device", reached, executed)
    yield track.slice("data and completion in the fabric", executed, end)


EVENTS = Events(lambda store: (list(_request_events(store)), []), "simulated times of every request")
