"""Trace events of a device's run: its transfers, the steps of its messages, or those of its packets.

Stores of devices have no time stamps, so that a trace shows what they do have:

* transfers: the latencies of tests with `details`, in the order in which they were made, end to end: the gaps
  between them are not known;
* messages alone: the average time of each step after the first packet;
* frames: the average time of each of the NIC's steps, in their order. In a run they overlap.

Events are JSON objects of the "Trace Event Format" (Chromium), as Perfetto and chrome://tracing read them. Times
are in microseconds, rounded to whole nanoseconds, the resolution of readers: otherwise a part could end after its
whole.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Any, TypeAlias

from pcielab.errors import InputError
from pcielab.store import Store
from pcielab.store.manifest import nic_of

Event: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Track:
    """A thread of a process, as readers show it: one line of slices.

    Attributes:
        process: Number of the process.
        thread: Number of the thread, unique in the file.
    """

    process: int
    thread: int

    def named(self, name: str) -> Event:
        """The event that names it."""
        return {"ph": "M", "name": "thread_name", "pid": self.process, "tid": self.thread, "args": {"name": name}}

    def slice(self, name: str, start_ns: float, end_ns: float, args: Mapping[str, Any] | None = None) -> Event:
        """A slice from one time to another, with details."""
        start, end = round(start_ns), round(end_ns)
        times = {"ts": start / 1e3, "dur": max(end - start, 0) / 1e3}
        event = {"pid": self.process, "tid": self.thread, "ph": "X", "name": name, **times}
        return event | {"args": dict(args)} if args else event


def named_process(process: int, name: str) -> Event:
    """The event that names a process."""
    return {"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}


MOST_TRANSFERS = 10_000
"""Most transfers of a test that a trace shows."""
TIMES = {
    "transfers": "latencies in order, end to end: the gaps between transfers are not known",
    "messages": "average time of each step of a message alone, after its first packet",
    "frames": "average time of each step of the NIC, in the order of its steps, which overlap in the run",
}
"""What the times of a trace are, by the kind of the run."""
_NEEDS = {
    "transfers": "latencies in order: run tests of latency with `details = true`, as in the families *_details",
    "messages": "steps: run messages with `pace = alone` on a simulated device",
    "tool": "times of single transfers: another tool measured it, which gives averages only",
    "frames": "steps: give a run of `pcielab run --nic`",
}
_FIRST_STEPS = ("first-store", "doorbell")


def device_events(store: Store) -> tuple[list[Event], list[str]]:
    """The events of a run, and warnings on transfers that are left out.

    Raises:
        InputError: The run has no times to show.
    """
    threads = count(1)
    warnings: list[str] = []
    events: list[Event] = []
    for record in store.records() if store.kind != "tool" else ():
        if record["status"] != "ok":
            continue
        if store.kind == "transfers":
            found = list(_transfers(store, record, Track(record["id"], next(threads)), warnings))
        elif store.kind == "messages":
            found = list(_message(record, Track(record["id"], next(threads))))
        else:
            found = list(
                _packet(store, record, Track(record["id"], next(threads)), Track(record["id"], next(threads)))
            )
        if found:
            events += [named_process(record["id"], _named(record)), *found]
    if not events:
        raise InputError(f"{store.path}: has no {_NEEDS[store.kind]}")
    return events, warnings


def _named(record: Mapping[str, Any]) -> str:
    """A test with the parameters that people look for."""
    parameters = record["parameters"]
    size = parameters.get("size_bytes", parameters.get("frame_bytes"))
    more = [parameters.get(key) for key in ("cache", "way", "direction") if parameters.get(key)]
    return ", ".join([f"{record['family']}: {record['name']}", f"{size} B", *map(str, more)])


def _transfers(store: Store, record: Mapping[str, Any], track: Track, warnings: list[str]) -> Iterator[Event]:
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


def _message(record: Mapping[str, Any], track: Track) -> Iterator[Event]:
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


def _packet(store: Store, record: Mapping[str, Any], sending: Track, receiving: Track) -> Iterator[Event]:
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
