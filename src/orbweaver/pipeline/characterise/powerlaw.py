"""Fits power laws to whole numbers by the method of Clauset, Shalizi & Newman (2009).

P(x) = x^-alpha / zeta(alpha, x_min) for x >= x_min. For a given x_min the exponent is the one of
maximum likelihood. The chosen x_min is the one with the fit nearest to the data (smallest
Kolmogorov-Smirnov distance). The likelihood ratio (Vuong) judges whether a power law fits better
than an exponential.

We do not use the `powerlaw` package, for three reasons. It wants every value as an element of an
array, while a stage has a histogram (ten million nodes are a few hundred distinct sizes). By
default it keeps exponents below 3, which the papers' Zipf 0.5 already reaches. It floors tiny
likelihoods before it compares. Where these reasons do not matter, the two agree to the fourth digit
(the tests hold values made with it).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import zeta

ALPHA_MIN, ALPHA_MAX = 1.01, 8.0
"""Range of exponents. A steeper tail is not a power law, whatever its distance."""
TAIL_MIN = 50
"""Least number of values above x_min; fewer say nothing (the authors' rule of thumb)."""
CANDIDATES_MAX = 200
"""Most values tried for x_min; spread evenly over the logarithm if there are more."""


class Fit(msgspec.Struct, frozen=True):
    alpha: float
    """Exponent of the probability; a Zipf rank exponent a shows as 1 + 1/a."""
    sigma: float
    """Standard error of alpha, given x_min."""
    x_min: int
    tail: int
    """Number of values at x_min or above."""
    ks: float
    """Largest gap between the two distribution functions."""
    beats_exponential: float
    """Log-likelihood ratio against an exponential; positive favours the power law."""
    p_value: float
    """Chance of a ratio of at least this size, in either direction, if both fitted equally well."""


def fit(counts: Mapping[int, int]) -> Fit | None:
    """Fit a power law to `counts`, which maps each value to how often it occurs. Return None if
    there are too few values, or if even the far end falls off too steeply."""
    pairs = sorted((value, count) for value, count in counts.items() if value > 0 and count)
    if len(pairs) < 3 or sum(count for _, count in pairs) < TAIL_MIN:
        return None
    xs = np.array([value for value, _ in pairs], dtype=np.float64)
    ns = np.array([count for _, count in pairs], dtype=np.float64)
    best: tuple[float, int, float] | None = None
    for start in _candidates(xs, ns):
        alpha = exponent(xs[start:], ns[start:])
        if not ALPHA_MIN + 1e-3 < alpha < ALPHA_MAX - 1e-3:
            continue
        distance = _distance(xs[start:], ns[start:], alpha)
        if best is None or distance < best[0]:
            best = (distance, start, alpha)
    if best is None:
        return None
    distance, start, alpha = best
    xs, ns = xs[start:], ns[start:]
    tail = float(ns.sum())
    ratio, p_value = _against_exponential(xs, ns, alpha)
    return Fit(
        alpha, 1 / math.sqrt(tail * _information(alpha, xs[0])), int(xs[0]), int(tail),
        distance, ratio, p_value,
    )  # fmt: skip


def exponent(xs: NDArray[np.float64], ns: NDArray[np.float64]) -> float:
    """Return the most likely exponent of the values from x_min, which is the first of `xs`."""
    logs = float(np.dot(ns, np.log(xs)) / ns.sum())

    def loss(alpha: float) -> float:
        return math.log(zeta(alpha, xs[0])) + alpha * logs

    found: Any = minimize_scalar(
        loss, bounds=(ALPHA_MIN, ALPHA_MAX), method="bounded", options={"xatol": 1e-6}
    )
    return float(found.x)


def survival(alpha: float, x_min: float, xs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return P(X >= x) under the power law, to draw it beside the data."""
    shares: NDArray[np.float64] = zeta(alpha, xs) / zeta(alpha, x_min)
    return shares


def _candidates(xs: NDArray[np.float64], ns: NDArray[np.float64]) -> list[int]:
    """Return the places of the values that may be x_min: enough values, and three different ones,
    must be above."""
    tails = np.cumsum(ns[::-1])[::-1]
    places = np.flatnonzero(tails >= TAIL_MIN)
    places = places[places <= len(xs) - 3]
    if len(places) > CANDIDATES_MAX:
        wanted = np.geomspace(xs[places[0]], xs[places[-1]], CANDIDATES_MAX)
        places = np.unique(np.searchsorted(xs[places], wanted))
    return [int(place) for place in places] or [0]


def _distance(xs: NDArray[np.float64], ns: NDArray[np.float64], alpha: float) -> float:
    """Return the Kolmogorov-Smirnov distance. Both functions are steps on the whole numbers, and
    between two values of the data ours goes on rising, so both ends of each step count."""
    data = 1 - np.cumsum(ns) / ns.sum()
    after = survival(alpha, xs[0], xs + 1)
    before = survival(alpha, xs[0], xs)
    start = np.concatenate(([1.0], data[:-1]))
    return float(max(np.abs(data - after).max(), np.abs(start - before).max()))


def _information(alpha: float, x_min: float) -> float:
    """Return the Fisher information of one value: the variance of ln x, as (ln zeta)''."""
    step = 1e-3
    left, middle, right = (math.log(zeta(a, x_min)) for a in (alpha - step, alpha, alpha + step))
    return max(1e-12, (left - 2 * middle + right) / step**2)


def _against_exponential(
    xs: NDArray[np.float64], ns: NDArray[np.float64], alpha: float
) -> tuple[float, float]:
    """Return Vuong's test against P(x) = (1 - q) q^(x - x_min) with its most likely q."""
    total = float(ns.sum())
    over = float(np.dot(ns, xs - xs[0]) / total)
    q = over / (1 + over)
    gain = -alpha * np.log(xs) - math.log(zeta(alpha, xs[0]))
    gain -= math.log1p(-q) + (xs - xs[0]) * math.log(q)
    ratio = float(np.dot(ns, gain))
    variance = float(np.dot(ns, (gain - ratio / total) ** 2) / total)
    if variance == 0:
        return ratio, 1.0
    return ratio, math.erfc(abs(ratio) / math.sqrt(2 * total * variance))
