"""What a paper claims and what we measured, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from orbweaver.metrics.averages import mean
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
    """Results of one setting over one variable (most often N), some seeds each."""

    label: str
    results: dict[float, list[Result]]

    @property
    def xs(self) -> list[float]:
        return list(self.results)

    def means(self, metric: str) -> list[float]:
        """At each x, the mean over the seeds."""
        return [mean([r.metrics[metric] for r in rs]) for rs in self.results.values()]

    def largest(self, metric: str) -> float:
        return max(float(r.metrics[metric]) for r in self.each())

    def every(self, holds: Callable[[Result], bool]) -> bool:
        return all(holds(r) for r in self.each())

    def each(self) -> list[Result]:
        return [r for rs in self.results.values() for r in rs]

    def of_snapshots(self, metric: str) -> list[list[Any]]:
        """At each x, the metric in every snapshot of every seed."""
        return [[s[metric] for r in rs for s in r.snapshots] for rs in self.results.values()]


def series_name(label: str, x: float) -> str:
    """How a scenario says which series it belongs to."""
    return f"{label} @ {x:g}"


def gather(results: Iterable[Result]) -> dict[str, Series]:
    """Results back into their series, by the names of their scenarios."""
    series: dict[str, Series] = {}
    for result in results:
        label, _, x = result.name.rpartition(" @ ")
        one = series.setdefault(label, Series(label, {}))
        one.results.setdefault(float(x), []).append(result)
    return series


def connected(result: Result) -> bool:
    """Every topic is one component, in every snapshot."""
    looks = result.snapshots or [result.metrics]
    return all(look["components"] == look["topics"] for look in looks)


def within(ours: float, paper: float, share: float) -> bool:
    return abs(ours - paper) <= share * paper


def falling(values: Sequence[float]) -> bool:
    return all(a > b for a, b in pairwise(values))


def rising(values: Sequence[float]) -> bool:
    return all(a < b for a, b in pairwise(values))


def listed(values: Iterable[float], digits: int = 2) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)


def ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1, ties sharing their mean."""
    order = sorted(values)
    return [(2 * order.index(v) + order.count(v) + 1) / 2 for v in values]


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's coefficient."""
    x, y = ranks(a), ranks(b)
    mx, my = mean(x), mean(y)
    above = sum((p - mx) * (q - my) for p, q in zip(x, y, strict=True))
    below = sum((p - mx) ** 2 for p in x) * sum((q - my) ** 2 for q in y)
    return above / below**0.5 if below else float("nan")
