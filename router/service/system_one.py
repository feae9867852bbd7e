"""System One inside the service: a program written for that API asks the local judge."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from router.service.config import ServiceConfig
from router.service.guard import read_body
from router.systemone.serving import SystemOneServer


def system_one_routes(server: SystemOneServer, config: ServiceConfig) -> list[Route]:
    """The two paths of the API.

    Args:
        server: Answers the requests.
        config: The limits; as many requests are worked on at once as there are routing threads.
    """
    at_once = asyncio.Semaphore(config.workers)

    async def system_one(request: Request) -> Response:
        body = await read_body(request, config)
        headers = request.headers
        async with at_once:
            status, answer = await asyncio.to_thread(
                server.answer, body, headers.get("content-type"), headers.get("content-encoding")
            )
        return Response(answer, status, media_type="application/json")

    async def models(request: Request) -> Response:
        status, answer = server.models()
        return Response(answer, status, media_type="application/json")

    return [
        Route("/v1/systemone", system_one, methods=["POST"]),
        Route("/v1/models", models, methods=["GET"]),
    ]
