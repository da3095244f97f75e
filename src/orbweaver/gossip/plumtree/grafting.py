"""Grafting what does not come: which holder to send the next GRAFT to."""

from __future__ import annotations

from collections.abc import Mapping

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import StreamId
from orbweaver.core.overlay import Context
from orbweaver.core.topics import Interest
from orbweaver.gossip.plumtree.awaited import AwaitedEvents
from orbweaver.gossip.plumtree.messages import Gone
from orbweaver.gossip.plumtree.missing import MissingEvents
from orbweaver.gossip.streams import Stream


class Grafting:
    PAST = 64
    """How many past events a node requests that comes late to a stream."""
    PULL_MAX = 4096
    """How many events are pulled at once of a stream that broke off."""
    PULL_PER_MS = 8
    """How many of them may be expected to come in a millisecond."""
    TRIES_MAX = 6
    """How often an event is asked for before it is given up."""
    GRAFTED_MAX = 4 * PAST
    """Most events of one GRAFT."""

    def __init__(
        self,
        context: Context,
        peers: Mapping[NodeId, Interest],
        streams: Mapping[StreamId, Stream],
    ) -> None:
        """`peers` and `streams` are live maps that the owner changes."""
        self._outbox = context.outbox
        self._topic_mask = context.topics.mask
        self._peers = peers
        self._streams = streams
        self.missing = MissingEvents()
        self.awaited = AwaitedEvents()

    def note(self, key: StreamId, seq: int, holder: NodeId) -> bool:
        """Note that `holder` has the events of a stream up to `seq`, and that those missing here
        will not come by themselves. Return whether any of them is news."""
        stream = self._streams.get(key)
        window = self.PAST if stream is None else self.PULL_MAX
        return self.missing.note(key, stream or Stream(), seq, window, holder, self._outbox.now())

    def wait_for(self, key: StreamId, seq: int, holder: NodeId, late_ms: int) -> bool:
        """Note that `holder` has the events of a stream up to `seq`, as was announced `late_ms`
        ago, and that those missing here may still come by themselves. Return whether to arm the
        timer."""
        at = self._outbox.now() - late_ms
        if self.awaited.note(key, seq, holder, at, self.missing.patience_ms):
            return True
        return self.note(key, seq, holder)

    def came(self, key: StreamId, seq: int, sender: NodeId) -> bool:
        """Note that an event has come. Return whether the sender was asked for it."""
        missing = self.missing.found(key, seq)
        if missing is None:
            return False
        self._streams[key].skip_below(missing.floor)
        if sender in missing.asked:
            return True
        self.missing.be_patient(self._outbox.now() - missing.since)
        return False

    def reached(self, key: StreamId, first: int, last: int, sender: NodeId, asked: bool) -> int:
        """Note that new events have come, and whether the sender was asked for any of them. Return
        how many milliseconds ago they, or earlier ones, were announced; 0 if they were not."""
        late_ms, waited_ms = self.awaited.came(key, first, last, self._outbox.now())
        if not asked:
            self.awaited.pushed(key, last, sender)
            if late_ms:
                self.missing.be_patient(late_ms)
        return waited_ms

    def forget_topic(self, topic: Topic) -> None:
        self.missing.give_up_topic(topic)
        self.awaited.forget_topic(topic)

    def due_in_ms(self) -> int | None:
        """Return the time until an event has to be pulled, or None if none is missing."""
        dues = (self.missing.next_due(), self.awaited.next_due())
        due = min((due for due in dues if due is not None), default=None)
        return None if due is None else max(1, due - self._outbox.now())

    def overdue(self) -> dict[tuple[NodeId, StreamId], list[int]]:
        """Return what to ask for now, by the node to ask and the stream. An event is asked for
        at one holder after the other."""
        now = self._outbox.now()
        patience_ms = self.missing.patience_ms
        for late, peer, newest in self.awaited.overdue(self._streams, now, patience_ms):
            self.note(late, newest, peer)
        asks: dict[tuple[NodeId, StreamId], list[int]] = {}
        first: dict[Topic, NodeId] = {}
        """The node that is asked first: each that is asked pushes from then on, and one is
        enough for a topic."""
        overdue = self.missing.overdue(now)
        pause_ms = max(0, len(overdue) - self.PAST) // self.PULL_PER_MS
        for key, missing in overdue:
            stream, seq = key
            # The nodes that showed that they have it, or any neighbour once they are gone.
            holders = [peer for peer in missing.holders if peer in self._peers]
            holders = holders or self._on_topic(stream[2]) or missing.holders
            tries = len(missing.asked) + 1
            if tries > self.TRIES_MAX:
                self.missing.give_up(stream, seq)
                continue
            self.missing.put_off(key, now + patience_ms * tries + pause_ms)
            holder = holders[(tries - 1) % len(holders)]
            if tries == 1 and first.setdefault(stream[2], holder) in holders:
                holder = first[stream[2]]
            missing.asked.append(holder)
            asks.setdefault((holder, stream), []).append(seq)
        return asks

    def on_gone(self, sender: NodeId, message: Gone) -> None:
        key, stream = message.stream, self._streams.get(message.stream)
        for seq in self.missing.below(key, message.below):
            if sender in self.missing.events[key, seq].asked:
                self.missing.give_up(key, seq)
                # Events beyond the highest that has come may have been made up, so they are
                # given up only for now.
                if stream is not None and seq < stream.highest():
                    stream.settle(seq)

    def _on_topic(self, topic: Topic) -> list[NodeId]:
        bit = self._topic_mask(topic)
        return [peer for peer, interest in self._peers.items() if interest.mask & bit]
