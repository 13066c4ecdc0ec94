"""Trace events, as Perfetto and chrome://tracing read them: JSON objects of the "Trace Event Format" (Chromium).

Times are in microseconds, rounded to whole nanoseconds, the resolution of readers: otherwise a part could end
after its whole.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

from pcielab.errors import refusal
from pcielab.kinds.lanes import trace_of, traced_tests
from pcielab.store import Store

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


def events_of_tests(
    store: Store, of: Callable[[Mapping[str, Any], Iterator[int]], Iterator[Event]], needs: str
) -> list[Event]:
    """The events of each finished test, which `of` makes from its record and numbers of threads.

    Raises:
        InputError: No test has any; `needs` is what the run lacks.
    """
    threads, events = count(1), list[Event]()
    for record in store.records():
        if record["status"] == "ok" and (found := list(of(record, threads))):
            events += [named_process(record["id"], _named(record)), *found]
    if not events:
        raise refusal("missing", f"{store.path}: has no {needs}")
    return events


def _named(record: Mapping[str, Any]) -> str:
    """A test with the parameters that people look for."""
    return _test_named({**record["parameters"], "family": record["family"], "name": record["name"]})


def _test_named(parameters: Mapping[str, Any]) -> str:
    """The same of a row of a store's tests."""
    size = parameters.get("size_bytes", parameters.get("frame_bytes"))
    more = [parameters.get(key) for key in ("cache", "way", "direction") if parameters.get(key)]
    sized = [f"{size} B"] if size is not None else []
    return ", ".join([f"{parameters['family']}: {parameters['name']}", *sized, *map(str, more)])


def events_of_traces(store: Store) -> list[Event]:
    """The events of every traced test: its lanes as tracks, its counters.

    Raises:
        InputError: The run has no trace.
    """
    threads, events = count(1), list[Event]()
    for test in traced_tests(store):
        process = test["id"]
        events.append(named_process(process, _test_named(test)))
        found = trace_of(store, process)
        for lane in found.lanes:
            track = Track(process, next(threads))
            events.append(track.named(lane.name))
            events += [track.slice(one.name, one.start_ns, one.end_ns, one.details) for one in lane.slices]
        events += [
            {"ph": "C", "pid": process, "name": counter.name, "ts": at_ns / 1e3, "args": {"value": value}}
            for counter in found.counters
            for at_ns, value in counter.values
        ]
    return events
