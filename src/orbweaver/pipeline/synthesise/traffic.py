"""Draws rates of topics and churn of nodes, as functions of the row."""

from __future__ import annotations

import msgspec
import numpy as np

from orbweaver.core.errors import UsageError, nearest
from orbweaver.workload.models.chance import Floats, Ints, exponentials, permute, states
from orbweaver.workload.popularity import number_in

RATES = {"uniform": "every topic alike", "powerlaw:A": "proportional to 1/rank^A, ranks at random"}


class Rates:
    """Draws the rates of topics; the busiest topic has 1 (Vitis IV-D: A from 0.3 to 3; Magnet:
    0.75).

    Neither paper says which topic has which rank; here the rank is independent of the topic's
    popularity.
    """

    def __init__(self, text: str, topics: int, seed: int) -> None:
        name, colon, number = text.partition(":")
        if name not in ("uniform", "powerlaw") or (name == "uniform" and colon):
            raise UsageError(f"unknown rates '{text}': {nearest(text, RATES)}")
        self._alpha = number_in(f"'{text}'", number, 0, 20) if name == "powerlaw" else 0.0
        self._topics = topics
        self._seed = seed

    def of(self, topics: Ints) -> Floats:
        ranks = permute(self._seed, "rate", self._topics, topics)
        return np.asarray((ranks + 1.0) ** -self._alpha)


class OnOff(msgspec.Struct, frozen=True):
    """Draws sessions: up for Exp(on), down for Exp(off), and so on (SpiderCast 3.8: off = on / 4).

    As in `workload.churn`, every node is up at 0 and times are whole, at least 1 ms.
    """

    on_ms: float
    off_ms: float
    end_ms: int
    seed: int

    def changes(self, rows: Ints) -> tuple[Ints, Ints, Ints]:
        """Return every change before the end: place in `rows`, time, and 1 for a leave, 0 for a
        join; in the order of rows, then times."""
        state = states(self.seed, "churn", "time", rows)
        where, when, leaves = [], [], []
        active, now = np.arange(len(rows)), np.zeros(len(rows), dtype=np.int64)
        first, count = 0, 8
        while len(active):
            drawn = exponentials(state[active], count, first)
            means = np.where((np.arange(first, first + count) % 2) == 0, self.on_ms, self.off_ms)
            lasted = np.maximum(1, np.rint(np.minimum(drawn * means, 2.0**52))).astype(np.int64)
            times = np.minimum(now[:, None] + np.cumsum(lasted, axis=1), 1 << 60)
            row, column = np.nonzero(times < self.end_ms)
            where.append(active[row])
            when.append(times[row, column])
            leaves.append(1 - (first + column) % 2)
            on = times[:, -1] < self.end_ms
            active, now = active[on], times[on, -1]
            first += count
        place, time, leave = (np.concatenate(part) for part in (where, when, leaves))
        order = np.lexsort((time, place))
        return place[order], time[order], leave[order]


def parse_churn(text: str, duration_s: float, seed: int) -> OnOff:
    """Parse exponential:ON:OFF, in mean seconds, as `orbweaver simulate` takes it."""
    name, _, rest = text.partition(":")
    parts = rest.split(":")
    if name != "exponential" or len(parts) != 2:
        raise UsageError(
            f"churn '{text}' should be exponential:ON:OFF, in mean seconds up and down"
        )
    on, off = (number_in(f"'{text}'", part, 0.001, 1e9) for part in parts)
    if not 0 < duration_s <= 1e9:
        raise UsageError(f"--duration {duration_s:g} should be from 0 to 1e9 seconds")
    if duration_s / min(on, off) > 1e6:
        raise UsageError(
            f"churn '{text}' changes every node over a million times: take longer sessions"
        )
    return OnOff(on * 1000, off * 1000, round(duration_s * 1000), seed)
