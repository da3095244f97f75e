"""Dissemination by notice and pull (Vitis III-C).

Who learns of an event by a notice pulls it from whoever told it, and passes the notice on at
once; the event itself thus crosses each node's door once. A notice is repeated, a few times,
to peers that have shown no sign of knowing the event, so lost messages and links that come
up a moment later do no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import ClassVar

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Event, Message, Purpose, StreamId
from orbweaver.core.overlay import Context
from orbweaver.gossip.streams import AGE_SLACK_MS, Stream

EventId = tuple[NodeId, int, Topic, int]
"""(publisher, epoch, topic, sequence number)"""

KEEP_MS = 10_000
"""How long an event can be had from a node that got it."""
TELL_MAX = 4
"""Notices of one event to one peer that does not react."""
KNOWS = -1


class Notice(Message, frozen=True, gc=False, tag="notice"):
    """I have this event, or will have it in a moment."""

    purpose: ClassVar[Purpose] = "repair"
    announces: ClassVar[bool] = True
    event: EventId

    @property
    def topic(self) -> Topic:
        return self.event[2]


class Pull(Message, frozen=True, gc=False, tag="pull"):
    purpose: ClassVar[Purpose] = "repair"
    event: EventId


class Pulled(Carrier, frozen=True, gc=False, tag="pulled"):
    pass


class Known:
    """An event that this node has heard of, and whom it has told."""

    __slots__ = ("age_ms", "event", "hops", "pulls", "since", "sources", "told")

    def __init__(self, since: int) -> None:
        self.event: Event | None = None
        self.hops = 0
        self.age_ms = 0
        self.since = since
        self.told: dict[NodeId, int] = {}
        """Peer -> notices sent, or KNOWS."""
        self.sources: list[NodeId] = []
        """Who gave notice, the first one first."""
        self.pulls: list[NodeId] = []
        """Who has pulled while the event was still on its way here."""


class Flood:
    messages = (Notice, Pull, Pulled)

    def __init__(
        self,
        context: Context,
        targets: Callable[[Topic], Collection[NodeId]],
        subscribed: Mapping[Topic, int],
    ) -> None:
        """`targets` says to whom events on a topic go from here, `subscribed` since when
        they are delivered here."""
        self._context = context
        self._targets = targets
        self._subscribed = subscribed
        self.saw: Callable[[Topic], None] | None = None
        """Told the topic of each event that is new here."""
        self._epoch = 0
        self._sent: dict[Topic, int] = {}
        self._streams: dict[StreamId, Stream] = {}
        self._known: dict[EventId, Known] = {}

    def start(self) -> None:
        self._epoch = self._context.outbox.now()

    def publish(self, topic: Topic, payload: bytes) -> Event:
        seq = self._sent.get(topic, 0)
        self._sent[topic] = seq + 1
        event = Event(topic, self._context.me, self._epoch, seq, payload)
        known = self._learn(_name(event))
        known.event = event
        self._spread(_name(event), known)
        return event

    def on_notice(self, sender: NodeId, message: Notice) -> None:
        name = message.event
        known = self._known.get(name)
        if known is None:
            if self._seen(name):
                return
            known = self._learn(name)
            self._context.outbox.send(sender, Pull(name))
            known.told[sender] = KNOWS
            self._spread(name, known)
        known.told[sender] = KNOWS
        if known.event is None:
            known.sources.append(sender)

    def on_pull(self, sender: NodeId, message: Pull) -> None:
        known = self._known.get(message.event)
        if known is None:
            return
        known.told[sender] = KNOWS
        if known.event is None:
            known.pulls.append(sender)
        else:
            self._hand_over(sender, known)

    def on_pulled(self, sender: NodeId, message: Pulled) -> None:
        event = message.event
        known = self._known.get(_name(event))
        if known is None or known.event is not None:
            return  # not asked for, or here already from another
        known.event, known.hops, known.age_ms = event, message.hops, message.age_ms
        known.since = self._context.outbox.now()
        if self._wants(event.topic, message.age_ms):
            self._context.outbox.deliver(event, message.hops)
        for peer in known.pulls:
            self._hand_over(peer, known)
        known.pulls.clear()

    def step(self) -> None:
        """Once a cycle: forget what is old, ask and tell again where nothing came back."""
        old = self._context.outbox.now() - KEEP_MS
        for name, known in list(self._known.items()):
            if known.since < old:
                del self._known[name]
                continue
            if known.event is None and known.sources:
                # The next who said to have it; the first may have gone.
                known.sources.append(known.sources.pop(0))
                self._context.outbox.send(known.sources[0], Pull(name))
            self._spread(name, known)

    def _wants(self, topic: Topic, age_ms: int) -> bool:
        """Whoever subscribes is owed what is published from then on."""
        since = self._subscribed.get(topic)
        return since is not None and age_ms <= self._context.outbox.now() - since + AGE_SLACK_MS

    def _spread(self, name: EventId, known: Known) -> None:
        told = known.told
        peers = [peer for peer in self._targets(name[2]) if KNOWS != told.get(peer, 0) < TELL_MAX]
        if peers:
            for peer in peers:
                told[peer] = told.get(peer, 0) + 1
            self._context.outbox.send_all(peers, Notice(name))

    def _hand_over(self, peer: NodeId, known: Known) -> None:
        assert known.event is not None
        age_ms = known.age_ms + self._context.outbox.now() - known.since
        self._context.outbox.send(peer, Pulled(known.event, known.hops + 1, age_ms))

    def _learn(self, name: EventId) -> Known:
        publisher, epoch, topic, seq = name
        self._streams.setdefault((publisher, epoch, topic), Stream()).settle(seq)
        if self.saw is not None:
            self.saw(topic)
        known = self._known[name] = Known(self._context.outbox.now())
        return known

    def _seen(self, name: EventId) -> bool:
        publisher, epoch, topic, seq = name
        stream = self._streams.get((publisher, epoch, topic))
        return stream is not None and stream.seen(seq)


def _name(event: Event) -> EventId:
    return (event.publisher, event.epoch, event.topic, event.seq)
