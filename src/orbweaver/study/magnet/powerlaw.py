"""The exponent of topic popularity in the hierarchical model (Fig. 7), from its subscriptions
alone: nothing has to be run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from orbweaver.study.claims import slope
from orbweaver.workload.subscriptions import correlated

NODES = 1 << 14
TAIL = 5
"""Subscribers from which on the density is fitted."""


@lru_cache(maxsize=3)
def popularities(seed: int) -> Counter[int]:
    """Return how many topics have how many subscribers, at the paper's setting of Fig. 7."""
    found = correlated("hierarchical:0.1:2:2", NODES, NODES, "16", seed)
    return Counter(Counter(topic for topics in found.of_node for topic in topics).values())


def ccdf_slope(counts: Mapping[int, int]) -> float:
    """Return the least-squares slope of log P(X >= x) over log x, a point for each value x."""
    left = total = sum(counts.values())
    xs, ys = [], []
    for value in sorted(counts):
        xs.append(math.log(value))
        ys.append(math.log(left / total))
        left -= counts[value]
    return slope(xs, ys)


def likely_exponent(counts: Mapping[int, int], tail: int = TAIL) -> float:
    """Return the exponent of the density of most likelihood for values from `tail` on (Clauset,
    Shalizi & Newman, equation 3.7)."""
    values = {value: count for value, count in counts.items() if value >= tail}
    logs = sum(count * math.log(value / (tail - 0.5)) for value, count in values.items())
    return 1 + sum(values.values()) / logs
