"""Verdicts put what a paper claims and what we measured side by side; series hold the results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from orbweaver.metrics.averages import interval95, mean
from orbweaver.study.run import Result

ADDED_LATER = "added after its result was known"
"""The reason why most of the uncounted checks do not count."""
REPORTED = "reported, without a band"
"""Why a number is shown that is not checked."""


class Verdict(msgspec.Struct, frozen=True):
    """A verdict is one line of the ledger."""

    claim: str
    what: str
    paper: str
    ours: str
    reproduced: bool
    note: str = ""
    uncounted: str = ""
    """Why the check is shown and not counted; empty for one that counts."""


class Series(msgspec.Struct, frozen=True):
    """A series holds the results of one setting over one variable, most often N: at each value of
    the variable (x), one result for each seed."""

    label: str
    results: dict[float, list[Result]]

    @property
    def xs(self) -> list[float]:
        return list(self.results)

    @property
    def told_xs(self) -> str:
        return ", ".join(f"{x:g}" for x in self.results)

    def values(self, metric: str) -> list[list[float]]:
        """Return, for each x, the values of the seeds that have one. A result that was kept may be
        older than the metric."""
        found = ([r.metrics.get(metric) for r in rs] for rs in self.results.values())
        return [[value for value in values if value is not None] for values in found]

    def means(self, metric: str) -> list[float]:
        """Return, for each x, the mean over the seeds."""
        return [mean(values) for values in self.values(metric)]

    def intervals(self, metric: str) -> list[float]:
        """Return, for each x, half the 95 % confidence interval of the mean; 0 for a single
        seed."""
        return [interval95(v) if len(v) > 1 else 0.0 for v in self.values(metric)]

    def told_each(self, metric: str, digits: int = 2) -> list[str]:
        """Return, for each x, the mean and its interval as text."""
        pairs = zip(self.values(metric), self.intervals(metric), strict=True)
        return [told(mean(values), half, digits) if values else "-" for values, half in pairs]

    def told(self, metric: str, digits: int = 2) -> str:
        return ", ".join(self.told_each(metric, digits))

    def largest(self, metric: str) -> float:
        return max(float(r.metrics[metric]) for r in self.each())

    def every(self, holds: Callable[[Result], bool]) -> bool:
        return all(holds(r) for r in self.each())

    def each(self) -> list[Result]:
        return [r for rs in self.results.values() for r in rs]

    def of_snapshots(self, metric: str) -> list[list[Any]]:
        """Return, for each x, the metric in every snapshot of every seed."""
        return [[s[metric] for r in rs for s in r.snapshots] for rs in self.results.values()]

    def over_time(self, metric: str) -> dict[float, list[float]]:
        """Return how a metric changed during the runs of the last x: minutes -> one value for each
        seed that has one."""
        found: dict[float, list[float]] = {}
        for result in self.results[self.xs[-1]]:
            for look in result.course:
                if look.get(metric) is not None:
                    found.setdefault(look["time_ms"] / 60_000, []).append(look[metric])
        return found


def gather(results: Iterable[Result]) -> dict[str, Series]:
    """Sort results into their series. A result that belongs to no series is a series by itself."""
    series: dict[str, Series] = {}
    for result in results:
        study = result.study
        label = study.series or result.name or result.overlay
        place = result.nodes if study.x is None else study.x
        there = series[label].results.get(place, []) if label in series else []
        if there and there[0].fingerprint != result.fingerprint:
            # Another scenario of the same name, not more seeds of the first.
            label = f"{label} ({result.fingerprint[:6]})"
        one = series.setdefault(label, Series(label, {}))
        one.results.setdefault(place, []).append(result)
    return {
        label: Series(label, dict(sorted(one.results.items()))) for label, one in series.items()
    }


def count_runs(series: Iterable[Series]) -> int:
    """Count the runs of some series. A run that is in two series counts once."""
    return len({r.run_id for one in series for r in one.each()})


def connected(result: Result) -> bool:
    """Return whether every topic is one component, in every snapshot."""
    looks = result.snapshots or [result.metrics]
    return all(look["components"] == look["topics"] for look in looks)


def within(ours: float, paper: float, share: float) -> bool:
    return abs(ours - paper) <= share * paper


def falling(values: Sequence[float]) -> bool:
    return all(a > b for a, b in pairwise(values))


def rising(values: Sequence[float]) -> bool:
    return all(a < b for a, b in pairwise(values))


def told(middle: float, half: float, digits: int = 2) -> str:
    """Return a mean with its interval as text. An interval that would be rounded to 0 is left
    out."""
    interval = f"{half:.{digits}f}"
    return f"{middle:.{digits}f}" + (f" ±{interval}" if float(interval) else "")


def trend(one: Series, metric: str) -> float:
    """Return the slope of a metric over a series: below zero where it falls as a whole, above where
    it rises."""
    return slope(one.xs, one.means(metric))


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Return the slope of the straight line nearest to the points. It shows the trend even where a
    single point goes the other way."""
    mx, my = mean(xs), mean(ys)
    above = sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True))
    below = sum((x - mx) ** 2 for x in xs)
    return above / below if below else 0.0


def listed(values: Iterable[float], digits: int = 2) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)


def ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value, from 1. Equal values share the mean of their ranks."""
    order = sorted(values)
    return [(2 * order.index(v) + order.count(v) + 1) / 2 for v in values]


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Return Spearman's rank correlation coefficient."""
    x, y = ranks(a), ranks(b)
    mx, my = mean(x), mean(y)
    above = sum((p - mx) * (q - my) for p, q in zip(x, y, strict=True))
    below = sum((p - mx) ** 2 for p in x) * sum((q - my) ** 2 for q in y)
    return above / below**0.5 if below else float("nan")
