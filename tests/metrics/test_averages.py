"""Means and intervals, against scipy."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from orbweaver.metrics.averages import STUDENT, interval95, mean, student95


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40))
def test_the_interval_is_students(values: list[float]) -> None:
    error = statistics.stdev(values) / math.sqrt(len(values))
    half = t.ppf(0.975, len(values) - 1) * error
    rounding = 1e-12 * max(map(abs, values)) * len(values)
    assert interval95(values) == pytest.approx(half, rel=3e-4, abs=rounding + 1e-12)


@pytest.mark.parametrize("freedom", [*range(1, 61), 99, 999, 9999, 99_999])
def test_the_quantile_is_students_for_any_number_of_values(freedom: int) -> None:
    tabled = freedom <= len(STUDENT)
    exact = t.ppf(0.975, freedom)
    assert student95(freedom) == pytest.approx(exact, abs=5.1e-4 if tabled else 3e-6)


@pytest.mark.parametrize(
    ("values", "middle", "half"), [([3, 3, 3], 3.0, 0.0), ([1, 3], 2.0, 12.706)]
)
def test_mean_and_interval_by_hand(values: list[int], middle: float, half: float) -> None:
    assert mean(values) == pytest.approx(middle)
    assert interval95(values) == pytest.approx(half)


@pytest.mark.parametrize(("statistic", "few"), [(mean, []), (interval95, []), (interval95, [4])])
def test_too_few_values_have_no_statistic(statistic, few: list[int]) -> None:
    assert math.isnan(statistic(few))
