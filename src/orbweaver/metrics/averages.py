"""Compute means, and the confidence intervals around them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""The 97.5 % quantiles of Student's t for 1, 2, ... degrees of freedom. A few seeds say little
about their spread; the normal distribution would give intervals that are too narrow."""
NORMAL = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution."""


def mean(values: Sequence[float]) -> float:
    """Return the mean, or nan of nothing."""
    return math.fsum(values) / len(values) if values else math.nan


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with None in place of nan, which JSON does not have."""
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in values.items()}


def student95(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t for `freedom` degrees of freedom.

    Up to 30 degrees it comes from a table. Above, it comes from the expansion around the normal
    quantile (Abramowitz & Stegun 26.7.5), which is exact to six digits there.
    """
    if freedom <= len(STUDENT):
        return STUDENT[freedom - 1]
    z = NORMAL
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + math.fsum(term / float(freedom) ** power for power, term in enumerate(terms, 1))


def interval95(values: Sequence[float]) -> float:
    """Return half the width of the 95 % confidence interval around the mean, or nan for fewer
    than two values."""
    if len(values) < 2:
        return math.nan
    freedom = len(values) - 1
    middle = mean(values)
    variance = math.fsum((value - middle) ** 2 for value in values) / freedom
    return student95(freedom) * math.sqrt(variance / len(values))
