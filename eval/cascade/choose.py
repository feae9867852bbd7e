"""Choosing the uncertain band: the most mistakes inside it for the turns it escalates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eval.bench import Answer
from eval.cascade.summary import is_right
from router.cascade import Band, local_score


class Scored(NamedTuple):
    """Local answers as the choice sees them.

    Attributes:
        score: Local score of each turn, shape (m,).
        wrong: Whether the local decision is a mistake, shape (m,).
        group: Roster of each turn, shape (m,).
    """

    score: NDArray[np.float64]
    wrong: NDArray[np.bool_]
    group: NDArray[np.str_]


class Chosen(NamedTuple):
    """A band and what it does on the turns it was chosen on.

    Attributes:
        band: The band.
        share: Share of turns inside it, the mean over rosters.
        removed: Share of mistakes inside it, the mean over rosters.
    """

    band: Band
    share: float
    removed: float


def scored(answers: Mapping[str, Sequence[Answer]]) -> Scored:
    """Scores and mistakes of the local judge's answers, by roster."""
    flat = [(name, answer) for name, group in answers.items() for answer in group]
    return Scored(
        np.array([local_score(answer.suggestion) for _, answer in flat]),
        np.array([not is_right(answer.suggestion.name, answer.turn.gold) for _, answer in flat]),
        np.array([name for name, _ in flat]),
    )


def choose_band(data: Scored, most_escalated: float = 0.18, steps: int = 200) -> Chosen:
    """The band that holds most mistakes among those that escalate few enough turns.

    Every pair of edges out of `steps` quantiles of the scores is tried. A roster counts as much
    as any other, however many turns it has.

    Args:
        data: Local answers, on rosters the judge has not learned on where possible.
        most_escalated: Bound on the mean share of turns inside the band, 0..1. Leave some room
            below the share that must hold on other rosters.
        steps: Quantiles that are tried as edges.

    Returns:
        The band, the narrowest of equally good ones.
    """
    edges = np.unique(np.quantile(data.score, np.linspace(0.0, 1.0, steps)))
    edges = np.concatenate([edges, [np.nextafter(edges[-1], 2.0)]])
    turns = np.zeros(len(edges))
    mistakes = np.zeros(len(edges))
    # Weighted counts below each edge; a band's content is the difference of two of them.
    for name in np.unique(data.group):
        here = data.group == name
        below = data.score[here][:, None] < edges[None, :]
        turns += below.mean(axis=0)
        wrong = data.wrong[here]
        mistakes += (below & wrong[:, None]).sum(axis=0) / max(int(wrong.sum()), 1)
    groups = len(np.unique(data.group))
    share = (turns[None, :] - turns[:, None]) / groups
    removed = (mistakes[None, :] - mistakes[:, None]) / groups
    width = edges[None, :] - edges[:, None]
    allowed = (width >= 0) & (share <= most_escalated)
    worth = np.where(allowed, removed - 1e-6 * width, -np.inf)
    low, high = np.unravel_index(int(worth.argmax()), worth.shape)
    band = Band(low=round(float(edges[low]), 6), high=round(float(min(edges[high], 1.0)), 6))
    return Chosen(band, float(share[low, high]), float(removed[low, high]))
