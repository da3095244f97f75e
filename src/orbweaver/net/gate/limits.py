"""Limit how much a peer may send, and how much a peer can make this node log."""

from __future__ import annotations

from time import monotonic
from typing import Any


class Bucket:
    """A token bucket: it gets `per_s` tokens per second and holds at most `burst`. Times are in
    seconds."""

    __slots__ = ("_burst", "_per_s", "_since", "_tokens")

    def __init__(self, per_s: float, burst: float, now: float) -> None:
        self._per_s = per_s
        self._burst = burst
        self._tokens = burst
        self._since = now

    def take(self, count: float, now: float) -> float:
        """Take tokens, on credit if there are too few. Return how many seconds to wait until the
        credit is paid back, or 0 without credit."""
        self._tokens = self.left(now) - count
        return max(0.0, -self._tokens / self._per_s)

    def allow(self, count: float, now: float) -> bool:
        """Take tokens if there are enough, and return whether there were.

        `allow` is for senders that cannot be made to wait: a sender that goes on all the same
        must not run up a debt that other senders have to pay.
        """
        if self.left(now) < count:
            return False
        self._tokens -= count
        return True

    def give(self, count: float) -> None:
        """Put tokens back."""
        self._tokens = min(self._burst, self._tokens + count)

    def left(self, now: float) -> float:
        """Return how many tokens there are now; a debt is negative."""
        earned = (now - self._since) * self._per_s
        self._since = now
        self._tokens = min(self._burst, self._tokens + earned)
        return self._tokens


class Sparing:
    """A logger for lines that peers can cause.

    It writes `PER_S` lines per second, and at most `BURST` at once; further lines are only
    counted. The next line says how many were left out.
    """

    PER_S, BURST = 2.0, 50.0

    def __init__(self, log: Any) -> None:
        self._log = log
        self._bucket = Bucket(self.PER_S, self.BURST, monotonic())
        self._left_out = 0

    def warning(self, event: str, **facts: Any) -> None:
        self._say("warning", event, facts)

    def exception(self, event: str, **facts: Any) -> None:
        self._say("exception", event, facts)

    def _say(self, level: str, event: str, facts: dict[str, Any]) -> None:
        if not self._bucket.allow(1, monotonic()):
            self._left_out += 1
            return
        if self._left_out:
            facts["left_out"], self._left_out = self._left_out, 0
        getattr(self._log, level)(event, **facts)
