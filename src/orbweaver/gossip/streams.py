"""Event identity: which events of a stream have been seen, and which are missing."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import cast

from orbweaver.core.messages import Event, StreamId

NONE: Sequence[int] = ()
"""Shared by all streams without gaps, which is nearly all: a list of its own for each
stream of each node would be the largest thing in a run with publications."""

GAPS_MAX = 128
"""Gaps remembered of one stream; with more, the oldest is given up. Who publishes only
every second number thus costs some kilobytes and no more."""

AGE_SLACK_MS = 200
"""Ages leave out the time on the wire, so an event may be this much older than a
subscription and still count as published after it."""


class Stream:
    """Sequence numbers seen of one (publisher, epoch, topic), in little space: all below
    `next_seq` are settled, and `ahead` has the edges of what came early: from the first to
    below the second, from the third to below the fourth, and so on."""

    __slots__ = ("ahead", "next_seq")

    def __init__(self) -> None:
        self.next_seq = 0
        self.ahead = NONE

    def seen(self, seq: int) -> bool:
        if seq < self.next_seq:
            return True
        return bool(self.ahead) and bisect_right(self.ahead, seq) % 2 == 1

    def settle(self, seq: int) -> None:
        """Mark as seen (or as given up)."""
        if seq == self.next_seq:
            if self.ahead:
                self.give_up_below(seq + 1)
            else:
                self.next_seq = seq + 1
        elif seq > self.next_seq:
            self._settle_ahead(seq)

    def highest(self) -> int:
        return (self.ahead[-1] if self.ahead else self.next_seq) - 1

    def missing_up_to(self, seq: int, window: int) -> list[int]:
        """What is not settled up to `seq`, looking back over `window` numbers at most:
        whatever is older can no longer be had from any cache, and is settled."""
        self.give_up_below(seq - window + 1)
        return self.gaps_up_to(seq, window)

    def gaps_up_to(self, seq: int, window: int) -> list[int]:
        """The same, for a number that somebody may have made up: nothing is settled."""
        numbers = range(max(self.next_seq, seq - window + 1), seq + 1)
        ahead = self.ahead
        return [s for s in numbers if bisect_right(ahead, s) % 2 == 0] if ahead else list(numbers)

    def give_up_below(self, seq: int) -> None:
        """Settle whatever comes before `seq`."""
        if seq <= self.next_seq:
            return
        self.next_seq = seq
        if self.ahead:
            passed = bisect_right(self.ahead, seq)
            if passed % 2 == 1:  # it is among what came early
                self.next_seq = self.ahead[passed]
                passed += 1
            self.ahead = self.ahead[passed:] or NONE

    def _settle_ahead(self, seq: int) -> None:
        ahead = cast("list[int]", self.ahead or [])
        at = bisect_right(ahead, seq)
        if at % 2 == 1:
            return
        joins_before = at > 0 and ahead[at - 1] == seq
        joins_after = at < len(ahead) and ahead[at] == seq + 1
        if joins_before and joins_after:
            del ahead[at - 1 : at + 1]
        elif joins_before:
            ahead[at - 1] = seq + 1
        elif joins_after:
            ahead[at] = seq
        else:
            ahead[at:at] = (seq, seq + 1)
            self.ahead = ahead
            if len(ahead) > 2 * GAPS_MAX:
                self.give_up_below(ahead[0])


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
    """The last `size` events of each topic, the oldest dropped first. Topics are limited in
    number only by what peers send, so there is a limit over all of them too; when it is
    reached, the topics give up one event each in turn."""

    EVENTS_MAX = 1 << 15
    BYTES_MAX = 64 << 20
    """Of payload."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: dict[str, dict[tuple[StreamId, int], Held]] = {}
        self._events = 0
        self._bytes = 0

    def put(self, held: Held, stream: StreamId) -> None:
        event = held.event
        topic = self._held.get(event.topic)
        if topic is None:
            topic = self._held[event.topic] = {}
        if topic.setdefault((stream, event.seq), held) is not held:
            return  # it is here already
        self._events += 1
        self._bytes += len(event.payload)
        if len(topic) > self._size:
            self._drop_oldest(topic)
        while self._events > self.EVENTS_MAX or self._bytes > self.BYTES_MAX:
            name = next(iter(self._held))
            self._drop_oldest(self._held[name])
            rest = self._held.pop(name)
            if rest:
                self._held[name] = rest  # its turn comes again after the others

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
        for held in self._held.pop(topic, {}).values():
            self._events -= 1
            self._bytes -= len(held.event.payload)

    def _drop_oldest(self, topic: dict[tuple[StreamId, int], Held]) -> None:
        held = topic.pop(next(iter(topic)))
        self._events -= 1
        self._bytes -= len(held.event.payload)
