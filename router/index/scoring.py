"""The signals of chosen skills of a large roster, and how they become one score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from router.local.heads import Linear
from router.local.index import SkillIndex
from router.local.signals import CONTEXT_WEIGHT, NAMES, late_interaction

Floats = NDArray[np.float32]

LEARNED_ON = 100
"""Skills of each of the rosters that the fusion was learned on."""

_LATE = NAMES.index("late")
_GUESSED_BY = [NAMES.index(name) for name in ("document", "summary", "passage", "cover")]


@dataclass(frozen=True)
class Text:
    """One text of a turn.

    Attributes:
        pooled: Its vector.
        tokens: Its token vectors.
        importance: Their weights.
        lexical: Word, char, front and cover signals of every row, shape (n, 4).
    """

    pooled: Floats
    tokens: Floats
    importance: Floats
    lexical: Floats


@dataclass(frozen=True)
class Prepared:
    """A turn, before any skill is scored in full.

    Attributes:
        vectors: One unit vector a text, shape (1 or 2, d).
        texts: The request, and the recent context if there is one.
        lexical: Word, char, front and cover signals of every row, texts blended, shape (n, 4).
        sampled: All signals of a fixed sample of skills, shape (s, 8).
        moments: Mean and deviation of every signal over the roster, each of shape (8,): those of
            words and n-grams over all rows (`lexical_moments`), the others over the sample.
        spans: Where the request's tokens begin and end in it, shape (t, 2).
    """

    vectors: Floats
    texts: Sequence[Text]
    lexical: Floats
    sampled: Floats
    moments: tuple[Floats, Floats]
    spans: NDArray[np.int64]


@dataclass(frozen=True)
class RowView:
    """Everything about some rows that does not depend on the turn.

    Attributes:
        rows: The rows, shape (c,).
        index: Vectors and tokens.
    """

    rows: NDArray[np.int64]
    index: SkillIndex


def signals_of(view: RowView, text: Text) -> Floats:
    """All signals of some rows for one text, shape (c, 8), columns as in `signals.NAMES`."""
    index, lexical = view.index, text.lexical[view.rows]
    if not len(index):
        return np.zeros((0, len(NAMES)), np.float32)
    columns = {
        "document": index.documents @ text.pooled,
        "summary": index.summaries @ text.pooled,
        "passage": np.maximum.reduceat(index.passages @ text.pooled, index.passage_starts[:-1]),
        "late": late_interaction(index, text.tokens, text.importance),
        "word": lexical[:, 0],
        "char": lexical[:, 1],
        "front": lexical[:, 2],
        "cover": lexical[:, 3],
    }
    return np.stack([columns[name] for name in NAMES], axis=1).astype(np.float32)


def blend(parts: Sequence[Floats]) -> Floats:
    """What the request and, if there is one, the context score, as one."""
    mixed = np.zeros_like(parts[0])
    for weight, part in zip(text_weights(len(parts)), parts, strict=True):
        mixed += np.float32(weight) * part
    return mixed


def lexical_moments(lexical: Floats) -> tuple[Floats, Floats]:
    """Mean and deviation of word, char, front and cover signals, as the fusion knows them.

    Of the skills of a small roster, the one that matches is enough to raise the deviation; among
    tens of thousands it raises nothing, and every rare word a skill shares with the request would
    count for dozens of deviations. The deviation is therefore that of `LEARNED_ON` skills of which
    one is the best match.

    Args:
        lexical: The signals of every row, shape (n, 4).

    Returns:
        Mean and deviation, each of shape (4,).
    """
    mean = lexical.mean(axis=0)
    variance = lexical.var(axis=0) + (lexical.max(axis=0) - mean) ** 2 / LEARNED_ON
    return mean, np.sqrt(variance).astype(np.float32)


def text_weights(texts: int) -> list[float]:
    """How much the request and the recent context count, sum 1."""
    given = [1.0, CONTEXT_WEIGHT][:texts]
    return [one / sum(given) for one in given]


def column_slopes(wide: Linear, spread: Floats) -> Floats:
    """How much a signal's rise lifts a skill's logit, shape (8,).

    Args:
        wide: The learned fusion; its columns are those of `router.local.features.WIDE_NAMES`.
        spread: Deviation of each signal over the roster.
    """
    weights = np.array(wide.weights, np.float32).reshape(3, len(NAMES))
    standard = np.where(spread > 1e-6, weights[0] / np.maximum(spread, 1e-6), 0.0)
    slopes: Floats = (standard + weights[1] + weights[2]).astype(np.float32)
    return slopes


def selection_slopes(slopes: Floats, seen: Prepared) -> Floats:
    """Slopes by which candidates are chosen: the late interaction, which is not known for every
    skill, is guessed from the vectors and the words covered.

    The guess is a ridge regression over the sample of skills (Hoerl and Kennard 1970).
    """
    given = seen.sampled[:, _GUESSED_BY]
    spread = np.maximum(given.std(axis=0), 1e-6)
    z = (given - given.mean(axis=0)) / spread
    late = seen.sampled[:, _LATE] - seen.sampled[:, _LATE].mean()
    weights = np.linalg.solve(z.T @ z + 0.05 * len(z) * np.eye(z.shape[1]), z.T @ late) / spread
    chosen = slopes.copy()
    chosen[_GUESSED_BY] += slopes[_LATE] * weights
    chosen[_LATE] = 0.0
    return chosen
