"""Hooks of Claude Code that post to the service themselves."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from router.hook.places import layer_paths
from router.hook.reply import hook_reply
from router.hook.request import suggest_request
from router.service.config import ServiceConfig
from router.service.guard import on_socket, read_body
from router.service.problems import Refusal
from router.service.source import is_below
from router.service.strict_json import parse_object
from router.service.wire import SuggestRequest, parse_request

Decide = Callable[[SuggestRequest, Request, str], Awaitable[dict[str, Any]]]

PATH = "/v1/hook"

ROSTER_WAIT_S = 0.5
"""Seconds a turn waits for a roster that is not ready; it goes on being indexed."""


def hook_route(decide: Decide, config: ServiceConfig) -> Route:
    """The path for ``UserPromptSubmit``.

    Args:
        decide: Decides for one turn.
        config: The limits, and the folders that TCP clients may name.
    """

    async def hook(request: Request) -> Response:
        payload = parse_object(await read_body(request, config))
        roots = None if on_socket(request.scope) else config.allowed_roots
        # Folders and transcript are looked up on disk, which may be slow.
        asked = await asyncio.to_thread(_asked, payload, roots)
        if asked is None:
            return Response(status_code=204)
        asked["roster_wait_s"] = ROSTER_WAIT_S
        try:
            reply = hook_reply(await decide(parse_request(asked), request, PATH))
        except Refusal as refusal:
            if refusal.status != 503:
                raise
            reply = None  # not ready, or too slow: an error would only be shown to the user
        return Response(status_code=204) if reply is None else JSONResponse(reply)

    return Route(PATH, hook, methods=["POST"])


def _asked(payload: dict[str, Any], roots: Sequence[Path] | None) -> dict[str, Any] | None:
    """The turn a payload stands for; of folders and files, only those the client may name."""
    transcript = payload.get("transcript_path")
    if isinstance(transcript, str) and roots is not None and not _may_name(transcript, roots):
        payload = {**payload, "transcript_path": None}
    asked = suggest_request(payload)
    if asked is None or roots is None:
        return asked
    layers = zip(asked["roster"], layer_paths(asked["roster"]), strict=True)
    folders = [layer for layer, path in layers if _may_name(path, roots)]
    if not folders:
        raise Refusal(
            403,
            "the skills of this project lie outside the folders this service may read; start it "
            "with --allow-roster FOLDER",
        )
    return {**asked, "roster": folders}


def _may_name(path: str, roots: Sequence[Path]) -> bool:
    try:
        real = os.path.realpath(path)
        return any(is_below(real, os.path.realpath(root)) for root in roots)
    except (OSError, ValueError):
        return False
