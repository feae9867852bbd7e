"""Versions of one skill: what a large registry holds beside a skill, and what serves as well."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import lru_cache

from eval.bench import Answer
from roster import Roster
from router.local.lexical import words

_SHARED = 0.5


def hits_of_versions(roster: Roster, answers: Sequence[Answer]) -> dict[str, float]:
    """Hits of covered turns when a version of the right skill counts as right.

    Two skills are versions of one when half of the three-word sequences of the shorter body are in
    the other: forks, renamed copies and editions of a skill are, skills that share a name are not.

    Args:
        roster: The roster that was asked.
        answers: Labelled turns and what was answered.

    Returns:
        ``version_at_1`` and ``version_at_10`` of the wide rank; and ``candidate``: how often the
        right skill itself is among all that were ranked. 0..1 each; {} without a covered turn.
    """
    covered = [answer for answer in answers if answer.turn.gold is not None]
    if not covered:
        return {}
    sequences = lru_cache(4_096)(lambda name: _sequences(roster[name].body))

    def best(answer: Answer, count: int) -> bool:
        gold = str(answer.turn.gold)
        names = answer.suggestion.ranking.top(count)
        return any(
            name == gold or _shares(sequences(gold), sequences(name), _SHARED) for name in names
        )

    return {
        "version_at_1": sum(best(answer, 1) for answer in covered) / len(covered),
        "version_at_10": sum(best(answer, 10) for answer in covered) / len(covered),
        "candidate": sum(answer.rank is not None for answer in covered) / len(covered),
    }


def _sequences(body: str) -> frozenset[int]:
    found = [word.encode("utf-8", "replace") for word in words(body)]
    return frozenset(zlib.crc32(b" ".join(found[i : i + 3])) for i in range(len(found) - 2))


def _shares(first: frozenset[int], second: frozenset[int], least: float) -> bool:
    fewest = min(len(first), len(second))
    return fewest > 0 and len(first & second) >= least * fewest
