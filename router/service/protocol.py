"""Connections that cannot be used to wear the service out."""

from __future__ import annotations

import asyncio
import json

from uvicorn.protocols.http.h11_impl import H11Protocol

_FULL = json.dumps(
    {
        "title": "Too Many Requests",
        "status": 429,
        "detail": "too many connections are open; ask again in a moment",
    }
).encode()
_ANSWER_FULL = (
    b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/problem+json\r\n"
    b"Retry-After: 1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(_FULL), _FULL)
)


def guarded_protocol(head_s: float, max_connections: int) -> type[H11Protocol]:
    """uvicorn's h11 protocol with two more limits.

    Args:
        head_s: Seconds a client has for the head of a request; then the connection is closed.
        max_connections: Open connections; one more is answered with 429 and closed.

    Returns:
        A class to be given to `uvicorn.Config`.
    """

    class GuardedProtocol(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > max_connections:
                self.connections.discard(self)
                transport.write(_ANSWER_FULL)
                transport.close()
                return
            self._expect_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._in_request():
                self._head_is_here()
            elif self._deadline is None and not self.transport.is_closing():
                self._expect_head()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self._in_request():
                self._head_is_here()

        def connection_lost(self, exc: Exception | None) -> None:
            self._head_is_here()
            super().connection_lost(exc)

        def _in_request(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def _expect_head(self) -> None:
            self._deadline = self.loop.call_later(head_s, self._give_up)

        def _head_is_here(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def _give_up(self) -> None:
            self._deadline = None
            if not self._in_request():
                self.transport.abort()

    return GuardedProtocol
