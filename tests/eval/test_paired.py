"""Paired tests: published counts, and what holds for any answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from eval.paired import grouped_sign_flip, mcnemar


@pytest.mark.parametrize(("first", "second", "p"), [(12, 3, 0.0352), (9, 0, 0.00391)])
def test_mcnemar_gives_published_p_values(first: int, second: int, p: float) -> None:
    a = [True] * first + [False] * second + [True] * 9
    b = [False] * first + [True] * second + [True] * 9
    result = mcnemar(a, b)
    assert (result.only_first, result.only_second) == (first, second)
    assert result.p == pytest.approx(p, rel=5e-3)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60))
def test_mcnemar_is_symmetric_and_twice_a_binomial_tail(pairs: list[tuple[bool, bool]]) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    result, swapped = mcnemar(a, b), mcnemar(b, a)
    assert result.p == pytest.approx(swapped.p)
    low = min(result.only_first, result.only_second)
    differ = result.only_first + result.only_second
    assert result.p == pytest.approx(min(1.0, 2.0 * float(binom.cdf(low, differ, 0.5))))


def test_mcnemar_refuses_other_cases() -> None:
    with pytest.raises(ValueError, match="2 and 3 cases"):
        mcnemar([True, False], [True, False, True])


def test_sign_flip_counts_groups_and_not_cases() -> None:
    gains = np.ones(60)
    alone = [f"turn:{i}" for i in range(60)]
    together = [f"skill:{i // 20}" for i in range(60)]
    assert grouped_sign_flip(gains, alone) < 0.001
    # Three skills that gain are three coins, however many requests each has: 2 of 8 flips.
    assert grouped_sign_flip(gains, together) == pytest.approx(0.25)


def test_sign_flip_of_nothing_is_no_evidence() -> None:
    assert grouped_sign_flip([0.0, 0.0], ["a", "b"]) == 1.0
    assert grouped_sign_flip([1.0, 1.0], ["a", "a"]) == 1.0
