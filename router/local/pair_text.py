"""What a pair scorer reads: a request and a skill, as one sequence of tokens."""

from __future__ import annotations

from collections.abc import Sequence

from roster import Skill
from router.local.text import document

REQUEST_TOKENS = 48
"""Most tokens of the request, special ones included."""
PAIR_TOKENS = 144
"""Most tokens of request and skill together."""
BODY_CHARS = 500


def pair_text(skill: Skill) -> str:
    """The skill's side of a pair: name, description, start of the body."""
    return document(skill, BODY_CHARS)


def pair_ids(request: Sequence[int], skill: Sequence[int]) -> tuple[list[int], list[int]]:
    """Token ids and segment ids of a pair.

    Args:
        request: Ids of the request between its first and last special token.
        skill: Ids of the skill, likewise.

    Returns:
        First special token, request, separator, skill, separator; and 0 for what belongs to the
        request, 1 for the skill. Both sides are cut, never a special token.
    """
    front = (
        [*request[: REQUEST_TOKENS - 1], request[-1]]
        if (len(request) > REQUEST_TOKENS)
        else list(request)
    )
    room = PAIR_TOKENS - len(front)
    back = list(skill[1:])
    if len(back) > room:
        back = [*back[: room - 1], back[-1]]
    return front + back, [0] * len(front) + [1] * len(back)
