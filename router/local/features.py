"""From raw signals to what the learned parts read.

Every number is relative to the roster (z-scores, gaps) or has a meaning of its own (cosines,
shares), so that what is learned on some rosters holds on others. None is the request's length.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from roster import Skill
from router.local.excerpt import DEFAULT_EXCERPT, Reader, excerpt_features
from router.local.index import SkillIndex
from router.local.signals import NAMES, Signals

Matrix = NDArray[np.float32]

WIDE_NAMES = tuple(f"{kind}:{name}" for kind in ("z", "raw", "gap") for name in NAMES)

LATE_NAMES = ("late:weakest", "late:unmatched", "late:elsewhere", "late:spread")
EXCERPT_NAMES = ("excerpt:cover", "excerpt:alone")
QUERY_NAMES = ("gate:acts", "gate:procedure", "gate:prose")
FUSED_NAMES = ("wide:logit", "wide:probability", "wide:gap_best", "wide:gap_second", "wide:rank")
FIT_NAMES = (
    *(
        f"{kind}:{name}"
        for kind in ("raw", "z", "gap_best", "gap_second", "gap_fifth")
        for name in NAMES
    ),
    *FUSED_NAMES,
    *LATE_NAMES,
    "twin",
    *EXCERPT_NAMES,
    *QUERY_NAMES,
)
"""The columns of `fit_features`."""

PAIR_NAMES = ("pair:logit", "pair:gap", "pair:fit", "pair:fit_gap")
"""What a pair scorer adds; see `pair_features`."""
REREAD_NAMES = (*FIT_NAMES, *PAIR_NAMES)
"""The columns of the fits that a pair scorer takes part in."""


def standardized(matrix: Matrix, moments: tuple[Matrix, Matrix] | None = None) -> Matrix:
    """Columns with mean 0 and deviation 1 over the roster; 0 for a roster of one skill.

    Args:
        matrix: One row a skill.
        moments: Mean and deviation of each column, when the rows are not the whole roster.
    """
    mean: Matrix = moments[0] if moments else matrix.mean(axis=0).astype(np.float32)
    spread: Matrix = moments[1] if moments else matrix.std(axis=0).astype(np.float32)
    centred: Matrix = matrix - mean
    scores: Matrix = np.divide(centred, np.maximum(spread, 1e-6), dtype=np.float32)
    scores[:, spread <= 1e-6] = 0.0
    return scores


def wide_features(matrix: Matrix, moments: tuple[Matrix, Matrix] | None = None) -> Matrix:
    """Features of every skill for the wide rank, shape (n, 24), columns as in `WIDE_NAMES`."""
    return np.concatenate(
        [standardized(matrix, moments), matrix, matrix - matrix.max(axis=0, initial=0.0)], axis=1
    ).astype(np.float32)


def fit_features(
    signals: Signals,
    logits: NDArray[np.float32],
    gate: NDArray[np.float32],
    candidates: NDArray[np.int64],
    skills: Sequence[Skill],
    index: SkillIndex,
    excerpt: int = DEFAULT_EXCERPT,
    reader: Reader | None = None,
) -> Matrix:
    """Features of the candidates for the fits.

    Args:
        signals: Signals of the whole roster.
        logits: Wide logits, shape (n,).
        gate: The three gate probabilities, shape (3,).
        candidates: Rows of the skills that see each other, the candidates first, shape (p,).
        skills: The candidates themselves, c <= p of them.
        index: The roster's index.
        excerpt: Characters of each body that are reread.
        reader: Keeps what was read of the skills from one turn to the next.

    Returns:
        Shape (c, f), columns as in `FIT_NAMES`.
    """
    matrix = signals.matrix
    rows = matrix[candidates]
    ordered = -np.sort(-matrix, axis=0)
    parts = [rows, standardized(matrix, signals.moments)[candidates]]
    parts += [rows - _best_other(rows, ordered)]
    parts += [rows - ordered[min(place, len(ordered) - 1)] for place in (1, 4)]
    parts += [_fused(logits, candidates), _late(signals, candidates, index)]
    parts += [_twin(candidates, index)[:, None]]
    count = len(skills)
    reread = excerpt_features(
        skills, candidates[:count], signals.words, signals.mixed, index, excerpt, reader or Reader()
    )
    query = np.broadcast_to(gate, (count, len(gate)))
    return np.concatenate([*(part[:count] for part in parts), reread, query], axis=1).astype(
        np.float32
    )


def pair_features(scores: NDArray[np.float32], fits: NDArray[np.float32]) -> Matrix:
    """What the pair scorer adds to the features of the candidates it has read.

    Args:
        scores: Its logits, shape (c,).
        fits: Logits of the fits without it, shape (c,).

    Returns:
        Shape (c, 4), columns as in `PAIR_NAMES`: its logit; by how much that exceeds the best of
        the others and silence (whose logit is 0); and the same of the fits.
    """
    columns = [column for one in (scores, fits) for column in (one, one - _rival(one))]
    return np.stack(columns, axis=1).astype(np.float32)


def _rival(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """The best of the others, 0 at least."""
    ordered = -np.sort(-np.append(scores, np.float32(0.0)))
    best: NDArray[np.float32] = np.where(scores >= ordered[0], ordered[1], ordered[0])
    return np.maximum(best, np.float32(0.0))


def _best_other(rows: Matrix, ordered: Matrix) -> Matrix:
    """For each candidate and signal, the best value among all other skills."""
    second = ordered[min(1, len(ordered) - 1)]
    best: Matrix = np.where(rows >= ordered[0], second, ordered[0])
    return best


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Probabilities of logits; an empty array for an empty one."""
    if not len(logits):
        return logits
    powers: NDArray[np.float32] = np.exp(logits - logits.max())
    powers /= powers.sum()
    return powers


