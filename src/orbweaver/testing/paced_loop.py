"""An event loop whose time passes faster than ours, and only while nothing is to be done.

Real sockets make a test as slow as the clock and as reliable as the machine is idle: an
overlay waits seconds for a silent neighbour, and a loop that is busy, or a machine that has
other things to do, looks to it like a network where everybody is silent. Here the clock
moves while the loop waits, never beyond the next timer, and at most `TEMPO` times as fast as
ours. Work takes no time of its own, however long it takes.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from typing import Any

TEMPO = 50.0
"""Seconds of the loop in one of ours, at most. More would not give the kernel the time that
it may take to bring a message from one socket to another."""
ROUND_S = 20e-6
"""What a round of the loop takes: without it, two nodes that answer each other for ever
would stop the clock."""
PAUSE_S = 0.001
"""The shortest that a selector can wait. Shorter pauses are saved up."""


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
