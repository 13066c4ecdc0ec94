"""Simulating for pages: one stream for each of them, which a newer question of the same page ends."""

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
"""What one point may take before its question is given up."""
STREAMS_MOST = 32
FULL = "too many pages are open: close some"


class Live:
    """The streams that are going on."""

    def __init__(self) -> None:
        self._memory = Memory()
        self._going_on: dict[str, _core.Stop] = {}
        self._streams = 0
        self._slots = asyncio.Semaphore(max(1, available_cores() - 1))

    def stop(self) -> None:
        """End all of them."""
        for stop in self._going_on.values():
            stop.request()

    @property
    def is_full(self) -> bool:
        """Whether there can be no further stream; one that was superseded counts until it has ended."""
        return self._streams >= STREAMS_MOST

    async def stream(self, page: str, question: Question, system: ResolvedSystem) -> AsyncIterator[str]:
        """The points of a question as lines of JSON, coarse to fine, until they are all there or superseded.

        Args:
            page: Which page and curve they are for: a newer stream of the same ends this one.
            question: The question.
            system: Its system, resolved.
        """
        # Between the question and its first line, others may have begun.
        if self.is_full:
            yield json.dumps({"problem": FULL}) + "\n"
            return
        self._streams += 1
        stop = _core.Stop()
        if earlier := self._going_on.get(page):
            earlier.request()
        self._going_on[page] = stop
        try:
            for one in wanted(question, system):
                async with self._slots:
                    limit = asyncio.get_running_loop().call_later(POINT_SECONDS, stop.request)
                    found = await run_in_threadpool(self._memory.found, one, stop)
                    late = limit.when() <= asyncio.get_running_loop().time()
                    limit.cancel()
                if found is None:
                    if late:
                        yield (
                            json.dumps({"problem": f"a point took more than {POINT_SECONDS:g} s: given up"}) + "\n"
                        )
                    return
                yield json.dumps(found) + "\n"
            yield json.dumps({"done": True}) + "\n"
        finally:
            self._streams -= 1
            stop.request()
            if self._going_on.get(page) is stop:
                del self._going_on[page]
