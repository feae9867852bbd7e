"""Learning the wide rank: a listwise softmax over the roster (Cao et al. 2007)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from eval.train.prepare import Prepared
from router.local.features import WIDE_NAMES, wide_features
from router.local.heads import Linear


def learn_fusion(prepared: Sequence[Prepared], penalty: float = 1e-3) -> Linear:
    """Weights that make the right skill the likeliest of its roster.

    Args:
        prepared: Rosters with signals; only covered turns count.
        penalty: L2 penalty on the weights, of columns of unit deviation.

    Returns:
        The fusion.
    """
    lists: list[NDArray[np.float32]] = []
    golds: list[int] = []
    for one in prepared:
        for signals, gold in zip(one.signals, one.gold, strict=True):
            if gold >= 0 and len(signals.matrix) > 1:
                lists.append(wide_features(signals.matrix))
                golds.append(int(gold))
    stacked = np.concatenate(lists)
    scale = np.maximum(stacked.std(axis=0), 1e-6)
    stacked = stacked / scale
    starts = np.concatenate([[0], np.cumsum([len(x) for x in lists])[:-1]])
    lengths = np.array([len(x) for x in lists])
    at = starts + np.array(golds)

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = stacked @ weights
        top = np.maximum.reduceat(scores, starts)
        powers = np.exp(scores - np.repeat(top, lengths))
        sums = np.add.reduceat(powers, starts)
        value = float(np.mean(np.log(sums) + top - scores[at]))
        share = powers / np.repeat(sums, lengths)
        share[at] -= 1.0
        gradient = stacked.T @ share / len(lists)
        return value + penalty * float(weights @ weights), gradient + 2 * penalty * weights

    start = np.zeros(stacked.shape[1])
    result = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return Linear(columns=WIDE_NAMES, weights=tuple((result.x / scale).round(6).tolist()))
