"""Who may ask the server: only pages that it served itself, in a browser that was given its token.

A page of another site can make a browser send requests to the loopback address, and a name server can call that
address by any name. So a request must name this server as its host, must not come from another origin, and must
carry the token, which is in the address that `pcielab explore` opens and then in a cookie that other sites cannot
send. What is asked may not be long. What is answered may load nothing from elsewhere, and be framed by nobody.
"""

import hmac
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 64 << 10
"""Longest question."""
_TOO_LONG = f"a question has {MOST_BYTES} bytes at most"
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
    """Lets through what may ask; an ASGI application around another one."""

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._cookie = f"pcielab-{port}"
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            response = self._refusal(scope) or self._welcome(scope)
            await (response or _Limited(self._app))(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if headers.get("host") not in self._hosts:
            return PlainTextResponse("this server answers to 127.0.0.1 alone", 421)
        origin = headers.get("origin")
        foreign = origin is not None and origin not in {f"http://{host}" for host in self._hosts}
        asks = scope["method"] not in ("GET", "HEAD")
        if foreign or (asks and origin is None) or headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            return PlainTextResponse("another site's pages may not ask", 403)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            return PlainTextResponse(_TOO_LONG, 413)
        if not (self._has_cookie(headers) or self._is_token(_query(scope).get("token"))):
            return PlainTextResponse("open the address that pcielab explore printed, with its token", 403)
        return None

    def _welcome(self, scope: Scope) -> Response | None:
        """The token leaves the address, which people share, for a cookie."""
        query = _query(scope)
        if "token" not in query or scope["method"] != "GET":
            return None
        del query["token"]
        response = RedirectResponse(scope["path"] + (f"?{urlencode(query)}" if query else ""), 303)
        response.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
        return response

    def _has_cookie(self, headers: Headers) -> bool:
        try:
            cookies: Mapping[str, object] = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        found = cookies.get(self._cookie)
        return found is not None and self._is_token(getattr(found, "value", None))

    def _is_token(self, text: str | None) -> bool:
        return text is not None and hmac.compare_digest(text.encode(), self._token.encode())


class _Limited:
    """Stops reading a body that is longer than a question may be, whatever its head said."""

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


def _query(scope: Scope) -> dict[str, str]:
    return dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
