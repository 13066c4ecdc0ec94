"""Simulation for pages: one stream per page and curve, which a newer question ends."""

import asyncio
import json
from collections.abc import AsyncIterator

from starlette.concurrency import run_in_threadpool

from pcielab import _core
from pcielab.explore.points import Memory, wanted
from pcielab.explore.question import Question
from pcielab.library.profiles import ResolvedSystem
from pcielab.work.running import available_cores

POINT_SECONDS = 10.0
"""Time limit of one point; beyond it, the stream ends."""
STREAMS_MOST = 32
FULL = "too many pages are open: close some"


class Live:
    """The active streams."""

    def __init__(self) -> None:
        self._memory = Memory()
        self._active: dict[str, _core.Stop] = {}
        self._streams = 0
        self._slots = asyncio.Semaphore(max(1, available_cores() - 1))

    def stop(self) -> None:
        """End all streams."""
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
