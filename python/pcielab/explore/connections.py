"""Connections of the server: how many, and for how long without the token.

Any process of this machine can connect. A connection that has not yet carried the token has some seconds for each
request, and is closed when others need its place, the oldest first. One that has carried it is a page of this
user, and is kept.
"""

import asyncio
import logging
import resource
from collections import Counter
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

AT_ONCE = 32
"""Connections that the server accepts before it looks at their number."""
QUEUE = 2048
"""Connections that the kernel keeps until then."""
_MOST = 256
_FEWEST = 16
_SECONDS = 20.0
"""Time without the token: until a request is there, and until its response has left."""
_MOST_OF_A_KIND = 5
_MOST_KINDS = 50


def most_connections(descriptors: int | None = None) -> int:
    """How many connections a server may have, at most a quarter of the files that its process may open.

    Args:
        descriptors: Files that the process may open; absent: asked of the system.
    """
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if descriptors is None else descriptors
    return _MOST if limit < 0 else max(_FEWEST, min(_MOST, limit // 4))


class Connection(H11Protocol):
    """A connection, closed if it is of no use: with uvicorn's `http=Connection`."""

    def connection_made(self, transport: Any) -> None:
        """Close the oldest connection without the token, if there are too many; this one, if all have it."""
        self._trusted = False
        self._timer: asyncio.TimerHandle | None = None
        self.app_state = {**self.app_state, "connection": self}
        super().connection_made(transport)
        self._wait()
        # The server's set has no order: timers do.
        untrusted = [one for one in self.connections if isinstance(one, Connection) and not one.is_trusted]
        if len(self.connections) > most_connections() and untrusted:
            min(untrusted, key=lambda one: one.until).close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Give the next request its time."""
        super().on_response_complete()
        if not self._trusted:
            self._wait()

    @property
    def is_trusted(self) -> bool:
        """Whether it has carried the token."""
        return self._trusted

    @property
    def until(self) -> float:
        """The loop's time at which it is closed."""
        return self._timer.when() if self._timer is not None else float("-inf")

    def trust(self) -> None:
        """Note that a request had the token."""
        self._trusted = True
        self._stop_waiting()

    def close(self) -> None:
        """Close it at once, whatever it has to send."""
        self._stop_waiting()
        self.connections.discard(self)
        self.transport.abort()

    def _wait(self) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(_SECONDS, self.close)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None


class Brief(logging.Filter):
    """Lets the first few messages of a kind pass, so that no client can fill a log."""

    def __init__(self) -> None:
        super().__init__()
        self._kinds: Counter[str] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write a message; the last of its kind says so."""
        kind = str(record.msg) if len(self._kinds) < _MOST_KINDS else "other"
        self._kinds[kind] += 1
        if self._kinds[kind] == _MOST_OF_A_KIND:
            record.msg = f"{record.msg} (further messages of this kind are left out)"
        return self._kinds[kind] <= _MOST_OF_A_KIND
