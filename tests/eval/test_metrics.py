"""Rates, calibration, percentiles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.metrics import expected_calibration_error, percentiles, rate


def test_the_wilson_interval_of_a_known_case() -> None:
    found = rate(8, 10)
    assert (found.value, found.low, found.high) == pytest.approx((0.8, 0.4902, 0.9433), abs=1e-4)


@given(st.integers(0, 50), st.integers(1, 50))
def test_an_interval_contains_its_rate(count: int, more: int) -> None:
    found = rate(count, count + more)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_no_cases_know_nothing() -> None:
    assert (rate(0, 0).low, rate(0, 0).high, str(rate(0, 0))) == (0.0, 1.0, "-")


def test_calibration_error_of_known_cases() -> None:
    right = np.array([True, False, True, False])
    assert expected_calibration_error(np.array([1.0, 0.0, 1.0, 0.0]), right) == 0
    assert expected_calibration_error(np.array([0.9] * 4), right) == pytest.approx(0.4)
    assert expected_calibration_error(np.array([]), np.array([], dtype=bool)) == 0


def test_percentiles() -> None:
    assert percentiles([3, 1, 2]) == {"p50": 2.0, "p95": 2.9}
    assert percentiles([]) == {"p50": 0.0, "p95": 0.0}
