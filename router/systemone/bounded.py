"""HTTP clients that stop reading a reply that is too long."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import httpx2

from router.proposals.errors import MalformedReply


class BoundedStream(httpx2.SyncByteStream):
    """A body that ends with `MalformedReply` after `most` bytes."""

    def __init__(self, stream: httpx2.SyncByteStream, most: int) -> None:
        self._stream = stream
        self._most = most

    def __iter__(self) -> Iterator[bytes]:
        """The chunks of the body."""
        size = 0
        for chunk in self._stream:
            size += len(chunk)
            _refuse_long(size, self._most)
            yield chunk

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()


class AsyncBoundedStream(httpx2.AsyncByteStream):
    """`BoundedStream` for an asynchronous client."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The chunks of the body."""
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            _refuse_long(size, self._most)
            yield chunk

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()


def bounded_client(timeout_s: float, most: int) -> httpx2.Client:
    """A client whose replies are at most `most` bytes, compressed or not."""

    def bound(response: httpx2.Response) -> None:
        _refuse_compressed(response)
        if isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = BoundedStream(response.stream, most)

    return httpx2.Client(
        timeout=timeout_s, headers=_PLAIN, event_hooks={"response": [bound]}, limits=_LIMITS
    )


def async_bounded_client(timeout_s: float, most: int) -> httpx2.AsyncClient:
    """`bounded_client` for asyncio."""

    async def bound(response: httpx2.Response) -> None:
        _refuse_compressed(response)
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = AsyncBoundedStream(response.stream, most)

    return httpx2.AsyncClient(
        timeout=timeout_s, headers=_PLAIN, event_hooks={"response": [bound]}, limits=_LIMITS
    )


# A few compressed kilobytes can unfold to gigabytes; replies are short, so they come as they are.
_PLAIN = {"Accept-Encoding": "identity"}
_LIMITS = httpx2.Limits(max_connections=100, max_keepalive_connections=100, keepalive_expiry=30.0)


def _refuse_compressed(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise MalformedReply("the reply is compressed though that was not asked for")


def _refuse_long(size: int, most: int) -> None:
    if size > most:
        raise MalformedReply(f"the reply is longer than {most:,} bytes")
