"""Draws how many topics a node subscribes to: S, MIN:MAX, or powerlaw:MIN:MAX[:A]."""

from __future__ import annotations

import math

import numpy as np

from orbweaver.core.errors import UsageError
from orbweaver.workload.models.chance import Floats, Ints

FORMS = "S, MIN:MAX or powerlaw:MIN:MAX:A"
EXPONENT = 2.0
"""Default exponent. OMen 6.1 says that sizes in [10, 90] follow a power law, but not which."""


class Sizes:
    """Draws sizes with P(S = s) proportional to s^-A on MIN..MAX; A = 0 is SpiderCast's uniform
    draw."""

    def __init__(self, text: str) -> None:
        self.text = text
        name, colon, rest = text.partition(":")
        parts = rest.split(":") if name == "powerlaw" and colon else text.split(":")
        exponent = EXPONENT if name == "powerlaw" else 0.0
        if name == "powerlaw" and len(parts) == 3:
            exponent = _exponent(text, parts.pop())
        if len(parts) not in (1, 2) or not all(part.isdecimal() for part in parts):
            raise UsageError(f"subscriptions per node '{text}' should be {FORMS}")
        self.low, self.high = int(parts[0]), int(parts[-1])
        if not 1 <= self.low <= self.high:
            raise UsageError(f"subscriptions per node '{text}': MIN should be from 1 to MAX")
        values = np.arange(self.low, self.high + 1, dtype=np.float64)
        # Divided first, so that a large MIN does not underflow.
        shares = (values / self.low) ** -exponent
        self._cumulative: Floats = np.cumsum(shares) / shares.sum()
        self._cumulative[-1] = 1.0
        self.mean = float(np.dot(values, shares) / shares.sum())

    @property
    def fixed(self) -> int | None:
        return self.low if self.low == self.high else None

    def of(self, chance: Floats) -> Ints:
        """Return sizes for numbers in [0, 1)."""
        return self.low + np.searchsorted(self._cumulative, chance, side="right").astype(np.int64)


def _exponent(text: str, number: str) -> float:
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 20:
        raise UsageError(f"subscriptions per node '{text}': A should be a number from 0 to 20")
    return value
