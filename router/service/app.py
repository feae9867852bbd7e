"""The application: the paths of the service."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from roster import Roster
from roster.layers import Layer
from router.pipeline import Router
from router.service.batcher import Batcher
from router.service.config import ServiceConfig
from router.service.decisions import DecisionLog
from router.service.guard import Activity, Guard, on_socket, read_body
from router.service.hook_route import hook_route
from router.service.metrics import Metrics
from router.service.openapi import openapi_document
from router.service.problems import Refusal
from router.service.shelf import Shelf
from router.service.source import Source, checked_source
from router.service.strict_json import parse_object
from router.service.system_one import system_one_routes
from router.service.tracing import Tracing
from router.service.wire import SuggestRequest, answer_record, parse_request
from router.systemone.serving import SystemOneServer

_CHECKED_S = 2.0
_CHECKED_MOST = 256


class Service:
    """Everything behind the paths. An ASGI application; belongs to one event loop.

    Args:
        config: Addresses and limits.
        make_router: Makes the router of a roster.
        source: The roster of requests that name none.
        log: Notes every decision; None notes nothing.
        tracing: Reports every decision as a span; None reports nothing.
        metrics: Counts.
        system_one: Answers System One requests; None leaves those paths out.
        warm: Folders whose roster is made ready before anybody asks for it.
    """

    def __init__(
        self,
        config: ServiceConfig,
        make_router: Callable[[Roster], Router],
        source: Source,
        log: DecisionLog | None = None,
        tracing: Tracing | None = None,
        metrics: Metrics | None = None,
        system_one: SystemOneServer | None = None,
        warm: tuple[Layer, ...] | None = None,
    ) -> None:
        self.config = config
        self.metrics = metrics or Metrics()
        self.activity = Activity()
        self.shelf = Shelf(make_router, config.max_rosters, self.metrics.swap)
        self._source = source
        self._warm = warm
        self._log = log
        self._tracing = tracing
        self._batcher = Batcher(
            config.workers, config.max_batch, config.max_inflight, self.metrics.batch
        )
        self._checked: dict[tuple[bool, tuple[Layer, ...]], tuple[float, Source]] = {}
        self._started = time.time()
        routes = [
            Route("/v1/suggest", self._suggest, methods=["POST"]),
            hook_route(self.decide, config),
            Route("/healthz", self._health, methods=["GET"]),
            Route("/metrics", self._metrics, methods=["GET"]),
            Route("/openapi.json", self._openapi, methods=["GET"]),
        ]
        if system_one is not None:
            routes += system_one_routes(system_one, config)
        app = Starlette(
            routes=routes,
            exception_handlers={404: _unknown_path, 405: _wrong_method, Refusal: _refused},
        )
        self._app = Guard(app, config, self.metrics, self.activity)
        self._tasks: list[asyncio.Task[None]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or live through the server's start and end."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        else:
            await self._app(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        if self.config.watch_s:
            self._tasks.append(asyncio.create_task(self.shelf.watch(self.config.watch_s)))
        if self._warm is not None:
            self._tasks.append(asyncio.create_task(self._make_ready(self._warm)))
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for task in self._tasks:
            task.cancel()
        await asyncio.to_thread(self._batcher.close)
        self.shelf.close()
        if self._log is not None:
            await asyncio.to_thread(self._log.close)
        await send({"type": "lifespan.shutdown.complete"})

    async def _make_ready(self, layers: tuple[Layer, ...]) -> None:
        # Whoever asks for the roster is told what is wrong with it.
        with contextlib.suppress(Refusal):
            await self.shelf.router(await self._source_of(layers, owner=True))

    async def decide(self, asked: SuggestRequest, request: Request, path: str) -> dict[str, Any]:
        """Decide for one turn, note it, and give the answer's record.

        Args:
            asked: The turn and its roster.
            request: The HTTP request it came with.
            path: The path, for the span.

        Raises:
            Refusal: If the roster cannot be used, too much is in work, or time ran out.
        """
        began = time.time()
        try:
            async with asyncio.timeout(self.config.answer_s):
                source = await self._source_of(asked.layers(), on_socket(request.scope))
                router = await self._router(source, asked.roster_wait_s)
                suggestion, queue_ms = await self._batcher.suggest(router, asked.turn())
        except TimeoutError:
            raise Refusal(
                503,
                f"no answer within {self.config.answer_s:g} seconds: the roster is being indexed, "
                "or the machine is busy; ask again",
                headers={"Retry-After": "5"},
            ) from None
        self.metrics.suggestion(suggestion, queue_ms)
        if self._log is not None:
            self._log.write(suggestion, asked.request, asked.session, queue_ms)
        if self._tracing is not None:
            self._tracing.record(path, request.headers, began, suggestion, queue_ms)
        return answer_record(suggestion, queue_ms, asked.full)

    async def _router(self, source: Source, wait_s: float | None) -> Router:
        try:
            async with asyncio.timeout(wait_s):
                return await self.shelf.router(source)
        except TimeoutError:
            raise Refusal(
                503, "the roster is being indexed; ask again", headers={"Retry-After": "5"}
            ) from None

    async def _source_of(self, layers: tuple[Layer, ...] | None, owner: bool) -> Source:
        if layers is None:
            return self._source
        key = (owner, layers)
        known = self._checked.get(key)
        if known is not None and monotonic() - known[0] < _CHECKED_S:
            return known[1]
        roots: tuple[Path, ...] | None = None if owner else self.config.allowed_roots
        source = await asyncio.to_thread(checked_source, layers, roots)
        if len(self._checked) >= _CHECKED_MOST:
            self._checked.clear()
        self._checked[key] = (monotonic(), source)
        return source

    async def _suggest(self, request: Request) -> Response:
        asked = parse_request(parse_object(await read_body(request, self.config)))
        return JSONResponse(await self.decide(asked, request, "/v1/suggest"))

    async def _health(self, request: Request) -> Response:
        rosters = self.shelf.health()
        stale = any(entry["problem"] for entry in rosters)
        return JSONResponse(
            {
                "status": "degraded" if stale else "ok",
                "pid": os.getpid(),
                "uptime_s": round(time.time() - self._started, 1),
                "idle_s": round(self.activity.idle_s, 1),
                "inflight": self._batcher.inflight,
                "rosters": rosters,
            }
        )

    async def _metrics(self, request: Request) -> Response:
        text = self.metrics.text(self._batcher.inflight, len(self.shelf))
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _openapi(self, request: Request) -> Response:
        return JSONResponse(openapi_document())


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return error.response()


async def _unknown_path(request: Request, error: Exception) -> Response:
    return Refusal(404, "no such path; see /openapi.json").response()


async def _wrong_method(request: Request, error: Exception) -> Response:
    allowed = dict(getattr(error, "headers", None) or {})
    return Refusal(
        405, "no such method on this path; see /openapi.json", headers=allowed
    ).response()
