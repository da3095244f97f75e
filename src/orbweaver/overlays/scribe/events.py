"""Events on their way to the root.

Scribe itself delivers with best effort. Here the publisher repeats an event until a root has
confirmed it. This part remembers and decides. Its owner sends. What a broken branch missed is
pulled afterwards (`gossip/tree_events.py`).
"""

from __future__ import annotations

from orbweaver.core.messages import EventId
from orbweaver.gossip.cache import Held

AGAIN_MS = 1000
"""Milliseconds after which an event that no root has confirmed is sent again. Doubles each
time."""
BACKLOG_MS = 2000
"""Milliseconds for which an event that no root has confirmed counts as backlog."""


class Entrusted:
    """An event that a root has to get from here."""

    __slots__ = ("again_ms", "held", "tries")

    def __init__(self, held: Held, now: int) -> None:
        self.held = held
        self.tries = 0
        self.again_ms = now


class Unconfirmed:
    """The events that no root has confirmed."""

    def __init__(self, keep_ms: int) -> None:
        self._keep_ms = keep_ms
        self._events: dict[EventId, Entrusted] = {}

    def __len__(self) -> int:
        return len(self._events)

    def __contains__(self, name: EventId) -> bool:
        return name in self._events

    def entrust(self, held: Held, now: int) -> None:
        """Remember an event until a root has confirmed it."""
        self._events.setdefault(held.event.id, Entrusted(held, now))

    def confirm(self, name: EventId) -> None:
        self._events.pop(name, None)

    def due(self, now: int) -> list[Entrusted]:
        """Return the events that have to be sent towards the root now, and count that as done."""
        for name, waiting in list(self._events.items()):
            if waiting.held.since < now - self._keep_ms:
                del self._events[name]
        due = [waiting for waiting in self._events.values() if waiting.again_ms <= now]
        for waiting in due:
            waiting.again_ms = now + (AGAIN_MS << min(waiting.tries, 5))
            waiting.tries += 1
        return due

    def backlog(self, now: int) -> int:
        """Return how many events of the last moments no root has confirmed."""
        return sum(waiting.held.since >= now - BACKLOG_MS for waiting in self._events.values())
