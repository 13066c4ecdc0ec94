"""The routes of the server: pages and their requests. It ends soon after the last open page closes."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from pcielab.errors import InputError, refusal
from pcielab.explore import answers, cores, expanders, messages, nics, normal, target
from pcielab.explore.answers import taken_out
from pcielab.explore.dropped import Dropped
from pcielab.explore.fabrics import Fabrics
from pcielab.explore.live import FULL, Live
from pcielab.explore.page_files import described, html, page_file, page_files, setting_of
from pcielab.explore.question import Systems, question_of
from pcielab.explore.stores import Stores
from pcielab.report.html import vega_script

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


Ask: TypeAlias = Callable[[Any], object]

_PAGES = {
    "/": "explore",
    "/stores": "stores",
    "/fabrics": "fabrics",
    "/normal": "normal",
    "/nics": "nics",
    "/messages": "messages",
    "/expanders": "expanders",
    "/cores": "cores",
}
_KINDS = {"js": "text/javascript", "css": "text/css"}
_MOST_NAME = 200


@dataclass
class Server:
    """The state that the pages of one server share.

    Attributes:
        systems: The available systems.
        fabrics: The available fabrics.
        stores: The available stores.
        presence: The number of open pages.
        live: The simulations in progress.
    """

    systems: Systems
    fabrics: Fabrics
    stores: Stores
    presence: Presence
    live: Live = field(default_factory=Live)

    def routes(self) -> list[Route]:
        """Every route."""
        asks: dict[str, Ask] = {
            "system": self._system,
            "answer": self._answer,
            "why": self._why,
            "target": lambda asked: target.answered(asked, self.systems, self._go_on),
            "take-out": lambda asked: taken_out(question_of(asked), self.systems),
            "stores": lambda _asked: self.stores.listed(),
            "tests": self.stores.tests,
            "compare": self.stores.compared,
            "distribution": self.stores.distribution,
            "overlay": self.stores.overlay,
            "fabrics": lambda _asked: self.fabrics.listed(),
            "fabric": self.fabrics.estimated,
            "path": self.fabrics.path,
            "normal": normal.answered,
            "expander": expanders.answered,
            "accesses": cores.answered,
            "nic": nics.answered,
            "messages": messages.answered,
            "drop": Dropped(self.systems, self.fabrics).take,
        }
        return [
            *(Route(path, _page(name)) for path, name in _PAGES.items()),
            Route("/pages/{name}", _named_file),
            Route("/vega.js", _vega),
            Route("/api/setting", self._setting),
            Route("/api/presence", self._presence),
            Route("/api/points", self._points, methods=["POST"]),
            *(Route(f"/api/{name}", _asking(ask), methods=["POST"]) for name, ask in asks.items()),
        ]

    def _setting(self, _request: Request) -> Response:
        return JSONResponse(setting_of(self.systems))

    def _system(self, asked: Any) -> object:
        return described(self.systems.resolved(question_of(asked)))

    def _answer(self, asked: Any) -> object:
        question = question_of(asked)
        return answers.answer(question, self.systems.resolved(question))

    def _why(self, asked: Any) -> object:
        fields = _table(asked)
        question = question_of(fields.get("question"))
        operation = fields.get("operation")
        if operation not in (question.bandwidth, question.latency):
            raise refusal("wrong-value", "operation: give the question's `bandwidth` or `latency`")
        return answers.why(question, self.systems.resolved(question), str(operation), self._go_on)

    def _go_on(self, _done: int, _total: int) -> None:
        """End a search of changes when the server ends."""
        if self.live.is_ending:
            raise refusal("in-use", "the server ends")

    def _presence(self, _request: Request) -> Response:
        return StreamingResponse(self.presence.held(), media_type="text/plain")

    async def _points(self, request: Request) -> Response:
        try:
            fields = _table(await _asked(request))
            page = fields.get("page")
            if not isinstance(page, str) or not 1 <= len(page) <= _MOST_NAME:
                raise refusal("wrong-value", "page: give a short name")
            question = question_of(fields.get("question"))
            # Refuse impossible tests before the stream starts.
            question.suite(question.bandwidth)
            system = await run_in_threadpool(self.systems.resolved, question)
        except InputError as error:
            return _problem(error)
        if self.live.is_full:
            return JSONResponse({"problem": FULL}, 429)
        return StreamingResponse(self.live.stream(page, question, system), media_type="application/x-ndjson")


def application(server: Server) -> Starlette:
    """The server's routes as an ASGI application, without its guard."""
    return Starlette(routes=server.routes())


def _asking(ask: Ask) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            return JSONResponse(await run_in_threadpool(ask, await _asked(request)))
        except InputError as error:
            return _problem(error)

    return endpoint


async def _asked(request: Request) -> Any:
    body = await request.body()
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise refusal("malformed", "the request is not JSON: send an object") from None


def _table(asked: Any) -> Mapping[str, Any]:
    if not isinstance(asked, dict):
        raise refusal("wrong-type", "give an object")
    return asked


def _problem(error: InputError) -> Response:
    return JSONResponse({"problem": str(error)}, 422)


def _page(name: str) -> Callable[[Request], Response]:
    def endpoint(_request: Request) -> Response:
        return HTMLResponse(html(name, _PAGES))

    return endpoint


def _named_file(request: Request) -> Response:
    name = request.path_params["name"]
    # No other file is opened by a requested name.
    if name not in page_files():
        return JSONResponse({"problem": "there is no such file"}, 404)
    return Response(page_file(name), media_type=_KINDS[name.rpartition(".")[2]])


def _vega(_request: Request) -> Response:
    return Response(vega_script(), media_type=_KINDS["js"], headers={"Cache-Control": "private, max-age=3600"})
