"""Every pair of thresholds at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.tune.stages import StageOutputs
from router.thresholds import Thresholds


@dataclass(frozen=True)
class Grid:
    """The thresholds that are tried.

    Attributes:
        gates: Gate thresholds, ascending, shape (g,).
        fits: Fit thresholds, ascending, shape (f,).
        shortlists: Sizes of the shortlist.
        excerpts: Excerpts in characters.
    """

    gates: NDArray[np.float64]
    fits: NDArray[np.float64]
    shortlists: tuple[int, ...]
    excerpts: tuple[int, ...]

    @classmethod
    def around(
        cls,
        current: Thresholds,
        outputs: StageOutputs,
        shortlists: Sequence[int],
        step: float = 0.01,
    ) -> Grid:
        """0 to 1 in steps for gate and fit, and the current thresholds among them.

        Args:
            current: The thresholds in use.
            outputs: What is swept; a shortlist longer than it holds is left out.
            shortlists: Sizes to try beside the current one.
            step: Distance of two thresholds, 0.001..0.5.
        """
        count = round(1.0 / step)
        line = np.round(np.linspace(0.0, 1.0, count + 1), 4)
        sizes = {size for size in shortlists if 1 <= size <= outputs.deepest}
        sizes.add(min(current.shortlist, outputs.deepest))
        return cls(
            gates=np.unique(np.append(line, current.gate)),
            fits=np.unique(np.append(line, current.fit)),
            shortlists=tuple(sorted(sizes)),
            excerpts=outputs.excerpts if outputs.excerpt_matters else (current.excerpt,),
        )

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Excerpts, shortlists, gates, fits."""
        return len(self.excerpts), len(self.shortlists), len(self.gates), len(self.fits)

    @property
    def pairs(self) -> int:
        """Pairs of gate and fit."""
        return len(self.gates) * len(self.fits)

    def at(self, point: tuple[int, ...]) -> Thresholds:
        """The thresholds of a point of the sweep."""
        excerpt, shortlist, gate, fit = point
        return Thresholds(
            gate=float(self.gates[gate]),
            fit=float(self.fits[fit]),
            shortlist=self.shortlists[shortlist],
            excerpt=self.excerpts[excerpt],
        )


@dataclass(frozen=True)
class Counts:
    """Outcomes at every point of a grid, each shape (e, s, g, f).

    Attributes:
        right: Covered turns with the right suggestion.
        wrong: Covered turns with another suggestion.
        silent: Covered turns without a suggestion.
        needless: Uncovered turns with a suggestion.
        covered: Number of covered turns.
        uncovered: Number of uncovered turns.
    """

    right: NDArray[np.float64]
    wrong: NDArray[np.float64]
    silent: NDArray[np.float64]
    needless: NDArray[np.float64]
    covered: int
    uncovered: int

    def without(self, other: Counts) -> Counts:
        """The counts over the turns that are not among the other's."""
        return Counts(
            self.right - other.right,
            self.wrong - other.wrong,
            self.silent - other.silent,
            self.needless - other.needless,
            self.covered - other.covered,
            self.uncovered - other.uncovered,
        )


def sweep(outputs: StageOutputs, grid: Grid) -> Counts:
    """Count outcomes at every point.

    A turn speaks at a pair of thresholds when its need reaches the one and its best fit the
    other: two 0/1 matrices, whose product counts the turns of each pair.

    Args:
        outputs: Stage outputs of m turns.
        grid: The points.

    Returns:
        The counts; time grows with points times turns, some 10 ns for each thousand.
    """
    shape = grid.shape
    right, spoken, needless = (np.zeros(shape) for _ in range(3))
    covered = outputs.covered
    # float32 is exact for counts below 2**24, and half the memory traffic.
    needs = (outputs.need[None, :] >= grid.gates[:, None]).astype(np.float32)
    for e, excerpt in enumerate(grid.excerpts):
        for s, shortlist in enumerate(grid.shortlists):
            best, hit = outputs.verdicts(shortlist, excerpt)
            fits = (best[:, None] >= grid.fits[None, :]).astype(np.float32)
            right[e, s] = needs[:, hit] @ fits[hit]
            spoken[e, s] = needs[:, covered] @ fits[covered]
            needless[e, s] = needs[:, ~covered] @ fits[~covered]
    total = int(covered.sum())
    return Counts(
        right=right,
        wrong=spoken - right,
        silent=total - spoken,
        needless=needless,
        covered=total,
        uncovered=len(covered) - total,
    )
