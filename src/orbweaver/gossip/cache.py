"""The cache keeps events that can still be passed on, for peers that ask for them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from orbweaver.core.messages import Event, StreamId, part_of


class Held(msgspec.Struct, gc=False):
    """An event or a run in the cache, with what is needed to pass it on."""

    event: Event
    hops: int
    age_ms: int
    since: int
    more: tuple[bytes, ...] = ()
    """The payloads of the events that follow `event`, in a run."""

    def age_at(self, now: int) -> int:
        return self.age_ms + now - self.since

    @property
    def last_seq(self) -> int:
        return self.event.seq + len(self.more)

    @property
    def size(self) -> int:
        """Return the bytes of the payloads."""
        size = len(self.event.payload)
        return size + sum(map(len, self.more)) if self.more else size

    def part(self, seq: int, count: int) -> tuple[Event, tuple[bytes, ...]]:
        """Return `count` events from number `seq` on: the first, and the payloads of the others."""
        return part_of(self.event, self.more, seq, count)


class Shelf(dict[tuple[StreamId, int], Held]):
    """Holds the events of one topic by stream and (first) number, and in the order of arrival."""

    __slots__ = ("events", "keep_until", "order")

    def __init__(self) -> None:
        self.order: list[Held] = []
        self.events = 0
        self.keep_until = 0
        """Until this time, no event in excess of `size` is old."""


class EventCache:
    """Keeps the last `size` events of each topic, and all events of the last `young_ms`.

    Where events follow each other fast, `size` events would be gone before a peer could ask for
    them. Peers can make up any number of topics, so there are limits over all topics too. When a
    limit is reached, each topic in its turn loses its oldest events.
    """

    EVENTS_MAX = 1 << 15
    """Most events in the cache."""
    BYTES_MAX = 64 << 20
    """Most bytes of payload in the cache."""

    def __init__(self, size: int, young_ms: int = -1) -> None:
        self._size = size
        self._young_ms = young_ms
        self._held: dict[str, Shelf] = {}
        self._starts: dict[StreamId, list[int]] = {}
        """The first numbers of the runs of more than one event, in ascending order."""
        self._turns: list[str] = []
        """The topics that give way next, in reverse order."""
        self._events = 0
        self._bytes = 0

    def put(self, held: Held, stream: StreamId) -> None:
        """Keep an event or a run."""
        shelf = self._held.get(stream[2])
        if shelf is None:
            shelf = self._held[stream[2]] = Shelf()
        seq, count = held.event.seq, 1 + len(held.more)
        if shelf.setdefault((stream, seq), held) is held:
            shelf.order.append(held)
            shelf.events += count
            self._events += count
            self._bytes += held.size
            if held.more:
                insort(self._starts.setdefault(stream, []), seq)
        if held.since >= shelf.keep_until and shelf.events > self._size:
            self._drop_old(shelf, held.since)
        if self._events > self.EVENTS_MAX or self._bytes > self.BYTES_MAX:
            self._give_way()

    def get(self, stream: StreamId, seq: int) -> Held | None:
        """Return what is kept of the event with this number: the event, or a run with it."""
        shelf = self._held.get(stream[2])
        if shelf is None:
            return None
        held = shelf.get((stream, seq))
        starts = self._starts.get(stream)
        if held is None and starts and (at := bisect_right(starts, seq)):
            run = shelf[stream, starts[at - 1]]
            return run if seq <= run.last_seq else None
        return held

    def parts(self, stream: StreamId, seqs: Iterable[int]) -> Iterator[tuple[Held, int, int]]:
        """Yield what is kept of the events with these numbers, as (event or run, first number, how
        many): numbers that follow each other in one run are taken together."""
        held, first, count = None, 0, 0
        for seq in seqs:
            if held is not None and seq == first + count and seq <= held.last_seq:
                count += 1
                continue
            if held is not None:
                yield held, first, count
            held, first, count = self.get(stream, seq), seq, 1
        if held is not None:
            yield held, first, count

    def topics(self) -> list[str]:
        return list(self._held)

    def newest(self, topic: str) -> dict[StreamId, Held]:
        """Return, for each stream among the last events on the topic, its highest one."""
        best: dict[StreamId, Held] = {}
        shelf = self._held.get(topic)
        for held in shelf.order[-self._size :] if shelf is not None else ():
            stream = held.event.stream
            if stream not in best or held.last_seq > best[stream].last_seq:
                best[stream] = held
        return best

    def drop_topic(self, topic: str) -> None:
        shelf = self._held.get(topic)
        if shelf is not None:
            self._drop(topic, shelf, len(shelf.order))

    def _drop_old(self, shelf: Shelf, now: int) -> None:
        order = shelf.order
        young = now - self._young_ms
        old = bisect_left(order, young, 0, self._excess(order), key=_since)
        if old:
            self._drop(order[0].event.topic, shelf, old)
        if excess := self._excess(order):
            # Some at a time: a list is made shorter from its front at the same cost for many
            # as for one.
            shelf.keep_until = order[excess >> 6].since + self._young_ms + 1

    def _excess(self, order: Sequence[Held]) -> int:
        """Return how many entries come before those with the last `size` events."""
        events, at = 0, len(order)
        while at and events < self._size:
            at -= 1
            events += 1 + len(order[at].more)
        return at

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
        """Drop the oldest `count` entries of a topic."""
        gone = shelf.order[:count]
        del shelf.order[:count]
        for held in gone:
            stream, seq = held.event.stream, held.event.seq
            del shelf[stream, seq]
            if held.more:
                self._starts[stream].remove(seq)
                if not self._starts[stream]:
                    del self._starts[stream]
            shelf.events -= 1 + len(held.more)
            self._events -= 1 + len(held.more)
            self._bytes -= held.size
        if not shelf.order:
            del self._held[topic]


def _since(held: Held) -> int:
    return held.since
