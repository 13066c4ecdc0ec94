"""Frames as trace events: the average time of each of the NIC's steps, in their order. In a run they overlap.

Stands alone: `kinds/rooms.py` loads each part at its use.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from pcielab.kinds.rooms import Events
from pcielab.kinds.trace_events import Event, Track, events_of_tests
from pcielab.store import Store
from pcielab.store.manifest import nic_of

_NEEDS = "steps: give a run of `pcielab run --nic`"


def _events(store: Store) -> tuple[list[Event], list[str]]:
    return events_of_tests(store, partial(_packet, store), _NEEDS), []


def _packet(store: Store, record: Mapping[str, Any], threads: Iterator[int]) -> Iterator[Event]:
    sending, receiving = (Track(record["id"], next(threads)) for _ in range(2))
    numbers: dict[str, dict[str, float]] = {}
    for row in record["scalars"]:
        numbers.setdefault(row["subject"], {})[row["metric"]] = float(row["value"])
    for path, track in (("tx", sending), ("rx", receiving)):
        start_ns, named = 0.0, False
        for step in nic_of(store.manifest, store.path).step:
            found = numbers.get(f"{path}: {step.what}", {})
            if step.path != path or "average" not in found:
                continue
            if not named:
                yield track.named({"tx": "a packet sent", "rx": "a packet received"}[path])
                named = True
            end_ns = start_ns + found["average"]
            yield track.slice(step.what, start_ns, end_ns, found)
            start_ns = end_ns


EVENTS = Events(
    _events, "average time of each step of the NIC, in the order of its steps, which overlap in the run"
)
