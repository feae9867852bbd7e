"""How well an encoder alone puts the right skill first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from eval.train.labelled import REQUEST_TOKENS
from eval.train.sources import Source
from router.local.encoder import DOCUMENT_TOKENS, Encoded
from router.local.text import document


class Encodes(Protocol):
    """What encodes texts: a shipped encoder, or one in training."""

    def encode(self, texts: Sequence[str], max_tokens: int) -> Encoded:
        """See `router.local.encoder.Encoder.encode`."""
        ...


def dense_scores(encoder: Encodes, sources: Sequence[Source]) -> dict[str, float]:
    """Hit@1 and Hit@3 over the covered turns of some rosters, without any lexical signal.

    Args:
        encoder: The encoder.
        sources: Rosters with labelled turns.

    Returns:
        For pooled vectors, late interaction, and the sum of both (standardized a turn): the share
        of turns whose right skill is first, and among the first three, 0..1. Empty when no turn
        is covered.
    """
    ranks: dict[str, list[NDArray[np.int64]]] = {"pooled": [], "late": [], "both": []}
    for source in sources:
        turns = [turn for turn in source.turns if turn.covered]
        if not turns:
            continue
        rows = {skill.name: row for row, skill in enumerate(source.roster)}
        gold = np.array([rows[turn.gold or ""] for turn in turns])
        skills = encoder.encode([document(skill) for skill in source.roster], DOCUMENT_TOKENS)
        requests = encoder.encode([turn.text for turn in turns], REQUEST_TOKENS)
        pooled = requests.pooled @ skills.pooled.T
        late = _late(requests, skills)
        both = _standard(pooled) + _standard(late)
        for name, scores in (("pooled", pooled), ("late", late), ("both", both)):
            right = scores[np.arange(len(gold)), gold]
            ranks[name].append((scores > right[:, None]).sum(axis=1))
    found: dict[str, float] = {}
    for name, parts in ranks.items():
        if parts:
            joined = np.concatenate(parts)
            found[f"{name}_hit_at_1"] = round(float((joined == 0).mean()), 4)
            found[f"{name}_hit_at_3"] = round(float((joined < 3).mean()), 4)
    return found


def _late(requests: Encoded, skills: Encoded) -> NDArray[np.float32]:
    tokens = np.concatenate(skills.tokens)
    starts = np.cumsum([0, *(len(one) for one in skills.tokens[:-1])])
    scores = np.zeros((len(requests.tokens), len(skills.tokens)), dtype=np.float32)
    for i, (own, weights) in enumerate(zip(requests.tokens, requests.importance, strict=True)):
        scores[i] = weights @ np.maximum.reduceat(own @ tokens.T, starts, axis=1)
    return scores


def _standard(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    deviation = scores.std(axis=1, keepdims=True) + 1e-9
    standardized: NDArray[np.float32] = (scores - scores.mean(axis=1, keepdims=True)) / deviation
    return standardized
