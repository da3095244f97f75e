"""Event identity: which events of a stream have been seen, and which are missing."""

from __future__ import annotations

from orbweaver.core.messages import Event, StreamId

NONE: frozenset[int] = frozenset()
"""Shared by all streams without gaps, which is nearly all: a set of its own for each
stream of each node would be the largest thing in a run with publications."""

AGE_SLACK_MS = 200
"""Ages leave out the time on the wire, so an event may be this much older than a
subscription and still count as published after it."""


class Stream:
    """Sequence numbers seen of one (publisher, epoch, topic), in little space: all below
    `next_seq` are settled, those in `ahead` came early."""

    __slots__ = ("ahead", "next_seq")

    def __init__(self) -> None:
        self.next_seq = 0
        self.ahead = NONE

    def seen(self, seq: int) -> bool:
        return seq < self.next_seq or seq in self.ahead

    def settle(self, seq: int) -> None:
        """Mark as seen (or as given up)."""
        if seq < self.next_seq:
            return
        if seq > self.next_seq:
            self.ahead |= {seq}
            return
        self.next_seq += 1
        self._close_up()

    def highest(self) -> int:
        return max(self.ahead, default=self.next_seq - 1)

    def missing_up_to(self, seq: int, window: int) -> list[int]:
        """What is not settled up to `seq`, looking back over `window` numbers at most:
        whatever is older can no longer be had from any cache, and is settled."""
        first = seq - window + 1
        if first > self.next_seq:
            self.next_seq = first
            self.ahead = frozenset(ahead for ahead in self.ahead if ahead >= first)
            self._close_up()
        return [s for s in range(self.next_seq, seq + 1) if s not in self.ahead]

    def _close_up(self) -> None:
        while self.next_seq in self.ahead:
            self.ahead = self.ahead - {self.next_seq} or NONE
            self.next_seq += 1


class Held:
    """An event in the cache, with what is needed to pass it on."""

    __slots__ = ("age_ms", "event", "hops", "since")

    def __init__(self, event: Event, hops: int, age_ms: int, since: int) -> None:
        self.event = event
        self.hops = hops
        self.age_ms = age_ms
        self.since = since

    def age_at(self, now: int) -> int:
        return self.age_ms + now - self.since


class EventCache:
    """The last `size` events of each topic, the oldest dropped first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: dict[str, dict[tuple[StreamId, int], Held]] = {}

    def put(self, held: Held, stream: StreamId) -> None:
        event = held.event
        topic = self._held.get(event.topic)
        if topic is None:
            topic = self._held[event.topic] = {}
        topic[(stream, event.seq)] = held
        if len(topic) > self._size:
            del topic[next(iter(topic))]

    def get(self, stream: StreamId, seq: int) -> Held | None:
        topic = self._held.get(stream[2])
        return topic.get((stream, seq)) if topic else None

    def topics(self) -> list[str]:
        return list(self._held)

    def newest(self, topic: str) -> dict[StreamId, Held]:
        """Of each stream on the topic, the event with the highest number."""
        best: dict[StreamId, Held] = {}
        for (stream, seq), held in self._held.get(topic, {}).items():
            if stream not in best or seq > best[stream].event.seq:
                best[stream] = held
        return best

    def drop_topic(self, topic: str) -> None:
        self._held.pop(topic, None)
