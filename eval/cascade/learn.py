"""Learning how likely a local decision is a mistake, and the band that goes with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from eval.cascade.choose import Chosen, Examples, Floats, choose_thresholds
from eval.data import RequestsError
from router.cascade import Band, Doubt
from router.cascade.doubt import Logistic

_PENALTY = 0.02
_FOLDS = 5


def learn_band(
    data: Examples,
    most_escalated: float = 0.11,
    covered_weight: float = 2.0,
    learned_on: dict[str, Any] | None = None,
) -> tuple[Band, Chosen]:
    """Learn the doubt on all rosters, and choose the thresholds on doubts that were held out.

    Args:
        data: Local decisions of at least two rosters that the judge did not learn on, if possible.
        most_escalated: See `choose_thresholds`.
        covered_weight: See `choose_thresholds`.
        learned_on: Kept in the band.

    Returns:
        The band, and what its thresholds do on held-out rosters.

    Raises:
        RequestsError: If there are too few rosters, or too few mistakes or right answers.
    """
    if len(np.unique(data.group)) < 2:
        raise RequestsError(
            "a band is learned on some rosters and chosen on others; give at least one more roster "
            "with labelled turns by --data"
        )
    chosen = choose_thresholds(data, held_out(data), most_escalated, covered_weight)
    band = Band(
        speaks=chosen.speaks,
        silent=chosen.silent,
        doubt=learn_doubt(data),
        learned_on=learned_on or {},
    )
    return band, chosen


def held_out(data: Examples, folds: int = _FOLDS) -> Floats:
    """Doubt of every decision by a model that never saw its roster, shape (m,); 0 if unknown."""
    doubts = np.zeros(len(data.known))
    names = np.unique(data.group)
    for part in (names[i::folds] for i in range(min(folds, len(names)))):
        outside = np.isin(data.group, part)
        model = learn_doubt(data.where(~outside))
        for row in np.flatnonzero(outside & data.known):
            one = model.speaks if data.speaks[row] else model.silent
            columns = data.columns[row]
            doubts[row] = one(np.where(np.isnan(columns), model.ordinary, columns).tolist())
    return doubts


def learn_doubt(data: Examples) -> Doubt:
    """Two logistic regressions, each roster with the same weight.

    Raises:
        RequestsError: If a kind of decision has no mistakes, or nothing but mistakes.
    """
    told = data.columns[data.known]
    blank = np.isnan(told)
    sums, counts = np.where(blank, 0.0, told).sum(axis=0), (~blank).sum(axis=0)
    ordinary = sums / np.maximum(counts, 1)
    data = data._replace(columns=np.where(np.isnan(data.columns), ordinary, data.columns))
    return Doubt(
        ordinary=tuple(round(float(value), 6) for value in ordinary),
        speaks=_logistic(data, True),
        silent=_logistic(data, False),
    )


def _logistic(data: Examples, kind: bool) -> Logistic:
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    rows = data.known & (data.speaks == kind)
    wrong = data.wrong[rows]
    if not wrong.any() or wrong.all():
        what = "suggestions" if kind else "turns without one"
        raise RequestsError(
            f"the {what} hold no mistakes, or nothing else: there is nothing to tell apart; give "
            "more rosters by --data"
        )
    _, inverse, sizes = np.unique(data.group[rows], return_inverse=True, return_counts=True)
    scaler = StandardScaler().fit(data.columns[rows])
    model = LogisticRegression(C=_PENALTY, max_iter=3000)
    model.fit(
        scaler.transform(data.columns[rows]), wrong, sample_weight=(sizes.mean() / sizes)[inverse]
    )
    slopes = model.coef_[0] / scaler.scale_
    bias = float(model.intercept_[0] - slopes @ scaler.mean_)
    return Logistic(weights=tuple(round(float(s), 6) for s in slopes), bias=round(bias, 6))
