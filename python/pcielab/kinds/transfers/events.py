"""Latencies of tests with `details` as trace events: in the order in which they were made, end to end.

Stands alone: `kinds/rooms.py` loads each part at its use.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from pcielab.kinds.rooms import Events
from pcielab.kinds.trace_events import Event, Track, events_of_tests
from pcielab.store import Store

MOST_TRANSFERS = 10_000
"""Most transfers of a test that a trace shows."""
_NEEDS = "latencies in order: run tests of latency with `details = true`, as in the families *_details"


def _events(store: Store) -> tuple[list[Event], list[str]]:
    warnings: list[str] = []
    return events_of_tests(store, partial(_transfers, store, warnings), _NEEDS), warnings


def _transfers(
    store: Store, warnings: list[str], record: Mapping[str, Any], threads: Iterator[int]
) -> Iterator[Event]:
    track = Track(record["id"], next(threads))
    ticks = store.series(record["id"])["value"]
    if ticks.empty:
        return
    if len(ticks) > MOST_TRANSFERS:
        warnings.append(f"test {record['id']}: the first {MOST_TRANSFERS} of {len(ticks)} transfers")
    yield track.named("transfers, end to end")
    tick_ns, start_ns = store.tick_ns(record["id"]), 0.0
    for number, length in enumerate(ticks[:MOST_TRANSFERS]):
        latency_ns = float(length) * tick_ns
        yield track.slice(f"transfer {number}", start_ns, start_ns + latency_ns, {"latency_ns": latency_ns})
        start_ns += latency_ns


EVENTS = Events(_events, "latencies in order, end to end: the gaps between transfers are not known")
