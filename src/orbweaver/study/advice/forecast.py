"""Extends what was measured at several sizes to another size.

Two laws are fitted, `a + b ln N` and `a N^b`: a few sizes cannot tell which of them holds far
away. The better one gives the expected value. The interval reaches over the prediction intervals
of both, so that it also says how much the choice of the law matters.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from statistics import linear_regression

from orbweaver.metrics.averages import mean, student95
from orbweaver.study.advice.value import Forecast

Point = tuple[int, float]
"""(nodes, value) of a run."""


@dataclasses.dataclass(frozen=True)
class Law:
    """A straight line through transformed values."""

    words: str
    at: Callable[[float], float]
    half_at: Callable[[float], float]
    """Half the width of the 95 % prediction interval, of the transformed values."""
    back: Callable[[float], float]
    misfit: float
    """Sum of the squared differences, of the values themselves."""

    def expected(self, nodes: int) -> float:
        return self.back(self.at(math.log(nodes)))

    def interval(self, nodes: int) -> tuple[float, float]:
        x = math.log(nodes)
        return (
            self.back(self.at(x) - self.half_at(x)),
            self.back(self.at(x) + self.half_at(x)),
        )


def forecast(overlay: str, measure: str, points: Sequence[Point], nodes: int) -> Forecast | None:
    """Return what to expect with `nodes` nodes, or None with fewer than three runs or of one size
    alone."""
    if len(points) < 3 or len({n for n, _ in points}) < 2:
        return None
    laws = [_fit(points, _linear, lambda v: v, lambda v: v)]
    if all(value > 0 for _, value in points):
        laws.append(_fit(points, _power, math.log, _exp))
    # A law that falls below zero on the way is no law of a delay or a number of links.
    possible = [law for law in laws if law.expected(nodes) > 0] or laws
    best = min(possible, key=lambda law: law.misfit)
    ends = [end for law in laws for end in law.interval(nodes)]
    expected = max(0.0, best.expected(nodes))
    return Forecast(
        overlay, measure, nodes, expected, max(0.0, min(ends)), max(ends), best.words,
        tuple(points),
    )  # fmt: skip


def _fit(
    points: Sequence[Point],
    words: Callable[[float, float], str],
    there: Callable[[float], float],
    back: Callable[[float], float],
) -> Law:
    xs = [math.log(n) for n, _ in points]
    ys = [there(value) for _, value in points]
    b, a = linear_regression(xs, ys)
    middle, count = mean(xs), len(xs)
    spread = math.fsum((x - middle) ** 2 for x in xs)
    left = math.fsum((y - a - b * x) ** 2 for x, y in zip(xs, ys, strict=True)) / (count - 2)
    wide = student95(count - 2) * math.sqrt(left)
    misfit = math.fsum(
        (value - back(a + b * x)) ** 2 for x, (_, value) in zip(xs, points, strict=True)
    )
    return Law(
        words(a, b),
        lambda x: a + b * x,
        lambda x: wide * math.sqrt(1 + 1 / count + (x - middle) ** 2 / spread),
        back,
        misfit,
    )


def _linear(a: float, b: float) -> str:
    return f"{_number(a)} {'-' if b < 0 else '+'} {_number(abs(b))} ln N"


def _power(a: float, b: float) -> str:
    return f"{_number(_exp(a))} N^{b:.2g}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _exp(x: float) -> float:
    """Return e^x; infinity where that is too large for a number."""
    return math.exp(x) if x < 700 else math.inf
