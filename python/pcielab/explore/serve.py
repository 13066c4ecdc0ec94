"""Start and end the server."""

import logging
import secrets
import socket
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn

from pcielab.errors import refusal
from pcielab.explore.app import Presence, Server, application
from pcielab.explore.connections import AT_ONCE, QUEUE, Brief, Connection
from pcielab.explore.dropped import kind_of
from pcielab.explore.fabrics import Fabrics
from pcielab.explore.guard import Guard
from pcielab.explore.question import Systems
from pcielab.explore.stores import Stores
from pcielab.library.input_files import read_toml
from pcielab.library.profiles import resolve

_LOOPBACK = "127.0.0.1"
_GRACE_SECONDS = 10.0
_CLOSING_SECONDS = 1


def serve(
    given: Sequence[Path],
    *,
    port: int = 0,
    browse: bool = True,
    stay: bool = False,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve until Ctrl-C, or until the last page is closed.

    Args:
        given: Stores (`*.db`), systems and fabrics (`*.toml`) for the pages; no other files are read.
        port: Port on the loopback address; 0 for any free one.
        browse: Whether to open a browser.
        stay: Whether to continue when the last page is closed.
        announce: Called with the address once the server listens.

    Raises:
        InputError: A store, a system or a fabric cannot be read, or the port is taken.
    """
    stores = Stores([path for path in given if path.suffix != ".toml"])
    systems, fabrics = _own([path for path in given if path.suffix == ".toml"])
    listening = _listen(port)
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)

    def leave() -> None:
        runner.should_exit = True

    server = Server(systems, fabrics, stores, Presence(leave, None if stay else _GRACE_SECONDS))
    guarded = Guard(application(server), token=token, port=port)
    runner = _Runner(server, guarded)
    address = f"http://{_LOOPBACK}:{port}"
    announce(f"{address}/#token={token}")
    if browse:
        webbrowser.open(address + guarded.entrance())
    try:
        runner.run(sockets=[listening])
    except KeyboardInterrupt:
        return


class _Runner(uvicorn.Server):
    """Ends simulations before it waits for connections to close."""

    def __init__(self, server: Server, app: Guard) -> None:
        config = uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            log_level="warning",
            access_log=False,
            backlog=AT_ONCE,
            timeout_graceful_shutdown=_CLOSING_SECONDS,
        )
        for name in ("asyncio", "uvicorn.error"):
            logging.getLogger(name).addFilter(Brief())
        super().__init__(config)
        self._pages = server

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # The loop accepts as many at once as it lets the kernel keep.
        for listening in sockets or []:
            listening.listen(QUEUE)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._pages.live.stop()
        await super().shutdown(sockets)


def _own(paths: Sequence[Path]) -> tuple[Systems, Fabrics]:
    """The systems and fabrics of checked files."""
    kinds = {str(path): kind_of(read_toml(path), str(path)) for path in paths}
    systems = {resolve(path).system.name: path for path, kind in kinds.items() if kind == "system"}
    return Systems(systems), Fabrics(path for path, kind in kinds.items() if kind == "fabric")


def _listen(port: int) -> socket.socket:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((_LOOPBACK, port))
        # From here on, an early browser waits for the server.
        listening.listen()
    except (OSError, OverflowError) as error:
        listening.close()
        raise refusal(
            "in-use", f"--port {port}: cannot listen: {error}: give another port, or leave out --port"
        ) from None
    return listening
