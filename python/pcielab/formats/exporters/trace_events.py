"""Trace events, as Perfetto and chrome://tracing read them: JSON objects of the "Trace Event Format" (Chromium).

Times are in microseconds, rounded to whole nanoseconds, the resolution of readers: otherwise a part could end
after its whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

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
