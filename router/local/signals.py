"""The raw signals: how near each skill is to a request, seen in several ways."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from router.local.encoder import QUERY_TOKENS, Encoder
from router.local.index import SkillIndex
from router.local.lexical import Terms, char_terms, word_terms
from router.local.token_product import digits, products
from router.turn import Turn

NAMES = ("document", "summary", "passage", "late", "word", "char", "front", "cover")
"""The signals, in the order of the columns."""

CONTEXT_WEIGHT = 0.35
"""How much the recent context counts beside the request, which counts 1."""


@dataclass(frozen=True)
class Signals:
    """What is known of a turn before anything learned is applied.

    Attributes:
        matrix: Signals of every skill, float32, shape (n, 8), columns as in `NAMES`.
        request: Pooled vector of the request, unit length, shape (d,).
        mixed: The same with the recent context mixed in; equal to `request` without context.
        tokens: Token vectors of the request, shape (t, k).
        importance: Weight of each of its tokens, shape (t,), sum 1.
        words: Words of the request, hashed and counted.
        spans: Where each of its tokens begins and ends in it, shape (t, 2); see `Encoded.spans`.
        moments: Mean and deviation of each column over the roster, when the rows of `matrix` are
            the best candidates of a large one; None when they are all of it.
    """

    matrix: NDArray[np.float32]
    request: NDArray[np.float32]
    mixed: NDArray[np.float32]
    tokens: NDArray[np.float32]
    importance: NDArray[np.float32]
    words: Terms
    spans: NDArray[np.int64]
    moments: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None


def compute_signals(turn: Turn, index: SkillIndex, encoder: Encoder) -> Signals:
    """Score every skill of an index for a turn.

    Args:
        turn: The turn; its request is not blank.
        index: The roster's index.
        encoder: The encoder the index was made with.

    Returns:
        The signals. Late interaction (`late`) is the mean, over the request's tokens weighted by
        importance, of the best cosine with a token of the skill (Khattab and Zaharia 2020).
    """
    request, context = turn.request_text, turn.context_text
    encoded = encoder.encode([request, context] if context else [request], QUERY_TOKENS)
    pooled, tokens, importance = encoded.pooled[0], encoded.tokens[0], encoded.importance[0]
    words = word_terms(request)
    matrix = _matrix(index, words, char_terms(request), pooled, tokens, importance)
    if context:
        around = _matrix(
            index,
            word_terms(context),
            char_terms(context),
            encoded.pooled[1],
            encoded.tokens[1],
            encoded.importance[1],
        )
        matrix = ((matrix + CONTEXT_WEIGHT * around) / (1.0 + CONTEXT_WEIGHT)).astype(np.float32)
    mixed, spans = mixed_vector(encoded.pooled), encoded.spans_of(0)
    return Signals(matrix, pooled, mixed, tokens, importance, words, spans)


def mixed_vector(pooled: NDArray[np.float32]) -> NDArray[np.float32]:
    """The request's vector with the recent context mixed in, unit length.

    Args:
        pooled: The request's vector, and the context's if there is one; shape (1 or 2, d).
    """
    mixed: NDArray[np.float32] = pooled[0]
    if len(pooled) > 1:
        mixed = mixed + np.float32(CONTEXT_WEIGHT) * pooled[1]
        mixed /= np.linalg.norm(mixed)
    return mixed


def _matrix(
    index: SkillIndex,
    word: Terms,
    char: Terms,
    pooled: NDArray[np.float32],
    tokens: NDArray[np.float32],
    importance: NDArray[np.float32],
) -> NDArray[np.float32]:
    if not len(index):
        return np.zeros((0, len(NAMES)), dtype=np.float32)
    columns = [
        index.documents @ pooled,
        index.summaries @ pooled,
        np.maximum.reduceat(index.passages @ pooled, index.passage_starts[:-1]),
        late_interaction(index, tokens, importance),
        index.word.scores(word),
        index.char.scores(char),
        index.front.scores(word),
        index.word.coverage(word),
    ]
    return np.stack(columns, axis=1).astype(np.float32)


def late_interaction(
    index: SkillIndex, tokens: NDArray[np.float32], importance: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Importance-weighted mean of each request token's best match in each skill, shape (n,)."""
    starts = index.token_starts
    query = digits(tokens)
    weights = importance * query.units
    scores = np.zeros(len(index), dtype=np.float32)
    for first, last, block in index.token_blocks():
        found = products(query, block)
        best = np.maximum.reduceat(found, starts[first:last] - starts[first], axis=1)
        scores[first:last] = weights @ best
    return scores
