"""Messages alone as trace events: the average time of each step after the first packet.

Stands alone: `kinds/rooms.py` loads each part at its use.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from pcielab.kinds.rooms import Events
from pcielab.kinds.trace_events import Event, Track, events_of_tests
from pcielab.store import Store

_FIRST_STEPS = ("first-store", "doorbell")
_NEEDS = "steps: run messages with `pace = alone` on a simulated device"


def _events(store: Store) -> tuple[list[Event], list[str]]:
    return events_of_tests(store, _message, _NEEDS), []


def _message(record: Mapping[str, Any], threads: Iterator[int]) -> Iterator[Event]:
    track = Track(record["id"], next(threads))
    if record["parameters"].get("pace") != "alone":
        return
    at = [row for row in record["scalars"] if row["metric"] == "at"]
    steps = sorted((float(row["value"]), row["subject"] not in _FIRST_STEPS, row["subject"]) for row in at)
    if len(steps) < 2:
        return
    yield track.named("a message and its answers")
    start, end = steps[0], steps[-1]
    yield track.slice("message", start[0], end[0], {step: ns for ns, _, step in steps})
    for before, after in pairwise(steps):
        yield track.slice(f"{before[2]} to {after[2]}", before[0], after[0])


EVENTS = Events(_events, "average time of each step of a message alone, after its first packet")
