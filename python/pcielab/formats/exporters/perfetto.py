"""`export perfetto`: the requests of a traced run of a fabric as trace events, for ui.perfetto.dev.

The format is JSON trace events ("Trace Event Format", the Chromium project), which chrome://tracing reads too.
Each test is a process; each flow has one thread per concurrent request; a request is a slice with its phases
nested. Times are in microseconds, rounded to whole nanoseconds, the resolution of readers: otherwise a phase could
end after its request.
"""

import heapq
import json
import math
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcielab.formats.exporters.exporter import Exporter
from pcielab.outputs import check_file, write_file
from pcielab.store import Store

if TYPE_CHECKING:
    import pandas as pd


def _write(store: Store, output: Path, *, overwrite: bool) -> None:
    from pcielab.store.flows import request_table

    check_file(output, overwrite=overwrite)
    events = list(_events(request_table(store)))
    content = {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {"title": store.title, "origin": store.origin},
    }
    write_file(output, json.dumps(content, allow_nan=False, separators=(",", ":")).encode(), overwrite=overwrite)


def _events(requests: "pd.DataFrame") -> Iterator[dict[str, Any]]:
    threads = count(1)
    for test, rows in requests.groupby("id", sort=False):
        process, first = int(str(test)), rows.iloc[0]
        swept = f", {first['value']:g}" if "value" in rows and rows["value"].notna().all() else ""
        name = f"{first['family']}: {first['experiment']}{swept}"
        yield {"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}
        for flow, of_flow in rows.groupby("flow", sort=False):
            lanes: dict[int, int] = {}
            for lane, row in _in_lanes(of_flow):
                if lane not in lanes:
                    lanes[lane] = next(threads)
                    yield _thread(process, lanes[lane], str(flow))
                yield from _slices({"pid": process, "tid": lanes[lane], "ph": "X"}, row)


def _thread(process: int, thread: int, flow: str) -> dict[str, Any]:
    return {"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": {"name": flow}}


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


def _slices(thread: dict[str, Any], row: dict[Any, Any]) -> Iterator[dict[str, Any]]:
    start, reached = row["submitted_ns"], row["reached_ns"]
    left, end = start + row["host_ns"], start + row["total_ns"]
    phases = {key: row[key] for key in ("host_ns", "fabric_ns", "device_ns")}
    yield thread | _slice(f"request {row['request']}", start, end) | {"args": phases}
    yield thread | _slice("queued at the host", start, left)
    if math.isnan(reached):
        yield thread | _slice("in the fabric and at the device", left, end)
        return
    executed = reached + row["device_ns"]
    yield thread | _slice("command in the fabric", left, reached)
    yield thread | _slice("executed at the device", reached, executed)
    yield thread | _slice("data and completion in the fabric", executed, end)


def _slice(name: str, start_ns: float, end_ns: float) -> dict[str, Any]:
    start, end = round(start_ns), round(end_ns)
    return {"name": name, "ts": start / 1e3, "dur": max(end - start, 0) / 1e3}


EXPORTER = Exporter(
    "perfetto", "Write the requests of a traced run of a fabric as trace events, for ui.perfetto.dev.", _write
)
