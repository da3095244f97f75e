"""Events that can still be passed on, kept for the peers that ask for them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import msgspec

from orbweaver.core.messages import Event, StreamId


class Held(msgspec.Struct, gc=False):
    """An event in the cache, with what is needed to pass it on."""

    event: Event
    hops: int
    age_ms: int
    since: int

    def age_at(self, now: int) -> int:
        return self.age_ms + now - self.since


class Shelf(dict[tuple[StreamId, int], Held]):
    """The events of one topic by stream and number, and in the order in which they came."""

    __slots__ = ("keep_until", "order")

    def __init__(self) -> None:
        self.order: list[Held] = []
        self.keep_until = 0
        """Until this time, no event in excess of `size` is old."""


class EventCache:
    """Keeps the last `size` events of each topic, and all events of the last `young_ms`: where
    events follow each other fast, `size` of them would be gone before a peer could ask.

    Peers can make up any number of topics, so there are limits over all topics too. When one is
    reached, the topics give way in turn, their oldest events first."""

    EVENTS_MAX = 1 << 15
    """Most events in the cache."""
    BYTES_MAX = 64 << 20
    """Most bytes of payload in the cache."""

    def __init__(self, size: int, young_ms: int = -1) -> None:
        self._size = size
        self._young_ms = young_ms
        self._held: dict[str, Shelf] = {}
        self._turns: list[str] = []
        """The topics that give way next, in reverse order."""
        self._events = 0
        self._bytes = 0

    def put(self, run: Sequence[Held], stream: StreamId) -> None:
        """Keep events of one stream that came together."""
        shelf = self._held.get(stream[2])
        if shelf is None:
            shelf = self._held[stream[2]] = Shelf()
        order, size = shelf.order, 0
        before = len(order)
        for held in run:
            event = held.event
            if shelf.setdefault((stream, event.seq), held) is held:
                order.append(held)
                size += len(event.payload)
        self._events += len(order) - before
        self._bytes += size
        now = run[-1].since
        if now >= shelf.keep_until and len(order) > self._size:
            self._drop_old(shelf, now)
        if self._events > self.EVENTS_MAX or self._bytes > self.BYTES_MAX:
            self._give_way()

    def get(self, stream: StreamId, seq: int) -> Held | None:
        shelf = self._held.get(stream[2])
        return shelf.get((stream, seq)) if shelf is not None else None

    def topics(self) -> list[str]:
        return list(self._held)

    def newest(self, topic: str) -> dict[StreamId, Held]:
        """Return, for each stream among the last events on the topic, its highest event."""
        best: dict[StreamId, Held] = {}
        shelf = self._held.get(topic)
        for held in shelf.order[-self._size :] if shelf is not None else ():
            stream = held.event.stream
            if stream not in best or held.event.seq > best[stream].event.seq:
                best[stream] = held
        return best

    def drop_topic(self, topic: str) -> None:
        shelf = self._held.get(topic)
        if shelf is not None:
            self._drop(topic, shelf, len(shelf.order))

    def _drop_old(self, shelf: Shelf, now: int) -> None:
        order = shelf.order
        young = now - self._young_ms
        old = bisect_left(order, young, 0, len(order) - self._size, key=_since)
        if old:
            self._drop(order[0].event.topic, shelf, old)
        if len(order) > self._size:
            # Some at a time: a list is made shorter from its front at the same cost for many
            # as for one.
            shelf.keep_until = order[(len(order) - self._size) >> 6].since + self._young_ms + 1

    def _give_way(self) -> None:
        few = self.EVENTS_MAX >> 6
        while self._events > self.EVENTS_MAX - few or self._bytes > self.BYTES_MAX:
            if not self._turns:
                self._turns = list(reversed(self._held))
            topic = self._turns.pop()
            shelf = self._held.get(topic)
            if shelf is not None:
                self._drop(topic, shelf, 1 + (len(shelf.order) >> 6))

    def _drop(self, topic: str, shelf: Shelf, count: int) -> None:
        """Drop the oldest `count` events of a topic."""
        gone = shelf.order[:count]
        del shelf.order[:count]
        for held in gone:
            event = held.event
            del shelf[(event.publisher, event.epoch, topic), event.seq]
            self._bytes -= len(event.payload)
        self._events -= len(gone)
        if not shelf.order:
            del self._held[topic]


def _since(held: Held) -> int:
    return held.since
