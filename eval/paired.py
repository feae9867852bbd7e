"""Two answers to the same requests, compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BaseModel, ConfigDict
from scipy.stats import binomtest, permutation_test


class McNemar(BaseModel):
    """How often only one of two answers to the same cases was right.

    Attributes:
        only_first: Cases that only the first got right.
        only_second: Cases that only the second got right.
        p: Exact two-sided p of McNemar's test; 1 when they never differ.
    """

    model_config = ConfigDict(frozen=True)

    only_first: int
    only_second: int
    p: float

    def __str__(self) -> str:
        """Counts and p."""
        return f"{self.only_first}-{self.only_second}, p = {self.p:.3g}"


def mcnemar(first: ArrayLike, second: ArrayLike) -> McNemar:
    """McNemar's exact test (McNemar 1947): are the cases that differ a fair coin?

    Args:
        first: Whether the first answer was right, case by case, shape (m,).
        second: Whether the second one was, for the same cases in the same order.

    Returns:
        The discordant counts and the exact two-sided p.

    Raises:
        ValueError: If the two are not of one length.
    """
    a, b = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    if a.shape != b.shape:
        raise ValueError(f"the two answers cover {a.size} and {b.size} cases; give the same cases")
    only_first, only_second = int((a & ~b).sum()), int((b & ~a).sum())
    differ = only_first + only_second
    p = float(binomtest(only_first, differ).pvalue) if differ else 1.0
    return McNemar(only_first=only_first, only_second=only_second, p=p)


def grouped_sign_flip(
    differences: ArrayLike, groups: Sequence[str], resamples: int = 9_999, seed: int = 0
) -> float:
    """Two-sided p that paired differences have mean 0, whole groups flipped together.

    Requests about one skill rise and fall together, so the group is the unit that is exchanged
    (a sign-flip permutation test on the group sums; exact when there are few groups).

    Args:
        differences: First minus second, case by case, shape (m,).
        groups: Group of each case.
        resamples: Random flips when not all of them can be tried.
        seed: Seed of the flips.

    Returns:
        The p value; 1 when nothing differs.
    """
    values = np.asarray(differences, dtype=float)
    _, at = np.unique(np.asarray(groups), return_inverse=True)
    sums = np.bincount(at, weights=values)
    moved = sums[np.abs(sums) > 1e-12]
    if not len(moved):
        return 1.0
    if len(moved) == 1:  # one group can only keep or change its sign: every flip is as extreme
        return 1.0
    result = permutation_test(
        (moved,),
        np.sum,
        permutation_type="samples",
        n_resamples=resamples,
        vectorized=True,
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue)
