"""Transfers of a trace as trace events: reads and writes at the times when they were sent.

Stands alone: `kinds/rooms.py` loads each part at its use.
"""

import heapq
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from pcielab.kinds.rooms import Events
from pcielab.kinds.trace_events import Event, Track, events_of_tests
from pcielab.store import Store

_MOST_TRANSFERS = 10_000
"""Most transfers of a direction that are shown."""


def _events(store: Store) -> tuple[list[Event], list[str]]:
    warnings: list[str] = []
    return events_of_tests(store, partial(_transfers, warnings), "transfers: none was done"), warnings


def _transfers(warnings: list[str], record: Mapping[str, Any], threads: Iterator[int]) -> Iterator[Event]:
    """The transfers, each on the first track that is free when it is sent."""
    series = {one["metric"]: one["values"] for one in record["series"]}
    times = list(zip(*(series[metric] for metric in ("sent_ns", "latency_ns", "bytes")), strict=True))
    if len(times) > _MOST_TRANSFERS:
        warnings.append(f"test {record['id']}: the first {_MOST_TRANSFERS} of {len(times)} transfers")
    direction = record["parameters"]["direction"]
    busy: list[tuple[float, int]] = []
    for number, (sent_ns, latency_ns, size) in enumerate(times[:_MOST_TRANSFERS]):
        if busy and busy[0][0] <= sent_ns:
            thread = heapq.heappop(busy)[1]
        else:
            thread = next(threads)
            yield Track(record["id"], thread).named(f"{direction}s in flight")
        done_ns = sent_ns + latency_ns
        heapq.heappush(busy, (done_ns, thread))
        yield Track(record["id"], thread).slice(f"{direction} {number}", sent_ns, done_ns, {"bytes": size})


EVENTS = Events(_events, "simulated times of every transfer, from the first TLP to the last")
