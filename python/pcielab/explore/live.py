"""Simulation for pages: one stream per page and curve, which a newer question ends.

Points come in an order that shows the shape of curves first, and are cached by address, for sliders that move
back. Each is a separate test, with the numbers of `pcielab run --test`.
"""

import asyncio
import json
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from starlette.concurrency import run_in_threadpool

from pcielab import _core
from pcielab.explore.answers import ask_page
from pcielab.explore.question import Question
from pcielab.library.profiles import ResolvedSystem
from pcielab.sweeps.point import Point
from pcielab.work.running import available_cores

Panel = Literal["size", "window", "latency"]
_KEPT = 4096


@dataclass(frozen=True)
class Wanted:
    """A point of a panel, and its size or window in bytes."""

    panel: Panel
    bytes_: int
    point: Point


class Memory:
    """Cache of simulated points; the least recently used are dropped."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def found(self, wanted: Wanted, stop: _core.Stop) -> dict[str, Any] | None:
        """The values of a point for its panel; None if stopped before it was complete."""
        address = wanted.point.address
        with self._lock:
            known = self._known.get(address)
            if known is not None:
                self._known.move_to_end(address)
        if known is None:
            record = wanted.point.record(stop)
            if record["status"] == "interrupted":
                return None
            known = ask_page("drawn", record)
            with self._lock:
                self._known[address] = known
                if len(self._known) > _KEPT:
                    self._known.popitem(last=False)
        swept = "size" if wanted.panel == "latency" else wanted.panel
        return {"panel": wanted.panel, swept: wanted.bytes_, **known}


def wanted(question: Question, system: ResolvedSystem) -> Iterator[Wanted]:
    """The points of a question, coarse to fine: its own first, then the ends of curves, then halves of halves."""
    described = system.to_json()
    for one in ask_page("plan", question.of_tests()):
        suite = json.dumps(one["suite"], sort_keys=True, separators=(",", ":"))
        yield Wanted(one["panel"], one["bytes"], Point(described, suite, seed=question.seed))


POINT_SECONDS = 10.0
"""Time limit of one point; beyond it, the stream ends."""
STREAMS_MOST = 32
FULL = "too many pages are open: close some"


class Live:
    """The active streams."""

    def __init__(self) -> None:
        self.is_ending = False
        self._memory = Memory()
        self._active: dict[str, _core.Stop] = {}
        self._streams = 0
        self._slots = asyncio.Semaphore(max(1, available_cores() - 1))

    def stop(self) -> None:
        """End all streams."""
        self.is_ending = True
        for stop in self._active.values():
            stop.request()

    @property
    def is_full(self) -> bool:
        """Whether the limit of streams is reached; superseded ones count until they have ended."""
        return self._streams >= STREAMS_MOST

    async def stream(self, page: str, question: Question, system: ResolvedSystem) -> AsyncIterator[str]:
        """The points of a question as lines of JSON, coarse to fine, until complete or superseded.

        A newer stream with the same name of page and curve ends this one.
        """
        # Other streams may have begun since the request was checked.
        if self.is_full:
            yield json.dumps({"problem": FULL}) + "\n"
            return
        self._streams += 1
        stop = _core.Stop()
        if earlier := self._active.get(page):
            earlier.request()
        self._active[page] = stop
        try:
            for one in wanted(question, system):
                async with self._slots:
                    limit = asyncio.get_running_loop().call_later(POINT_SECONDS, stop.request)
                    found = await run_in_threadpool(self._memory.found, one, stop)
                    late = limit.when() <= asyncio.get_running_loop().time()
                    limit.cancel()
                if found is None:
                    if late:
                        problem = f"a point took more than {POINT_SECONDS:g} s: try a smaller test"
                        yield json.dumps({"problem": problem}) + "\n"
                    return
                yield json.dumps(found) + "\n"
            yield json.dumps({"done": True}) + "\n"
        finally:
            self._streams -= 1
            stop.request()
            if self._active.get(page) is stop:
                del self._active[page]
