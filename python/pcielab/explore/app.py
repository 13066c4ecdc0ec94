"""The routes of the server: pages and their requests."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import resources
from typing import Any, TypeAlias

import jinja2
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from pcielab import __version__
from pcielab.errors import InputError
from pcielab.explore import answers, normal
from pcielab.explore.dropped import Dropped
from pcielab.explore.fabrics import Fabrics
from pcielab.explore.live import FULL, Live
from pcielab.explore.presence import Presence
from pcielab.explore.question import ASKED, FIRST, START, Systems, question_of
from pcielab.explore.stores import Stores
from pcielab.explore.taking_out import taken_out
from pcielab.library.profiles.keys import keys_of
from pcielab.report.html import vega_script
from pcielab.report.style import BOUND_COLOURS, configuration

Ask: TypeAlias = Callable[[Any], object]

_PAGES = {"/": "explore", "/stores": "stores", "/fabrics": "fabrics", "/normal": "normal"}
_KINDS = {"js": "text/javascript", "css": "text/css"}
_FILES = resources.files("pcielab.explore") / "pages"
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
        themes = {theme: configuration(theme) for theme in ("light", "dark")}
        return JSONResponse(
            {
                "version": __version__,
                "systems": self.systems.names,
                "experimental": self.systems.experimental,
                "opening": self.systems.opening.model_dump(),
                "first": FIRST,
                "themes": themes,
                "bounds": BOUND_COLOURS,
                "sizes": answers.SIZES,
                "windows": answers.WINDOWS,
                "normal": normal.words(),
            }
        )

    def _system(self, asked: Any) -> object:
        system = self.systems.resolved(question_of(asked))
        keys = keys_of(system.system, system.source_of)
        return {"title": system.title, "keys": [asdict(key) | {"group": key.group} for key in keys]}

    def _answer(self, asked: Any) -> object:
        question = question_of(asked)
        return answers.answer(question, self.systems.resolved(question))

    def _why(self, asked: Any) -> object:
        fields = _table(asked)
        question, value = question_of(fields.get("question")), fields.get("gbps")
        operation = fields.get("operation")
        if operation not in (question.bandwidth, question.latency):
            raise InputError("operation: give the question's `bandwidth` or `latency`")
        if value is not None and not isinstance(value, int | float):
            raise InputError("gbps: give a number")
        return {"sentences": answers.why(question, self.systems.resolved(question), str(operation), value)}

    def _presence(self, _request: Request) -> Response:
        return StreamingResponse(self.presence.held(), media_type="text/plain")

    async def _points(self, request: Request) -> Response:
        try:
            fields = _table(await _asked(request))
            page = fields.get("page")
            if not isinstance(page, str) or not 1 <= len(page) <= _MOST_NAME:
                raise InputError("page: give a short name")
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
        raise InputError("the request is not JSON: send an object") from None


def _table(asked: Any) -> Mapping[str, Any]:
    if not isinstance(asked, dict):
        raise InputError("give an object")
    return asked


def _problem(error: InputError) -> Response:
    return JSONResponse({"problem": str(error)}, 422)


def _page(name: str) -> Callable[[Request], Response]:
    def endpoint(_request: Request) -> Response:
        page = _templates().get_template(f"{name}.html.j2")
        return HTMLResponse(page.render(name=name, pages=_PAGES, asked=ASKED, start=START.model_dump_json()))

    return endpoint


@cache
def _templates() -> jinja2.Environment:
    loader = jinja2.FunctionLoader(lambda name: (_FILES / name).read_text(encoding="utf-8"))
    return jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined)


def _named_file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _served():
        return JSONResponse({"problem": "there is no such file"}, 404)
    return Response((_FILES / name).read_bytes(), media_type=_KINDS[name.rpartition(".")[2]])


@cache
def _served() -> frozenset[str]:
    """The files of pages: no other file is opened by a requested name."""
    return frozenset(file.name for file in _FILES.iterdir() if file.name.rpartition(".")[2] in _KINDS)


def _vega(_request: Request) -> Response:
    return Response(vega_script(), media_type=_KINDS["js"], headers={"Cache-Control": "private, max-age=3600"})
