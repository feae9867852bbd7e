"""The hook without a service: the router is loaded in the hook's own process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from roster.layers import layered
from router.block import suggestion_block
from router.pipeline import Router
from router.turn import Turn


def decide(request: Mapping[str, Any]) -> dict[str, Any]:
    """Decide for one turn.

    Args:
        request: As `router.hook.request.suggest_request` makes it.

    Returns:
        ``name``, ``reason`` and ``block`` of the decision.

    Raises:
        RosterError: If a folder of skills cannot be read.
        RouterError: If the router cannot be loaded.
    """
    folders: Sequence[str] = request["roster"]
    suggestion = Router.load(layered(folders)).suggest(
        Turn(
            request=request["request"],
            recent_context=tuple(request["recent_context"]),
            loaded=frozenset(request["loaded"]),
        )
    )
    return {
        "name": suggestion.name,
        "reason": suggestion.reason.value,
        "block": suggestion_block(suggestion),
    }
