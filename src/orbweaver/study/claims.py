"""What a paper claims and what we measured, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from orbweaver.metrics.averages import interval95, mean
from orbweaver.study.run import Result

ADDED_LATER = "added after its result was known"
"""Why most checks that do not count do not."""
REPORTED = "reported, without a band"
"""Why a number is shown that is not checked."""


class Verdict(msgspec.Struct, frozen=True):
    """One line of the ledger."""

    claim: str
    what: str
    paper: str
    ours: str
    reproduced: bool
    note: str = ""
    uncounted: str = ""
    """Why the check is shown and not counted; empty for one that counts."""


class Series(msgspec.Struct, frozen=True):
    """Results of one setting over one variable (most often N), some seeds each."""

    label: str
    results: dict[float, list[Result]]

    @property
    def xs(self) -> list[float]:
        return list(self.results)

    @property
    def told_xs(self) -> str:
        return ", ".join(f"{x:g}" for x in self.results)

    def values(self, metric: str) -> list[list[float]]:
        """At each x, those of the seeds that have any. Kept results may be older than a metric."""
        found = ([r.metrics.get(metric) for r in rs] for rs in self.results.values())
        return [[value for value in values if value is not None] for values in found]

    def means(self, metric: str) -> list[float]:
        """At each x, the mean over the seeds."""
        return [mean(values) for values in self.values(metric)]

    def intervals(self, metric: str) -> list[float]:
        """At each x, half the 95 % interval of that mean; 0 for a single seed."""
        return [interval95(v) if len(v) > 1 else 0.0 for v in self.values(metric)]

    def told_each(self, metric: str, digits: int = 2) -> list[str]:
        """At each x, the mean and its interval as text."""
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
        """At each x, the metric in every snapshot of every seed."""
        return [[s[metric] for r in rs for s in r.snapshots] for rs in self.results.values()]

    def over_time(self, metric: str) -> dict[float, list[float]]:
        """Return a metric of the course of the last x: minutes -> one value for each seed that has
        any."""
        found: dict[float, list[float]] = {}
        for result in self.results[self.xs[-1]]:
            for look in result.course:
                if look.get(metric) is not None:
                    found.setdefault(look["time_ms"] / 60_000, []).append(look[metric])
        return found


def gather(results: Iterable[Result]) -> dict[str, Series]:
    """Sort results into their series. One that belongs to no series is a series by itself."""
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
    """Count the runs of some series. One that is in two of them is one."""
    return len({r.run_id for one in series for r in one.each()})


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


def told(middle: float, half: float, digits: int = 2) -> str:
    """A mean with its interval, which is left out where it would show as nothing."""
    interval = f"{half:.{digits}f}"
    return f"{middle:.{digits}f}" + (f" ±{interval}" if float(interval) else "")


def trend(one: Series, metric: str) -> float:
    """Below zero where a metric falls over a series as a whole, above where it rises."""
    return slope(one.xs, one.means(metric))


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Of the straight line nearest to the points: a trend, whatever one point does."""
    mx, my = mean(xs), mean(ys)
    above = sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True))
    below = sum((x - mx) ** 2 for x in xs)
    return above / below if below else 0.0


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
