"""Degree: how many links nodes have."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from orbweaver.metrics.snapshot import Snapshot


def degrees(overlay: Snapshot) -> list[int]:
    return [len(peers) for peers in overlay.links.values()]


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def interval95(values: Sequence[float]) -> float:
    """Half the width of the 95 % confidence interval around the mean."""
    if len(values) < 2:
        return math.nan
    middle = mean(values)
    variance = math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)
    return 1.96 * math.sqrt(variance / len(values))


def histogram(values: Sequence[int]) -> dict[int, int]:
    return dict(sorted(Counter(values).items()))
