"""Runs a service until it is told to leave, or nobody needs it any more."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import Callable
from types import FrameType

import uvicorn

from router.service.app import Service
from router.service.protocol import guarded_protocol
from router.service.sockets import bind

_log = logging.getLogger(__name__)


class ServiceServer:
    """A service on its sockets.

    Args:
        service: The service.

    Raises:
        RouterError: If an address cannot be listened on.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        config = service.config
        self._sockets = bind(config)
        self._server = uvicorn.Server(
            uvicorn.Config(
                service,
                http=guarded_protocol(config.body_s, config.max_connections),
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=30,
                timeout_graceful_shutdown=max(1, round(config.drain_s)),
                h11_max_incomplete_event_size=32_768,
            )
        )

    @property
    def addresses(self) -> list[str]:
        """Where it listens: socket paths and ``http://HOST:PORT``."""
        found = []
        for listening in self._sockets:
            name = listening.getsockname()
            if isinstance(name, str):
                found.append(name)
            else:
                host = f"[{name[0]}]" if ":" in name[0] else name[0]
                found.append(f"http://{host}:{name[1]}")
        return found

    def stop(self) -> None:
        """Take no more requests, finish those in work, and return from `run`."""
        self._server.should_exit = True

    def run(self, on_ready: Callable[[], None] = lambda: None) -> None:
        """Serve until told to leave by SIGTERM, SIGINT or `stop`, or idle for long enough.

        Args:
            on_ready: Called once the service answers.
        """
        if threading.current_thread() is threading.main_thread():
            # uvicorn raises the signal again once it has drained; by then there is nothing to do.
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, _already_heeded)
        addresses = self.addresses
        try:
            asyncio.run(self._run(on_ready))
        finally:
            for listening in self._sockets:
                listening.close()
            socket = self._service.config.socket
            if socket is not None and str(socket) in addresses:
                socket.unlink(missing_ok=True)

    async def _run(self, on_ready: Callable[[], None]) -> None:
        watch = asyncio.create_task(self._leave_when_idle())
        ready = asyncio.create_task(self._tell(on_ready))
        try:
            await self._server.serve(sockets=self._sockets)
        finally:
            watch.cancel()
            ready.cancel()

    async def _tell(self, on_ready: Callable[[], None]) -> None:
        while not self._server.started:
            await asyncio.sleep(0.01)
        on_ready()

    async def _leave_when_idle(self) -> None:
        limit = self._service.config.idle_s
        while limit:
            await asyncio.sleep(min(1.0, limit / 4))
            if self._service.activity.idle_s >= limit:
                _log.info("nobody asked for %g seconds; leaving", limit)
                self.stop()
                return


def _already_heeded(number: int, frame: FrameType | None) -> None:
    """Stands in for the default action, which would end the process without cleaning up."""
