"""What the figures show, worked out from the stage outputs."""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel, ConfigDict

from eval.metrics import Reliability, reliability
from eval.tune.stages import StageOutputs
from eval.tune.sweep import Grid, sweep
from router.thresholds import Thresholds


class Curves(BaseModel):
    """Calibration and trade-off of a router on labelled turns.

    Attributes:
        fits: Each reread candidate's fit against whether it is the right skill.
        gate: Each turn's need against whether a skill covers it.
        needless: Shares of needless suggestions along the front of all thresholds.
        right: The best shares of right suggestions for them.
        now: Needless and right at the thresholds in use.
    """

    model_config = ConfigDict(frozen=True)

    fits: Reliability
    gate: Reliability
    needless: tuple[float, ...]
    right: tuple[float, ...]
    now: tuple[float, float]


def curves(outputs: StageOutputs, thresholds: Thresholds) -> Curves:
    """Work out the curves.

    Args:
        outputs: Stage outputs of m turns, collected with the excerpt of `thresholds`.
        thresholds: The thresholds in use.
    """
    fits = outputs.fits[outputs.layer(thresholds.excerpt), :, : thresholds.shortlist]
    places = np.arange(fits.shape[1])[None, :]
    asked = fits >= 0.0
    is_right = (places == outputs.right[:, None]) & asked
    # Only the two thresholds move along the curve; the shortlist stays as it is.
    grid = Grid.around(thresholds, outputs, (thresholds.shortlist,))
    counts = sweep(outputs, grid)
    right = counts.right[0, 0] / max(counts.covered, 1)
    needless = counts.needless[0, 0] / max(counts.uncovered, 1)
    front = _front(needless.ravel(), right.ravel())
    gate = int(np.flatnonzero(grid.gates == thresholds.gate)[0])
    fit = int(np.flatnonzero(grid.fits == thresholds.fit)[0])
    return Curves(
        fits=reliability(fits[asked].tolist(), is_right[asked].tolist()),
        gate=reliability(outputs.need.tolist(), outputs.covered.tolist()),
        needless=tuple(x for x, _ in front),
        right=tuple(y for _, y in front),
        now=(float(needless[gate, fit]), float(right[gate, fit])),
    )


def _front(cost: np.ndarray, gain: np.ndarray) -> list[tuple[float, float]]:
    """Points that no other one beats in both: ascending cost, strictly ascending gain."""
    front: list[tuple[float, float]] = []
    for at in np.lexsort((-gain, cost)):
        if not front or gain[at] > front[-1][1]:
            front.append((float(cost[at]), float(gain[at])))
    return front
