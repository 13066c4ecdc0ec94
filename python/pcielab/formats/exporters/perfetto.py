"""`export perfetto`: a run as trace events, for ui.perfetto.dev.

Of a traced run of a fabric, each test is a process; each flow has one thread per concurrent request; a request is
a slice with its phases nested. Of a device, a run is what its store holds (`device_events`).
"""

import heapq
import json
import math
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcielab.formats.exporters import device_events
from pcielab.formats.exporters.device_events import Event, Track, named_process
from pcielab.formats.exporters.exporter import Exporter
from pcielab.outputs import check_file, write_file
from pcielab.store import Store

if TYPE_CHECKING:
    import pandas as pd

_REQUEST_TIMES = "simulated times of every request"


def request_events(store: Store) -> Iterator[Event]:
    """The events of every traced request.

    Raises:
        InputError: The run was not traced.
    """
    from pcielab.store.flows import request_table

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


def _write(store: Store, output: Path, *, overwrite: bool) -> list[str]:
    store.require_speed("a trace")
    check_file(output, overwrite=overwrite)
    warnings: list[str] = []
    if store.kind == "fabric":
        events, times = list(request_events(store)), _REQUEST_TIMES
    else:
        events, warnings = device_events.device_events(store)
        times = device_events.TIMES[store.kind]
    content = {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {"title": store.title, "origin": store.origin, "times": times},
    }
    write_file(output, json.dumps(content, allow_nan=False, separators=(",", ":")).encode(), overwrite=overwrite)
    return warnings


EXPORTER = Exporter(
    "perfetto",
    "Write requests, transfers or steps as trace events, for ui.perfetto.dev; of a fabric, of a traced run.",
    _write,
)
