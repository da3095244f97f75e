"""The event loop of the simulator has integer ticks and one list of events for each tick.

Many events fall on the same tick, so the heap orders ticks rather than events, and an
event costs one append and one loop step. Events of one tick run in the order in which
they were scheduled. Nothing can be scheduled for the tick that is running, so a list
never grows while it is being run and no run hangs at one tick.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

Action = Callable[[Any, Any], None]


class Engine:
    def __init__(self) -> None:
        self.now = 0
        self.events = 0
        """How many events have run so far."""
        self._buckets: dict[int, list[tuple[Action, Any, Any]]] = {}
        self._ticks: list[int] = []

    def schedule(self, delay: int, action: Action, a: Any, b: Any) -> None:
        """Schedule `action(a, b)` to run after `delay` ticks, at least one."""
        tick = self.now + (delay if delay > 1 else 1)
        bucket = self._buckets.get(tick)
        if bucket is None:
            self._buckets[tick] = [(action, a, b)]
            heappush(self._ticks, tick)
        else:
            bucket.append((action, a, b))

    def pending(self) -> bool:
        return bool(self._ticks)

    def run(self, until: int, events_max: int) -> bool:
        """Run all events due up to and including tick `until`.

        Return False if the limit `events_max`, which is checked between ticks, stopped the run.
        """
        ticks = self._ticks
        buckets = self._buckets
        while ticks and ticks[0] <= until:
            tick = heappop(ticks)
            self.now = tick
            bucket = buckets.pop(tick)
            for action, a, b in bucket:
                action(a, b)
            self.events += len(bucket)
            if self.events >= events_max:
                return False
        self.now = max(self.now, until)
        return True
