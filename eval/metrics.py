"""Rates with intervals, calibration, latency: the numbers of every report."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict
from scipy.stats import binomtest


class Rate(BaseModel):
    """A share of cases with its 95 % Wilson interval.

    Attributes:
        count: Cases that count.
        total: All cases.
        value: Their ratio, 0..1; 0 when there are no cases.
        low: Lower end of the interval.
        high: Upper end.
    """

    model_config = ConfigDict(frozen=True)

    count: int
    total: int
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """As a percentage with the interval."""
        return f"{self.value:.1%} [{self.low:.1%}, {self.high:.1%}]" if self.total else "-"


def rate(count: int, total: int) -> Rate:
    """The share `count` of `total` with its Wilson interval (Wilson 1927)."""
    if total == 0:
        return Rate(count=0, total=0, value=0.0, low=0.0, high=1.0)
    interval = binomtest(count, total).proportion_ci(0.95, method="wilson")
    return Rate(
        count=count,
        total=total,
        value=count / total,
        low=float(interval.low),
        high=float(interval.high),
    )


def expected_calibration_error(
    probabilities: NDArray[np.floating], labels: NDArray[np.bool_], bins: int = 10
) -> float:
    """Mean distance of stated probability and observed share over equal-width bins (Guo 2017).

    Args:
        probabilities: Stated probabilities, 0..1, shape (m,).
        labels: What happened, shape (m,).
        bins: Number of bins.

    Returns:
        The error, 0..1, weighted by the number of cases in each bin; 0 for no cases.
    """
    if not len(probabilities):
        return 0.0
    at = np.minimum((np.asarray(probabilities) * bins).astype(int), bins - 1)
    counts = np.bincount(at, minlength=bins)
    stated = np.bincount(at, weights=probabilities, minlength=bins)
    seen = np.bincount(at, weights=np.asarray(labels, dtype=float), minlength=bins)
    return float(np.abs(stated - seen).sum() / counts.sum())


class Bin(BaseModel):
    """Cases whose stated probability lies in one interval.

    Attributes:
        low: Lower end of the interval.
        high: Upper end.
        count: Cases in it.
        stated: Their mean stated probability.
        seen: How often it came true, with its interval.
    """

    model_config = ConfigDict(frozen=True)

    low: float
    high: float
    count: int
    stated: float
    seen: Rate


class Reliability(BaseModel):
    """How far stated probabilities can be taken at their word.

    Attributes:
        cases: All cases.
        ece: Expected calibration error, 0..1.
        brier: Mean squared error (Brier 1950), 0..1.
        bins: The bins that hold a case.
    """

    model_config = ConfigDict(frozen=True)

    cases: int
    ece: float
    brier: float
    bins: tuple[Bin, ...]


def reliability(
    probabilities: Sequence[float], labels: Sequence[bool], bins: int = 10
) -> Reliability:
    """The reliability diagram of stated probabilities, in equal-width bins.

    Args:
        probabilities: Stated probabilities, 0..1, shape (m,).
        labels: What happened, shape (m,).
        bins: Number of bins.

    Returns:
        The diagram; errors of 0 and no bins for no cases.
    """
    stated, seen = np.asarray(probabilities, dtype=float), np.asarray(labels, dtype=bool)
    at = np.minimum((stated * bins).astype(int), bins - 1)
    rows = []
    for index in np.unique(at):
        here = at == index
        rows.append(
            Bin(
                low=index / bins,
                high=(index + 1) / bins,
                count=int(here.sum()),
                stated=float(stated[here].mean()),
                seen=rate(int(seen[here].sum()), int(here.sum())),
            )
        )
    return Reliability(
        cases=len(stated),
        ece=expected_calibration_error(stated, seen, bins),
        brier=float(np.mean((stated - seen) ** 2)) if len(stated) else 0.0,
        bins=tuple(rows),
    )


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile; zeros for no values."""
    if not values:
        return {"p50": 0.0, "p95": 0.0}
    p50, p95 = np.percentile(np.asarray(values, dtype=float), [50, 95])
    return {"p50": round(float(p50), 3), "p95": round(float(p95), 3)}
