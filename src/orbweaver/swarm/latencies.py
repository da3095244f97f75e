"""Latencies are counted in histograms.

Each bar is 5 % wider than the one before, so that a few hundred bars reach from a microsecond
to hours. The histograms of several processes can be added up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import exp, log

_STEP = log(1.05)


def bar_of(seconds: float) -> int:
    return round(log(max(seconds, 1e-6)) / _STEP)


def seconds_of(bar: int) -> float:
    return exp(bar * _STEP)


def quantile(bars: Mapping[int, int], share: float) -> float | None:
    """Return the latency in seconds that this share of all latencies does not exceed, or None of
    an empty histogram."""
    total = sum(bars.values())
    left = share * total
    for bar, count in sorted(bars.items()):
        left -= count
        if left <= 0 < total:
            return seconds_of(bar)
    return None


def added(histograms: list[dict[int, int]]) -> Counter[int]:
    total: Counter[int] = Counter()
    for bars in histograms:
        total.update(bars)
    return total
