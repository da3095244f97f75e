"""What a paper claims and what we measured, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec

from orbweaver.metrics.degree import mean
from orbweaver.study.run import Result


class Verdict(msgspec.Struct, frozen=True):
    """One line of the ledger."""

    claim: str
    what: str
    paper: str
    ours: str
    reproduced: bool
    note: str = ""


class Series(msgspec.Struct, frozen=True):
    """Results of one setting by number of nodes, some seeds each."""

    label: str
    results: dict[int, list[Result]]

    def means(self, metric: str) -> dict[int, float]:
        return {n: mean([r.metrics[metric] for r in rs]) for n, rs in self.results.items()}

    def largest(self, metric: str) -> float:
        return max(float(r.metrics[metric]) for rs in self.results.values() for r in rs)

    def every(self, holds: Callable[[Result], bool]) -> bool:
        return all(holds(r) for rs in self.results.values() for r in rs)

    def seeds(self) -> int:
        return min(len(rs) for rs in self.results.values())


def within(ours: float, paper: float, share: float) -> bool:
    return abs(ours - paper) <= share * paper


def falling(values: Sequence[float]) -> bool:
    return all(a > b for a, b in pairwise(values))


def rising(values: Sequence[float]) -> bool:
    return falling([-value for value in values])


def listed(values: Sequence[float], digits: int = 2) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)
