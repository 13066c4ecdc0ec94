"""A read of a memory expander as trace events: its mean wait for each part of its way.

Stands alone: `kinds/rooms.py` loads each part at its use.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pcielab.kinds.rooms import Events
from pcielab.kinds.trace_events import Event, Track, events_of_tests
from pcielab.store import Store

_NEEDS = "reads: give a run of `pcielab run --test mem-rd` with reads"


def _events(store: Store) -> tuple[list[Event], list[str]]:
    return events_of_tests(store, _read, _NEEDS), []


def _read(record: Mapping[str, Any], threads: Iterator[int]) -> Iterator[Event]:
    waits = {row["subject"]: float(row["value"]) for row in record["scalars"] if row["metric"] == "wait"}
    average = next((float(row["value"]) for row in record["scalars"] if row["metric"] == "average"), None)
    if average is None:
        return
    track = Track(record["id"], next(threads))
    yield track.named("a read")
    start_ns = 0.0
    for station, wait_ns in waits.items():
        yield track.slice(f"waits: {station}", start_ns, start_ns + wait_ns, {})
        start_ns += wait_ns
    yield track.slice("link, controller and medium", start_ns, average, {})


EVENTS = Events(_events, "mean waits of a read for each part of its way, and the rest of its time")
