"""The middleware that `MessagesRouter.wrap` gives to a client of the Anthropic SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anthropic import APIResponse, AsyncAPIResponse

from router.middleware.anthropic_messages import MessagesRouter, is_messages_path

if TYPE_CHECKING:
    from anthropic._middleware import AsyncCallNext, CallNext, MiddlewareInput
    from anthropic._request import APIRequest


def client_middleware(router: MessagesRouter, is_async: bool) -> MiddlewareInput:
    """The middleware for a client.

    The SDK runs it once for each attempt; the planner's memory gives every attempt the same block.

    Args:
        router: Puts the suggestion into a request.
        is_async: Whether it is for an `AsyncAnthropic`.
    """

    def handle(request: APIRequest, call_next: CallNext) -> APIResponse[Any]:
        body = _conversation(request)
        return call_next(request if body is None else request.copy(body=router.prepare(body)))

    async def ahandle(request: APIRequest, call_next: AsyncCallNext) -> AsyncAPIResponse[Any]:
        body = _conversation(request)
        if body is not None:
            request = request.copy(body=await router.aprepare(body))
        return await call_next(request)

    return ahandle if is_async else handle


def _conversation(request: APIRequest) -> Mapping[str, Any] | None:
    body = request.json
    if request.method.lower() == "post" and is_messages_path(request.url):
        return body if isinstance(body, Mapping) else None
    return None
