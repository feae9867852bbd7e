"""What every request passes first: who asks, how, and for how long."""

from __future__ import annotations

import asyncio
import hmac
import logging
from time import monotonic, perf_counter

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from router.service.config import ServiceConfig
from router.service.metrics import Metrics
from router.service.problems import Refusal

_log = logging.getLogger(__name__)

PATHS = (
    "/v1/suggest",
    "/v1/hook",
    "/v1/systemone",
    "/v1/models",
    "/healthz",
    "/metrics",
    "/openapi.json",
)
"""All paths; others are counted together, so that a scan cannot grow the metrics."""

_WORK = ("/v1/suggest", "/v1/hook", "/v1/systemone")


class Activity:
    """When the service was last of use, for idle exit. Being watched over is no use."""

    def __init__(self) -> None:
        self._running = 0
        self._last = monotonic()

    def begin(self) -> None:
        """A request has come."""
        self._running += 1

    def end(self) -> None:
        """It was answered."""
        self._running -= 1
        self._last = monotonic()

    @property
    def idle_s(self) -> float:
        """Seconds since the last answer; 0 while a request is in work."""
        return 0.0 if self._running else monotonic() - self._last


def on_socket(scope: Scope) -> bool:
    """Whether a request came through the Unix socket, which only the owner can open."""
    server = scope.get("server")
    return server is None or server[1] is None


class Guard:
    """ASGI middleware: identity, time limit, metrics, and errors as RFC 9457 has them.

    Args:
        app: The application.
        config: The limits.
        metrics: Counts every request.
        activity: Told about every request that wants a suggestion.
    """

    def __init__(
        self, app: ASGIApp, config: ServiceConfig, metrics: Metrics, activity: Activity
    ) -> None:
        self._app = app
        self._config = config
        self._metrics = metrics
        self._activity = activity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        started = perf_counter()
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        if path in _WORK:
            self._activity.begin()
        try:
            try:
                # The rest is for a client that does not read its answer.
                async with asyncio.timeout(self._config.body_s + 2 * self._config.answer_s):
                    self._admit(scope)
                    await self._app(scope, receive, watched)
            except Refusal as refusal:
                await refusal.response()(scope, receive, watched)
            except asyncio.CancelledError:
                # The time to finish what is in work is over: the service leaves.
                if not status:
                    leaving = Refusal(503, "the service is leaving; ask again in a moment")
                    await leaving.response()(scope, receive, watched)
                raise
            except Exception:
                if status:
                    raise  # half an answer is out: the connection has to go
                _log.exception("%s failed", path if path in PATHS else "a request")
                answer = Refusal(500, "the service failed; its log says why").response()
                await answer(scope, receive, watched)
        finally:
            if path in _WORK:
                self._activity.end()
            self._metrics.request(
                path if path in PATHS else "other", status, perf_counter() - started
            )

    def _admit(self, scope: Scope) -> None:
        if on_socket(scope):
            return
        headers = Headers(scope=scope)
        if headers.get("origin") is not None:
            raise Refusal(403, "web pages may not ask this service")
        # A web page can give a name of its own the address of this machine; its Host tells.
        if not self._is_known_host(headers.get("host", "")):
            raise Refusal(
                403, "the header Host names another machine; start with --allow-host NAME"
            )
        token = self._config.token
        if token is None:
            return
        given = headers.get("authorization", "")
        expected = f"Bearer {token.get_secret_value()}"
        if not hmac.compare_digest(given.encode("utf-8"), expected.encode("utf-8")):
            raise Refusal(
                401,
                "send the header Authorization: Bearer TOKEN",
                headers={"WWW-Authenticate": "Bearer"},
            )

    def _is_known_host(self, host: str) -> bool:
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        known = ("localhost", "127.0.0.1", "[::1]", self._config.host, *self._config.hosts)
        # With a token, a page that points its name here still lacks the token.
        return name.lower() in known or self._config.token is not None


async def read_body(request: Request, config: ServiceConfig) -> bytes:
    """The body of a request.

    Raises:
        Refusal: If it is no JSON by its header, too large, or comes too slowly.
    """
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(415, "send JSON with the header Content-Type: application/json")
    too_large = Refusal(
        413,
        f"the body is larger than {config.max_body} bytes; send less of the conversation",
        headers={"Connection": "close"},
    )
    length = request.headers.get("content-length", "0")
    # h11 has checked that it is a number; int() itself gives up on thousands of digits.
    if len(length) > 12 or int(length) > config.max_body:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(config.body_s):
            async for chunk in request.stream():
                body += chunk
                if len(body) > config.max_body:
                    raise too_large
    except TimeoutError:
        raise Refusal(
            408,
            f"the body did not arrive within {config.body_s:g} seconds",
            headers={"Connection": "close"},
        ) from None
    return bytes(body)
