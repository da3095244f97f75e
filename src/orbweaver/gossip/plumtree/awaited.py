"""Announced events that may still come by themselves, and when to wait for them no longer.

Links keep the order: a neighbour that pushes a stream and has not reached a number yet may still
bring it, however long its queue is, and a neighbour that has pushed a later number will not. So an
announced event is waited for until no neighbour has pushed an earlier number for a while. To ask
after a fixed time instead does harm where queues are long: each announcement overtakes its event
and makes the node ask for what is on its way, the answers lengthen the queues, and each node that
was asked pushes from then on, until every link of the tree carries every event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from heapq import heappop, heappush

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import StreamId
from orbweaver.gossip.streams import Stream

WAIT_MS_MAX = 10_000
"""How long an announced event is waited for at most, in milliseconds, so that a peer that pushes
and never comes to the event does not keep the node from asking others."""

STEPS_MAX = 1 << 10
"""Most announcements of one stream that are told apart by their times. Further ones count as made
together with the last, since a peer can make up any number of them."""


class Announced:
    """What was announced of one stream and has not come."""

    __slots__ = ("due", "holders", "reached", "steps")

    def __init__(self, due: int) -> None:
        self.due = due
        self.holders: dict[NodeId, int] = {}
        """Neighbour -> the highest number that it has announced."""
        self.steps: deque[tuple[int, int]] = deque()
        """(time, highest number announced until then), in ascending order."""
        self.reached: dict[NodeId, int] = {}
        """Neighbour -> the number that it has pushed up to, since the last look."""

    def look(self, now: int, patience_ms: int, next_seq: int) -> int:
        """Return the number up to which events are waited for no longer, -1 for none, and set when
        to look again. All numbers below `next_seq` have come."""
        steps, pushed = self.steps, min(self.reached.values(), default=None)
        self.reached = {}
        limit = -1
        while steps:
            at, seq = steps[0]
            if seq >= next_seq:
                if at > now - patience_ms:
                    break
                if pushed is not None and seq > pushed and at > now - WAIT_MS_MAX:
                    limit = max(limit, pushed)
                    break
                limit = seq
            steps.popleft()
        self.due = now + patience_ms
        if pushed is None and steps:
            self.due = steps[0][0] + patience_ms
        return limit


class AwaitedEvents:
    STREAMS_MAX = 1 << 12
    """Of how many streams announced events are waited for at one time. A peer can make up any
    number of streams."""

    def __init__(self) -> None:
        self.streams: dict[StreamId, Announced] = {}
        self._dues: list[tuple[int, StreamId]] = []
        """A heap of when streams are due. Entries that hold no longer are skipped."""

    def note(self, key: StreamId, seq: int, holder: NodeId, at: int, patience_ms: int) -> bool:
        """Note that `holder` has shown at this time that it has the events of a stream up to `seq`.
        Return False if they cannot be waited for, because events of too many streams are."""
        announced = self.streams.get(key)
        if announced is None:
            if len(self.streams) >= self.STREAMS_MAX:
                return False
            announced = self.streams[key] = Announced(at + patience_ms)
            heappush(self._dues, (announced.due, key))
        announced.holders[holder] = max(seq, announced.holders.get(holder, -1))
        steps = announced.steps
        if not steps or seq > steps[-1][1]:
            if len(steps) >= STEPS_MAX:
                steps[-1] = (steps[-1][0], seq)
            else:
                steps.append((at, seq))
        elif seq < steps[0][1] and len(steps) < STEPS_MAX:
            steps.appendleft((min(at, steps[0][0]), seq))
        return True

    def pushed(self, key: StreamId, last: int, sender: NodeId) -> None:
        """Note that a neighbour has pushed a stream up to number `last` by itself."""
        announced = self.streams.get(key)
        if announced is not None:
            announced.reached[sender] = last

    def came(self, key: StreamId, first: int, last: int, now: int) -> tuple[int, int]:
        """Note that new events from `first` to `last` have come, and wait no longer for them or
        earlier ones. Return how many milliseconds ago they were announced, and how many
        milliseconds ago they or earlier ones were; 0 if they were not."""
        announced, late_ms, waited_ms = self.streams.get(key), 0, 0
        steps = announced.steps if announced is not None else deque[tuple[int, int]]()
        while steps and steps[0][1] <= last:
            at, seq = steps.popleft()
            waited_ms = max(waited_ms, now - at)
            if seq >= first:
                late_ms = max(late_ms, now - at)
        return late_ms, waited_ms

    def overdue(
        self, streams: Mapping[StreamId, Stream], now: int, patience_ms: int
    ) -> list[tuple[StreamId, NodeId, int]]:
        """Return what is waited for no longer: (stream, holder, up to which number)."""
        found: list[tuple[StreamId, NodeId, int]] = []
        while (due := self.next_due()) is not None and due <= now:
            _, key = heappop(self._dues)
            announced, stream = self.streams[key], streams.get(key)
            limit = announced.look(now, patience_ms, stream.next_seq if stream is not None else 0)
            found += [(key, peer, min(seq, limit)) for peer, seq in announced.holders.items()]
            if announced.steps:
                heappush(self._dues, (announced.due, key))
            else:
                del self.streams[key]
        return [each for each in found if each[2] >= 0]

    def next_due(self) -> int | None:
        dues = self._dues
        while dues:
            due, key = dues[0]
            announced = self.streams.get(key)
            if announced is not None and announced.due == due:
                return due
            heappop(dues)
        return None

    def forget_topic(self, topic: Topic) -> None:
        for key in [key for key in self.streams if key[2] == topic]:
            del self.streams[key]
