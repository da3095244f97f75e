"""An event loop with a clock that is faster than ours and runs only while the loop waits.

Real sockets make a test as slow as the clock, and reliable only on an idle machine. An overlay
waits seconds for a silent neighbour, and to a node on a busy machine all peers seem silent. Here
the clock moves while the loop waits, never beyond the next timer, and at most `TEMPO` times as fast
as ours. Work takes no time, however long it takes.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from typing import Any

TEMPO = 50.0
"""Most seconds of the loop in one of ours. With more, the kernel would not have the time that it
may take to bring a message from socket to socket."""
ROUND_S = 20e-6
"""Seconds that a round of the loop takes. Without it, two nodes that answer each other for ever
would stop the clock."""
PAUSE_S = 0.001
"""Shortest wait of a selector, in seconds. Shorter pauses are added up."""


class PacedSelector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self._owed = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            return super().select(None)  # there is no timer; a thread may bring something
        owed = self._owed + max(0.0, timeout) / TEMPO
        began = time.monotonic()
        ready = super().select(owed if owed >= PAUSE_S else 0)
        if ready or timeout <= 0:
            self.now += ROUND_S
        else:
            self.now += timeout
            self._owed = max(-PAUSE_S, owed - (time.monotonic() - began))
        return ready


class PacedLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = PacedSelector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now