def _fused(logits: NDArray[np.float32], candidates: NDArray[np.int64]) -> Matrix:
    ordered = -np.sort(-logits)
    chosen = logits[candidates]
    best_other = _best_other(chosen[:, None], ordered[:, None])[:, 0]
    second = ordered[min(1, len(ordered) - 1)]
    rank = (logits[None, :] > chosen[:, None]).sum(axis=1)
    return np.stack(
        [
            chosen,
            softmax(logits)[candidates],
            chosen - best_other,
            chosen - second,
            np.log1p(rank),
        ],
        axis=1,
    )


def _late(signals: Signals, candidates: NDArray[np.int64], index: SkillIndex) -> Matrix:
    """How the request's tokens are matched: what a candidate leaves unsaid, and others do not."""
    starts, weight = index.token_starts, signals.importance
    blocks = [index.tokens[starts[c] : starts[c + 1]] for c in candidates]
    begin = np.cumsum([0, *(len(block) for block in blocks[:-1])])
    found = signals.tokens @ np.concatenate(blocks).T.astype(np.float32, order="C")
    best = np.maximum.reduceat(found, begin, axis=1).T / np.float32(127.0)
    others = best.max(axis=0, keepdims=True)
    mean = best @ weight
    heavy = weight >= weight.mean()
    weakest = np.where(heavy[None, :], best, 1.0).min(axis=1)
    unmatched = ((best < 0.5) * weight).sum(axis=1)
    elsewhere = ((others - best) * weight).sum(axis=1)
    spread = np.sqrt(np.maximum((best**2) @ weight - mean**2, 0.0))
    return np.stack([weakest, unmatched, elsewhere, spread], axis=1)


def _twin(candidates: NDArray[np.int64], index: SkillIndex) -> NDArray[np.float32]:
    """Cosine of each candidate with its nearest fellow candidate; 0 when it is alone."""
    vectors = index.documents[candidates]
    similar = vectors @ vectors.T
    np.fill_diagonal(similar, -1.0)
    return np.maximum(similar.max(axis=1), 0.0) if len(candidates) > 1 else np.zeros(1, np.float32)
