"""Means and intervals, against scipy."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from orbweaver.metrics.averages import interval95, mean


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40))
def test_the_interval_is_students(values: list[float]) -> None:
    error = statistics.stdev(values) / math.sqrt(len(values))
    half = t.ppf(0.975, len(values) - 1) * error
    # Beyond thirty values we take the normal distribution's quantile.
    share = 0.04 if len(values) > 31 else 3e-4
    rounding = 1e-12 * max(map(abs, values)) * len(values)
    assert interval95(values) == pytest.approx(half, rel=share, abs=rounding + 1e-12)


@pytest.mark.parametrize(
    ("values", "middle", "half"), [([3, 3, 3], 3.0, 0.0), ([1, 3], 2.0, 12.706)]
)
def test_mean_and_interval_by_hand(values: list[int], middle: float, half: float) -> None:
    assert mean(values) == pytest.approx(middle)
    assert interval95(values) == pytest.approx(half)


@pytest.mark.parametrize(("statistic", "few"), [(mean, []), (interval95, []), (interval95, [4])])
def test_too_few_values_have_no_statistic(statistic, few: list[int]) -> None:
    assert math.isnan(statistic(few))
