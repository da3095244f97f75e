"""Events: from the publisher to the home of their topic, and down its tree.

A publisher tells the home that there is an event (PUBLISHING, routed over the control ring), and
the home pulls it, so that nodes in between never carry events that they do not want. The publisher
repeats this at growing intervals as long as the event is kept: a home that took over in between
pulls what it lacks.

What a broken branch missed is pulled afterwards. Beats name the streams of which a parent has
recent events. A child pulls what it lacks, and tells the parent of what the parent lacks, so that a
new root also learns what only its children have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from orbweaver.core.identifiers import PLACE_OF_TOPIC
from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Event, EventId
from orbweaver.core.overlay import Context
from orbweaver.gossip.cache import Held
from orbweaver.gossip.messages import Pull, Recent
from orbweaver.gossip.tree_events import PULL_MAX, RECENT_MAX, TreeEvents
from orbweaver.overlays.magnet.messages import (
    Branching,
    Have,
    Multicast,
    Publish,
    Publishing,
)
from orbweaver.overlays.magnet.params import MagnetParams

HOPS_MAX = 128
"""Most hops of a PUBLISHING message."""
FIRST_MS = 500
"""Milliseconds after which the home is told again of an event. Doubles each time."""


class Pending:
    """An event published here."""

    __slots__ = ("again_ms", "held", "hop", "taken", "wait_ms")

    def __init__(self, held: Held) -> None:
        self.held = held
        self.wait_ms = FIRST_MS
        self.again_ms = held.since + FIRST_MS
        self.hop: NodeId | None = None
        """The way by which the home was told last."""
        self.taken = False
        """A home has it."""


class Events:
    def __init__(
        self,
        context: Context,
        params: MagnetParams,
        next_hop: Callable[[int], NodeId | None],
        subscribed: Mapping[Topic, int],
    ) -> None:
        """`next_hop` routes on the control ring. `subscribed` is the live map of the subscribed
        topics and their times."""
        self._me = context.me
        self._outbox = context.outbox
        self._next_hop = next_hop
        self._keep_ms = params.keep_ms
        self._events = TreeEvents(context, subscribed, params.cache_size, params.keep_ms)
        self._pending: dict[EventId, Pending] = {}
        self._homes: dict[Topic, NodeId] = {}
        """Topic -> the home that pulled the last event from here."""

    def start(self) -> None:
        self._events.start()

    # -- publishing

    def publish(self, topic: Topic, payload: bytes) -> Event:
        held = self._events.number(topic, payload)
        event = held.event
        pending = self._pending[event.id] = Pending(held)
        home = self._homes.get(topic)
        if home is not None:
            self._outbox.send(home, Publish(event, 1, 0))
        else:
            self._tell_home(pending)
        return event

    def backlog(self) -> int:
        """Return the number of events published here a moment ago that no home has."""
        recent = self._outbox.now() - 2000
        return sum(not p.taken and p.held.since >= recent for p in self._pending.values())

    def _tell_home(self, pending: Pending) -> None:
        event = pending.held.event
        hop = pending.hop = self._next_hop(PLACE_OF_TOPIC[event.topic])
        if hop is not None:
            self._outbox.send(hop, Publishing(event.id, 1))

    def step(self) -> tuple[list[Event], list[Event]]:
        """Once a cycle: tell homes again, and forget. Return the events published here whose home
        is this node itself, and those that no home has pulled in time."""
        now = self._outbox.now()
        own: list[Event] = []
        untaken: list[Event] = []
        for name, pending in list(self._pending.items()):
            if pending.held.since < now - self._keep_ms:
                del self._pending[name]
                continue
            hop = self._next_hop(PLACE_OF_TOPIC[name[2]])
            if hop is None and not self.seen(name):
                own.append(pending.held.event)
            elif now >= pending.again_ms or (hop != pending.hop and not pending.taken):
                pending.wait_ms *= 2
                pending.again_ms = now + pending.wait_ms
                if not pending.taken:
                    untaken.append(pending.held.event)
                self._tell_home(pending)
        self._events.forget()
        return own, untaken

    def tell_through(self, event: Event, node: NodeId) -> None:
        """Let another node tell the home: the way from here may be broken."""
        self._homes.pop(event.topic, None)
        self._outbox.send(node, Publishing(event.id, 1))

    def on_publishing(self, sender: NodeId, message: Publishing) -> None:
        name = message.event
        hop = self._next_hop(PLACE_OF_TOPIC[name[2]])
        if hop is not None:
            if message.hops < HOPS_MAX:
                self._outbox.send(hop, Publishing(name, message.hops + 1))
        elif name[0] != self._me and not self.seen(name):
            self._outbox.send(name[0], Pull(name))

    def on_pull(self, sender: NodeId, message: Pull) -> None:
        name = message.event
        pending = self._pending.get(name)
        now = self._outbox.now()
        held = self._events.get(name)
        if held is not None:
            self._outbox.send(sender, Multicast(held.event, held.hops + 1, held.age_at(now)))
        elif pending is not None:
            pending.taken = True
            self._homes[name[2]] = sender
            held = pending.held
            self._outbox.send(sender, Publish(held.event, 1, held.age_at(now)))

    # -- what comes

    def seen(self, name: EventId) -> bool:
        return self._events.seen(name)

    def take(self, message: Carrier) -> bool:
        """Take in an event. Return whether it is new here."""
        new = self._events.take(message)
        if new and message.event.publisher == self._me:
            pending = self._pending.get(message.event.id)
            if pending is not None:
                pending.taken = True
        return new

    def take_own(self, event: Event) -> None:
        """Be the home of an event that was published here."""
        self.take(Multicast(event, 0, max(0, self._outbox.now() - self._since(event))))

    def pass_on(self, event: Event, peers: Sequence[NodeId]) -> None:
        """Send an event that is here to tree neighbours."""
        held = self._events.get(event.id)
        if held is not None and peers:
            now = self._outbox.now()
            self._outbox.send_all(peers, Multicast(event, held.hops + 1, held.age_at(now)))

    def _since(self, event: Event) -> int:
        pending = self._pending.get(event.id)
        return pending.held.since if pending is not None else self._outbox.now()

    # -- what was missed

    def recent(self, topic: Topic) -> tuple[Recent, ...]:
        """Return the streams of a topic of which recent events are here."""
        return self._events.told(topic)

    def compare(self, sender: NodeId, branches: Sequence[Branching]) -> None:
        """Pull from the parent what is missing here, and tell it of what it did not name."""
        left = PULL_MAX
        lacked: list[Recent] = []
        for news in branches:
            recent = [one for one in news.recent[:RECENT_MAX] if one.stream[2] == news.topic]
            left -= self._pull(sender, recent, left)
            lacked += self._events.unnamed(news.topic, news.recent)
        if lacked:
            self._outbox.send(sender, Have(tuple(lacked[-RECENT_MAX:])))

    def on_have(self, sender: NodeId, message: Have) -> None:
        self._pull(sender, message.recent, PULL_MAX)

    def _pull(self, sender: NodeId, recent: Sequence[Recent], most: int) -> int:
        names = self._events.lacking(recent, most)
        for name in names:
            self._outbox.send(sender, Pull(name))
        return len(names)
