"""How much a peer may send, and have us say of it: a bucket that fills at a steady rate."""

from __future__ import annotations

from time import monotonic
from typing import Any


class Bucket:
    """`per_s` tokens a second, and as many as `burst` saved up. Times are in seconds."""

    __slots__ = ("_burst", "_per_s", "_since", "_tokens")

    def __init__(self, per_s: float, burst: float, now: float) -> None:
        self._per_s = per_s
        self._burst = burst
        self._tokens = burst
        self._since = now

    def take(self, count: float, now: float) -> float:
        """Take tokens, on credit if need be; the answer is how long to wait until the credit
        is paid back, 0 if there is none."""
        self._tokens = self.left(now) - count
        return max(0.0, -self._tokens / self._per_s)

    def allow(self, count: float, now: float) -> bool:
        """Take tokens if there are enough. For what cannot be made to wait: whoever goes on
        without leave must not run up a debt that others have to pay."""
        if self.left(now) < count:
            return False
        self._tokens -= count
        return True

    def give(self, count: float) -> None:
        """Put tokens back."""
        self._tokens = min(self._burst, self._tokens + count)

    def left(self, now: float) -> float:
        earned = (now - self._since) * self._per_s
        self._since = now
        self._tokens = min(self._burst, self._tokens + earned)
        return self._tokens


class Sparing:
    """A logger for what peers can make us log: some lines a second, and the rest is only
    counted. The next line says how many were left out."""

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
