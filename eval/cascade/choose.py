"""Choosing the two thresholds of a band: the most mistakes for the turns they escalate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eval.bench import Answer
from eval.cascade.summary import is_right
from router.cascade.doubt import COLUMNS, evidence, speaks

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Examples(NamedTuple):
    """Local decisions as the learning sees them, m of them.

    Attributes:
        columns: Evidence, columns as in `COLUMNS`, shape (m, f); zeros where there is none, NaN for
            what the judge does not tell.
        known: Whether there is evidence, shape (m,).
        speaks: Whether the decision found a skill, shape (m,).
        wrong: Whether it is a mistake, shape (m,).
        covered: Whether a skill fits, shape (m,).
        group: Roster of each turn, shape (m,).
    """

    columns: Floats
    known: Flags
    speaks: Flags
    wrong: Flags
    covered: Flags
    group: NDArray[np.str_]

    def where(self, rows: Flags) -> Examples:
        """The examples of some rows."""
        return Examples(
            self.columns[rows],
            self.known[rows],
            self.speaks[rows],
            self.wrong[rows],
            self.covered[rows],
            self.group[rows],
        )


class Chosen(NamedTuple):
    """Two thresholds, and what they do on the turns they were chosen on.

    Attributes:
        speaks: Threshold for decisions that found a skill.
        silent: Threshold for the others.
        share: Share of turns that are uncertain, the mean over rosters.
        removed: Share of mistakes among them, the mean over rosters.
    """

    speaks: float
    silent: float
    share: float
    removed: float


def examples(answers: Mapping[str, Sequence[Answer]]) -> Examples:
    """Evidence and mistakes of the local judge's answers, by roster.

    A suggestion whose gate is closed should carry its reread all the same; see
    `Router.read_anyway`.
    """
    flat = [(name, answer) for name, group in answers.items() for answer in group]
    rows = [evidence(answer.suggestion) for _, answer in flat]
    nothing = (0.0,) * len(COLUMNS)
    return Examples(
        np.array([nothing if row is None else row for row in rows]).reshape(-1, len(COLUMNS)),
        np.array([row is not None for row in rows], dtype=np.bool_),
        np.array([speaks(answer.suggestion) for _, answer in flat], dtype=np.bool_),
        np.array(
            [not is_right(answer.suggestion.name, answer.turn.gold) for _, answer in flat],
            dtype=np.bool_,
        ),
        np.array([answer.turn.covered for _, answer in flat], dtype=np.bool_),
        np.array([name for name, _ in flat]),
    )


def choose_thresholds(
    data: Examples,
    doubt: Floats,
    most_escalated: float = 0.11,
    covered_weight: float = 2.0,
    steps: int = 100,
) -> Chosen:
    """The thresholds that catch most mistakes among those that escalate few enough turns.

    Every pair out of `steps` quantiles of either kind's doubts is tried. A roster counts as much
    as any other, however many turns it has.

    Args:
        data: The decisions.
        doubt: Probability of a mistake of each, from a model that never saw its roster, shape (m,).
        most_escalated: Bound on the mean share of turns that are uncertain, 0..1. Leave room below
            the share that must hold on other rosters: the judge is surer of those it learned on.
        covered_weight: How much a mistake on a covered turn counts beside another. On rosters
            unlike those it learned on, a judge misses more of what is covered, and loads no more
            of what is needless.
        steps: Quantiles that are tried.
    """
    edges = {
        kind: _edges(doubt[data.known & (data.speaks == kind)], steps) for kind in (True, False)
    }
    shape = (len(edges[True]), len(edges[False]))
    share, caught, removed = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    groups = np.unique(data.group)
    weight = np.where(data.covered, covered_weight, 1.0)
    for name in groups:
        here = data.group == name

        def counted(of: Floats, here: Flags = here) -> Floats:
            """Sum of `of` over the roster's uncertain turns, for every pair of thresholds."""
            sums = []
            for kind in (True, False):
                rows = here & data.known & (data.speaks == kind)
                above = doubt[rows][:, None] > edges[kind][None, :]
                sums.append((above * of[rows][:, None]).sum(axis=0))
            both: Floats = sums[0][:, None] + sums[1][None, :]
            return both / max(float(of[here].sum()), 1e-9)

        share += counted(np.ones(len(doubt))) / len(groups)
        caught += counted(data.wrong.astype(np.float64) * weight) / len(groups)
        removed += counted(data.wrong.astype(np.float64)) / len(groups)
    allowed = share <= most_escalated + 1e-12
    best = np.where(allowed, caught - 1e-9 * share, -np.inf)
    at = np.unravel_index(int(best.argmax()), shape)
    return Chosen(
        float(edges[True][at[0]]),
        float(edges[False][at[1]]),
        float(share[at]),
        float(removed[at]),
    )


def _edges(doubts: Floats, steps: int) -> Floats:
    """Thresholds to try, as they are stored; above 1 there is no doubt, so it escalates nothing."""
    quantiles = np.quantile(doubts, np.linspace(0.0, 1.0, steps)) if len(doubts) else np.zeros(0)
    edges: Floats = np.unique(np.concatenate([np.round(quantiles, 4), [0.0, 1.0]]))
    return edges
