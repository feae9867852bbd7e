"""The hook without a service: the router is loaded in the hook's own process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roster.layers import layered
from router.block import suggestion_block
from router.hook.indexing import index_in_background, is_indexing, layers_of
from router.pipeline import Router
from router.turn import Turn


class _UnindexedError(Exception):
    """Most of the skills are still to be indexed: no turn can wait for that."""


def decide(request: Mapping[str, Any]) -> dict[str, Any]:
    """Decide for one turn.

    When there is much to be indexed first, nothing is decided; the index is made in the
    background, for the turns to come.

    Args:
        request: As `router.hook.request.suggest_request` makes it.

    Returns:
        ``name``, ``reason`` and ``block`` of the decision; {} when there is none.

    Raises:
        RosterError: If a folder of skills cannot be read.
        RouterError: If the router cannot be loaded.
        OSError: If the index cannot be kept.
    """
    folders = request["roster"]
    if is_indexing():
        return {}
    try:
        router = Router.load(layered(layers_of(folders)), progress=_at_most_one_group)
    except _UnindexedError:
        index_in_background(folders)
        return {}
    suggestion = router.suggest(
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


def _at_most_one_group(done: int, total: int) -> None:
    if done < total:
        raise _UnindexedError
