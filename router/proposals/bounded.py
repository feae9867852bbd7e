"""HTTP clients that read no reply that is too long, and send nothing when nobody waits.

The SDKs bound the time between two pieces of a reply, not the reply; and they go on retrying
behind the back of a caller that has given up.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx2

from router.proposals.errors import MalformedReply, ProviderTimeout
from router.proposals.within import time_left

_Hooks = dict[str, list[Callable[..., Any]]]

# A few compressed kilobytes can unfold to gigabytes; replies are short, so they come as they are.
_PLAIN = {"Accept-Encoding": "identity"}
_LIMITS = httpx2.Limits(max_connections=100, max_keepalive_connections=100, keepalive_expiry=30.0)


class _Meter:
    """Counts a body's bytes and watches the time.

    Args:
        most: Most bytes.
        cut: Whether a longer body ends there; otherwise it is a fault.
    """

    def __init__(self, most: int, cut: bool) -> None:
        self._room = most
        self._most = most
        self._cut = cut

    def admit(self, chunk: bytes) -> bytes:
        """What may be read of a further piece.

        Raises:
            MalformedReply: If the body is too long.
            ProviderTimeout: If the time is over.
        """
        _refuse_late()
        if len(chunk) > self._room and not self._cut:
            raise MalformedReply(f"the reply is longer than {self._most:,} bytes")
        chunk = chunk[: self._room]
        self._room -= len(chunk)
        return chunk

    @property
    def full(self) -> bool:
        """Whether the rest of the body is left unread."""
        return self._cut and self._room <= 0


class BoundedStream(httpx2.SyncByteStream):
    """A body that ends, well or with an error, where its meter says."""

    def __init__(self, stream: httpx2.SyncByteStream, meter: _Meter) -> None:
        self._stream = stream
        self._meter = meter

    def __iter__(self) -> Iterator[bytes]:
        """The chunks of the body."""
        for chunk in self._stream:
            yield self._meter.admit(chunk)
            if self._meter.full:
                return

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()


class AsyncBoundedStream(httpx2.AsyncByteStream):
    """`BoundedStream` for an asynchronous client."""

    def __init__(self, stream: httpx2.AsyncByteStream, meter: _Meter) -> None:
        self._stream = stream
        self._meter = meter

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The chunks of the body."""
        async for chunk in self._stream:
            yield self._meter.admit(chunk)
            if self._meter.full:
                return

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()


def bounded_client(timeout_s: float, most: int) -> httpx2.Client:
    """A client for an SDK.

    Args:
        timeout_s: Seconds for one network operation.
        most: Most bytes of a reply. A longer one raises `MalformedReply` where it is read, unless
            it is an error: of those the beginning is enough. Inside a limit of `call_within` no
            request is sent and no reply read once the time is over. Redirects are not followed:
            they would carry the key elsewhere.
    """

    def before(request: httpx2.Request) -> None:
        _refuse_late()

    def bound(response: httpx2.Response) -> None:
        _refuse_compressed(response)
        if isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = BoundedStream(response.stream, _Meter(most, response.is_error))

    hooks: _Hooks = {"request": [before], "response": [bound]}
    return httpx2.Client(timeout=timeout_s, headers=_PLAIN, event_hooks=hooks, limits=_LIMITS)


def async_bounded_client(timeout_s: float, most: int) -> httpx2.AsyncClient:
    """`bounded_client` for asyncio."""

    async def before(request: httpx2.Request) -> None:
        _refuse_late()

    async def bound(response: httpx2.Response) -> None:
        _refuse_compressed(response)
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = AsyncBoundedStream(response.stream, _Meter(most, response.is_error))

    hooks: _Hooks = {"request": [before], "response": [bound]}
    return httpx2.AsyncClient(timeout=timeout_s, headers=_PLAIN, event_hooks=hooks, limits=_LIMITS)


def cause_of(error: BaseException) -> BaseException:
    """The `MalformedReply` or `ProviderTimeout` behind an SDK's error, else the error itself."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, MalformedReply | ProviderTimeout):
            return seen
        seen = seen.__cause__ or seen.__context__
    return error


def _refuse_late() -> None:
    left = time_left()
    if left is not None and left <= 0:
        raise ProviderTimeout


def _refuse_compressed(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise MalformedReply("the reply is compressed though that was not asked for")
