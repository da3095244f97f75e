"""Pulling what does not come: GRAFT (Plumtree), asked of one holder after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Message, Purpose, StreamId
from orbweaver.core.overlay import Context
from orbweaver.core.topics import Interest
from orbweaver.gossip.streams import Stream
from orbweaver.gossip.trees import Tree
from orbweaver.gossip.wanted import Wanted


class Graft(Message, frozen=True, gc=False, tag="graft"):
    """Asks for these events, if they are no older than `age_ms_max`, and to be pushed to again."""

    purpose: ClassVar[Purpose] = "repair"
    stream: StreamId
    seqs: tuple[int, ...]
    age_ms_max: int


class Gone(Message, frozen=True, gc=False, tag="gone"):
    """Whatever of the stream comes before `below` is older than you asked for."""

    purpose: ClassVar[Purpose] = "repair"
    stream: StreamId
    below: int


class Pulling:
    TIMER = "graft"
    PAST = 64
    """Events that who comes late to a stream asks for."""
    PULL_MAX = 4096
    """Events pulled at once of a stream that broke off."""
    PULL_PER_MS = 8
    """How fast so many may be expected to come."""
    TRIES_MAX = 6
    GRAFTED_MAX = 4 * PAST
    """Events of one GRAFT."""

    def __init__(
        self,
        context: Context,
        peers: Mapping[NodeId, Interest],
        streams: Mapping[StreamId, Stream],
        tree: Callable[[Topic], Tree | None],
        age_ms_max: Callable[[Topic], int],
    ) -> None:
        """`peers` and `streams` are somebody else's, and live. A topic that we care for has a
        tree; of others nothing is pulled. `age_ms_max` is how old an event may be to be worth
        pulling."""
        self._outbox = context.outbox
        self._me = context.me
        self._topic_mask = context.topics.mask
        self._peers = peers
        self._streams = streams
        self._tree = tree
        self._age_ms_max = age_ms_max
        self.wanted = Wanted()

    def note(self, key: StreamId, seq: int, holder: NodeId) -> bool:
        """Note that `holder` has the events of a stream up to `seq`. Return whether any of them
        is news; then call `arm`."""
        if key[0] == self._me:
            return False
        stream = self._streams.get(key)
        window = self.PAST if stream is None else self.PULL_MAX
        now = self._outbox.now()
        # Events come by themselves only if a neighbour pushes. What the feeder has and has not
        # pushed before it said so will not come from it, because links keep the order.
        tree = self._tree(key[2])
        pushed = tree is None or (tree.is_fed(self._peers) and tree.feeder != holder)
        patience_ms = self.wanted.patience_ms if pushed else 0
        return self.wanted.note(key, stream or Stream(), seq, window, holder, now, patience_ms)

    def arm(self) -> None:
        due = self.wanted.next_due()
        if due is not None:
            self._outbox.set_timer(self.TIMER, max(1, due - self._outbox.now()))

    def came(self, key: StreamId, seq: int, sender: NodeId) -> bool:
        """An event has come; whether it was asked for, and of this sender."""
        missing = self.wanted.found(key, seq)
        if missing is None:
            return False
        self._streams[key].skip_below(missing.floor)
        if sender in missing.asked:
            return True
        self.wanted.be_patient(self._outbox.now() - missing.since)
        return False

    def graft(self) -> None:
        """When `TIMER` is due: pull what is overdue, asking the next holder each time."""
        now = self._outbox.now()
        asks: dict[tuple[NodeId, StreamId], list[int]] = {}
        asked: dict[Topic, NodeId] = {}
        """Whom first: each that is asked becomes an eager link, and one is enough."""
        overdue = self.wanted.overdue(now)
        pause_ms = max(0, len(overdue) - self.PAST) // self.PULL_PER_MS
        for key, missing in overdue:
            stream, seq = key
            # Those who showed that they have it, or anybody once they are gone.
            holders = [peer for peer in missing.holders if peer in self._peers]
            holders = holders or self._on_topic(stream[2]) or missing.holders
            tries = len(missing.asked) + 1
            if tries > self.TRIES_MAX or self._tree(stream[2]) is None:
                self.wanted.give_up(stream, seq)
                continue
            self.wanted.put_off(key, now + self.wanted.patience_ms * tries + pause_ms)
            holder = holders[(tries - 1) % len(holders)]
            if tries == 1 and asked.setdefault(stream[2], holder) in holders:
                holder = asked[stream[2]]
            missing.asked.append(holder)
            asks.setdefault((holder, stream), []).append(seq)
        for (holder, stream), seqs in asks.items():
            if (tree := self._tree(stream[2])) is not None:
                tree.graft(holder)
            age_ms_max, most = self._age_ms_max(stream[2]), self.GRAFTED_MAX
            for at in range(0, len(seqs), most):
                graft = Graft(stream, tuple(seqs[at : at + most]), age_ms_max)
                self._outbox.send(holder, graft)
        self.arm()

    def on_gone(self, sender: NodeId, message: Gone) -> None:
        key, stream = message.stream, self._streams.get(message.stream)
        for seq in self.wanted.below(key, message.below):
            if sender in self.wanted.events[key, seq].asked:
                self.wanted.give_up(key, seq)
                # Of what nobody has shown to be in the past, it may say so only for now.
                if stream is not None and seq < stream.highest():
                    stream.settle(seq)

    def _on_topic(self, topic: Topic) -> list[NodeId]:
        bit = self._topic_mask(topic)
        return [peer for peer, interest in self._peers.items() if interest.mask & bit]
