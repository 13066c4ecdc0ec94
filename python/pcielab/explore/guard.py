"""Access control: only pages of this server, in a browser that has its token, get answers.

A page of another site can make a browser send requests to the loopback address, and DNS can give that address any
name. So a request must name this server as its host, and must not come from another origin. Requests to `/api/`
must carry the token in a header; the browser keeps it in the storage of this origin, which includes the port. A
cookie would go to every port of the loopback address. Files of pages hold no private data and need no token.
Requests have a maximum length. Responses may load nothing from elsewhere, and not be framed.

A request with the token makes its connection a trusted one (`connections`). A client that leaves in the middle of
a request is no error.

The token is in the address that `pcielab explore` prints, after a `#`, which browsers do not send. The browser
that the command opens gets another address, since all users can read a process's arguments: it works once, and
only for this user.
"""

import hmac
import os
import secrets
import socket
import sys
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pcielab.explore.connections import Connection
from pcielab.wording import byte_size

MOST_BYTES = 2 << 20
"""Longest request: the text of lspci of a large server."""
_MOST_DIGITS = 9
HEADER = "x-pcielab-token"
"""Header with the token."""
ENTRANCE = "/open"
_CONNECTIONS = Path("/proc/net/tcp")
"""All connections of this machine with their users: proc(5)."""
_TOO_LONG = f"the request is too long: send at most {byte_size(MOST_BYTES)}"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Guard:
    """An ASGI application around another one that passes allowed requests only."""

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._entrance: str | None = None

    def entrance(self) -> str:
        """A path that redirects to the token once; it replaces the path given before."""
        self._entrance = secrets.token_urlsafe(24)
        return f"{ENTRANCE}?{urlencode({'once': self._entrance})}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            response = self._refusal(scope) or self._welcome(scope)
            if _is_same(Headers(scope=scope).get(HEADER), self._token):
                _trust(scope)
            try:
                await (response or _Limited(self._app))(scope, receive, _with_headers(send))
            except ClientDisconnect:
                return

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if headers.get("host") not in self._hosts:
            return PlainTextResponse("wrong host: use 127.0.0.1 or localhost", 421)
        origin = headers.get("origin")
        foreign = origin is not None and origin not in {f"http://{host}" for host in self._hosts}
        asks = scope["method"] not in ("GET", "HEAD")
        if foreign or (asks and origin is None) or headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            return PlainTextResponse("requests from pages of other sites are refused", 403)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > _MOST_DIGITS or int(length) > MOST_BYTES:
            return JSONResponse({"problem": _TOO_LONG}, 413)
        if scope["path"].startswith("/api/") and not _is_same(headers.get(HEADER), self._token):
            return JSONResponse({"problem": "open the address that pcielab explore printed, with its token"}, 403)
        return None

    def _welcome(self, scope: Scope) -> Response | None:
        """Redirect the browser that this user's command opened to the token."""
        if scope["path"] != ENTRANCE or scope["method"] != "GET":
            return None
        given = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("once")
        if self._entrance is None or not _is_same(given, self._entrance) or not _is_of_this_user(scope):
            return PlainTextResponse("this address worked once: open the one that pcielab explore printed", 403)
        self._entrance = None
        return RedirectResponse(f"/#token={self._token}", 303)


def _is_same(given: str | None, expected: str) -> bool:
    return given is not None and hmac.compare_digest(given.encode(), expected.encode())


def _trust(scope: Scope) -> None:
    """Keep the connection of a request with the token."""
    connection = scope.get("state", {}).get("connection")
    if isinstance(connection, Connection):
        connection.trust()


def _is_of_this_user(scope: Scope) -> bool:
    """Whether the other end is a process of this user; True if the system does not show it."""
    try:
        connections = _CONNECTIONS.read_text().splitlines()[1:]
    except OSError:
        return True
    ends = [_end(scope["client"]), _end(scope["server"])]
    fields = (line.split() for line in connections)
    return any(found[1:3] == ends and found[7] == str(os.getuid()) for found in fields)


def _end(address: tuple[str, int]) -> str:
    """An end of a connection as the kernel writes it: address in memory order, and port, in hexadecimal."""
    host, port = address
    return f"{int.from_bytes(socket.inet_aton(host), sys.byteorder):08X}:{port:04X}"


class _Limited:
    """Stops reading a body beyond the maximum length, whatever its Content-Length."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        read = 0

        async def limited() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > MOST_BYTES:
                raise HTTPException(413, _TOO_LONG)
            return message

        await self._app(scope, limited, send)


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
