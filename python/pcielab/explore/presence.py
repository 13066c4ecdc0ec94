"""Open pages: each holds a connection, and the server ends soon after the last one closes."""

import asyncio
from collections.abc import AsyncIterator, Callable

_BEAT_SECONDS = 2.0


class Presence:
    """Counts open pages.

    Attributes:
        grace_seconds: Time for a reload before the server ends; None: it never ends.
    """

    def __init__(self, leave: Callable[[], None], grace_seconds: float | None) -> None:
        self._leave = leave
        self._open = 0
        self.grace_seconds = grace_seconds

    async def held(self) -> AsyncIterator[str]:
        """A stream of beats to an open page; sending one fails once the page is closed."""
        self._open += 1
        try:
            while True:
                yield "\n"
                await asyncio.sleep(_BEAT_SECONDS)
        finally:
            self._open -= 1
            if self._open == 0 and self.grace_seconds is not None:
                asyncio.get_running_loop().call_later(self.grace_seconds, self._look)

    def _look(self) -> None:
        if self._open == 0:
            self._leave()
