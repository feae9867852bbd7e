"""Choosing a point of a sweep, and measuring the choice on turns it was not made on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.data import LabelledTurn, RequestsError
from eval.tune.objective import Objective
from eval.tune.stages import StageOutputs, TuneError, subset
from eval.tune.sweep import Counts, Grid, sweep
from router.thresholds import Thresholds

Point = tuple[int, ...]


def best_point(counts: Counts, objective: Objective) -> Point:
    """The point of least loss.

    Among equal points the middle one of the widest plateau is taken: thresholds at its edge
    would owe their loss to single turns. When no point keeps the objective's bound, it is the
    one with the fewest needless suggestions.
    """
    losses = objective.losses(counts)
    if not np.isfinite(losses).any():
        losses = np.where(counts.needless <= counts.needless.min(), -counts.right, np.inf)
    tied = np.argwhere(losses <= losses.min() + 1e-12)
    layers, sizes = np.unique(tied[:, :2], axis=0, return_counts=True)
    plateau = tied[(tied[:, :2] == layers[sizes.argmax()]).all(axis=1)]
    middle = np.median(plateau, axis=0)
    nearest = plateau[np.abs(plateau - middle).sum(axis=1).argmin()]
    return tuple(int(i) for i in nearest)


def skill_groups(turns: Sequence[LabelledTurn]) -> list[str]:
    """The group of each turn: its skill, or the skill it is close to; else it stands alone."""
    return [
        f"skill:{turn.gold or turn.near}" if turn.gold or turn.near else f"turn:{row}"
        for row, turn in enumerate(turns)
    ]


def grouped_folds(turns: Sequence[LabelledTurn], count: int, seed: int) -> list[NDArray[np.int64]]:
    """Rows of the turns of each fold: no skill in two, covered turns spread evenly.

    Raises:
        TuneError: If there are fewer skills than folds.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    covered = np.array([turn.covered for turn in turns])
    groups = skill_groups(turns)
    skills = len({turn.gold for turn in turns if turn.covered})
    most = min(skills, int((~covered).sum()))
    if most < count:
        fewer = f", or give --folds {most}" if most >= 2 else ""
        raise TuneError(
            f"{skills} skills with requests and {int((~covered).sum())} uncovered requests cannot "
            f"fill {count} folds; label more requests{fewer}"
        )
    splitter = StratifiedGroupKFold(n_splits=count, shuffle=True, random_state=seed)
    parts = splitter.split(np.zeros(len(turns)), covered, groups)
    folds = [np.asarray(held, dtype=np.int64) for _, held in parts]
    if any(covered[fold].all() or not covered[fold].any() for fold in folds):
        raise TuneError("a fold has covered or uncovered requests only; give fewer --folds")
    return folds


def require_both_labels(turns: Sequence[LabelledTurn], path: str) -> None:
    """Refuse labelled turns with one label only: they cannot trade wrong for needless.

    Raises:
        RequestsError: Naming the file and what is missing.
    """
    covered = sum(turn.covered for turn in turns)
    if covered in (0, len(turns)):
        have, lack = ("a skill", "with gold null") if covered else ("null", "with a skill as gold")
        raise RequestsError(
            f"{path}:1-{len(turns)}: gold: is {have} in all {len(turns)} requests; add requests "
            f"{lack}, since both kinds of mistake are weighed against each other"
        )


@dataclass(frozen=True)
class Decisions:
    """What was decided for each of m turns.

    Attributes:
        right: Whether the right skill was suggested, shape (m,).
        spoke: Whether any was, shape (m,).
        covered: Whether one fits, shape (m,).
    """

    right: NDArray[np.bool_]
    spoke: NDArray[np.bool_]
    covered: NDArray[np.bool_]

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Right on a covered turn, silent on another; shape (m,)."""
        return np.where(self.covered, self.right, ~self.spoke)


def decide(outputs: StageOutputs, thresholds: Thresholds) -> Decisions:
    """Apply thresholds to stored stage outputs."""
    shortlist = min(thresholds.shortlist, outputs.deepest)
    best, hit = outputs.verdicts(shortlist, thresholds.excerpt)
    spoke = (outputs.need >= thresholds.gate) & (best >= thresholds.fit)
    return Decisions(hit & spoke, spoke, outputs.covered)


@dataclass(frozen=True)
class Nested:
    """The choice repeated without each fold, and applied to that fold.

    Attributes:
        decisions: Every turn decided by thresholds that were chosen without its skill.
        thresholds: What was chosen without each fold.
    """

    decisions: Decisions
    thresholds: tuple[Thresholds, ...]


def nested(
    outputs: StageOutputs,
    grid: Grid,
    counts: Counts,
    objective: Objective,
    folds: Sequence[NDArray[np.int64]],
) -> Nested:
    """Choose without each fold in turn and decide that fold's turns with the choice.

    Args:
        outputs: Stage outputs of all turns.
        grid: The points.
        counts: Outcomes of all turns at the points.
        objective: What is made small.
        folds: Rows of each fold; together all rows.
    """
    right, spoke = np.zeros((2, len(outputs.turns)), dtype=np.bool_)
    chosen = []
    for fold in folds:
        held = subset(outputs, fold)
        thresholds = grid.at(best_point(counts.without(sweep(held, grid)), objective))
        decisions = decide(held, thresholds)
        right[fold], spoke[fold] = decisions.right, decisions.spoke
        chosen.append(thresholds)
    return Nested(Decisions(right, spoke, outputs.covered), tuple(chosen))
