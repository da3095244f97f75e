"""How events go to the root of their topic, down its tree, and again where they were missed
(Scribe, multicast message dissemination and reliability)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orbweaver.core.identifiers import PLACE_OF_TOPIC
from orbweaver.core.ids import NodeId, Topic, check_topic
from orbweaver.core.messages import Event, EventId
from orbweaver.core.overlay import Context
from orbweaver.gossip.cache import Held
from orbweaver.gossip.messages import Pull, Recent
from orbweaver.gossip.relays import Relays
from orbweaver.gossip.tree_events import TreeEvents
from orbweaver.overlays.scribe.arrival import HOPS_MAX
from orbweaver.overlays.scribe.events import Unconfirmed
from orbweaver.overlays.scribe.links import PastryLinks, PastryPeer
from orbweaver.overlays.scribe.messages import (
    RECENT_MAX,
    ScribeMulticast,
    ScribePublish,
    ScribePublished,
    ScribeRecent,
)
from orbweaver.overlays.scribe.params import ScribeParams
from orbweaver.overlays.scribe.pastry import PastryState, pastry_id

BEATS = 3
"""How often children are told again of the last event on a topic: each time may be lost."""


class TopicKeys(dict[Topic, int]):
    """Topic -> the identifier of its root's place. Computed at the first look-up."""

    SIZE_MAX = 1 << 16
    """How many keys are kept at most: other nodes may name any number of topics."""

    def __init__(self, context: Context, publishers: bool) -> None:
        """With `publishers`, the key of a topic is the identifier of its publisher, where one is
        named (Rappel 6.4)."""
        super().__init__()
        self._context = context
        self._publishers = publishers

    def __missing__(self, topic: Topic) -> int:
        if len(self) >= self.SIZE_MAX:
            self.clear()
        named = self._context.publisher_of(topic) if self._publishers else None
        place = PLACE_OF_TOPIC[topic] if named is None else self._context.places[named]
        key = self[topic] = pastry_id(place)
        return key


class Dissemination:
    """The way of events through one node. `TreeEvents` keeps them, `Relays` knows the trees,
    and the messages are sent here."""

    def __init__(
        self,
        context: Context,
        params: ScribeParams,
        state: PastryState,
        keys: TopicKeys,
        relays: Relays,
        links: PastryLinks,
        subscribed: Mapping[Topic, int],
    ) -> None:
        self._me = context.me
        self._outbox = context.outbox
        self._params = params
        self._state = state
        self._keys = keys
        self._relays = relays
        self._links = links
        self._events = TreeEvents(context, subscribed, params.cache_size, params.keep_ms)
        self.unconfirmed = Unconfirmed(params.keep_ms)
        self._roots: dict[Topic, NodeId] = {}
        """Topic -> the node that confirmed the last event as its root."""
        self._rooted: dict[Topic, None] = {}
        """Topics of which this node has taken events as the root."""
        self._told: dict[Topic, dict[NodeId, PastryPeer | None]] = {}
        """Topic with recent events -> its tree neighbours, which were told of them, and the links
        to them at that time."""
        self._beating = False

    def start(self) -> None:
        self._events.start()

    def backlog(self) -> int:
        return self.unconfirmed.backlog(self._outbox.now())

    # -- to the root

    def publish(self, topic: Topic, payload: bytes) -> Event:
        held = self._events.number(check_topic(topic), payload)
        if self.is_root(topic):
            self.take_as_root(held)
        else:
            self.unconfirmed.entrust(held, self._outbox.now())
            self.send_to_roots()
        return held.event

    def is_root(self, topic: Topic) -> bool:
        return self._state.next_hop(self._keys[topic]) is None

    def send_to_roots(self) -> None:
        """Send the events for which this node is responsible towards their roots. The second time
        the root may be another one, or the way to it broken."""
        for waiting in self.unconfirmed.due(self._outbox.now()):
            held, topic = waiting.held, waiting.held.event.topic
            hop = self._state.next_hop(self._keys[topic])
            if hop is None:
                self.take_as_root(held)
                continue
            if waiting.tries > 1:
                self._roots.pop(topic, None)
                self._links.probe(hop)
            age_ms = held.age_at(self._outbox.now())
            to = self._roots.get(topic, hop)
            self._outbox.send(to, ScribePublish(held.event, held.hops + 1, age_ms, self._me))
        if self.unconfirmed:
            self._links.step_soon()

    def on_publish(self, message: ScribePublish) -> None:
        event = message.event
        hop = self._state.next_hop(self._keys[event.topic])
        if hop is None:
            self._outbox.send(message.origin, ScribePublished(event.id))
            now = self._outbox.now()
            self.take_as_root(Held(event, message.hops, message.age_ms, now), message)
        elif message.hops < HOPS_MAX:
            onward = ScribePublish(event, message.hops + 1, message.age_ms, message.origin)
            self._outbox.send(hop, onward)

    def on_published(self, sender: NodeId, message: ScribePublished) -> None:
        topic = message.event[2]
        if message.event in self.unconfirmed and self._state.closer(sender, self._keys[topic]):
            self.unconfirmed.confirm(message.event)
            self._roots[topic] = sender

    def take_as_root(self, held: Held, message: ScribePublish | None = None) -> None:
        """Begin the way of an event down the tree."""
        event = held.event
        self.unconfirmed.confirm(event.id)
        self._rooted[event.topic] = None
        age_ms = held.age_at(self._outbox.now())
        if self._events.take(message or ScribeMulticast(event, held.hops, age_ms)):
            self._pass_on(event, self._relays.peers(event.topic))

    def resign(self) -> None:
        """Hand the recent events of a topic over to its new root, if this node is the root no
        more."""
        for topic in list(self._rooted):
            if not self.is_root(topic):
                del self._rooted[topic]
                for held in self._events.of_topic(topic):
                    self.unconfirmed.entrust(held, self._outbox.now())

    # -- down the tree

    def on_multicast(self, sender: NodeId, message: ScribeMulticast) -> None:
        """Pass an event on to the children; one that a child brought goes up, too."""
        if not self._events.take(message):
            return
        event = message.event
        branch = self._relays.branches.get(event.topic)
        if branch is None:
            return
        up = sender in branch.children
        peers = self._relays.peers(event.topic) if up else list(branch.children)
        self._pass_on(event, [peer for peer in peers if peer != sender])
        if up or sender == branch.parent:
            self._pull(sender, self._events.gaps_before(event))

    def _pass_on(self, event: Event, peers: Sequence[NodeId]) -> None:
        held = self._events.get(event.id) if peers else None
        if held is not None:
            self._outbox.send_all(peers, self._copy(held))
        if not self._beating:
            self._beating = True
            self._outbox.set_timer("beat", self._params.beat_ms)

    # -- what was missed

    def beat(self) -> None:
        """Tell the children of events, a few times after the last one."""
        self._events.forget()
        topics = self._events.topics(BEATS * self._params.beat_ms)
        branches = self._relays.branches
        self._tell({t: list(branches[t].children) for t in topics if t in branches})
        self._beating = bool(self._events.topics(self._params.keep_ms))
        if self._beating:
            self._outbox.set_timer("beat", self._params.beat_ms)

    def tell_new_neighbors(self) -> None:
        """Tell new tree neighbours, children or parent, of recent events."""
        before, links = self._told, self._links.peers
        self._told = {
            topic: {peer: links.get(peer) for peer in self._relays.peers(topic)}
            for topic in self._events.topics(self._params.keep_ms)
        }
        new: dict[Topic, list[NodeId]] = {}
        for topic, told in self._told.items():
            known = before.get(topic, {})
            new[topic] = [p for p, link in told.items() if p not in known or known[p] is not link]
        self._tell(new)

    def _tell(self, peers: dict[Topic, list[NodeId]]) -> None:
        out: dict[NodeId, list[Recent]] = {}
        for topic, of_topic in peers.items():
            told = self._events.told(topic) if of_topic else ()
            for peer in of_topic:
                out.setdefault(peer, []).extend(told)
        for peer, recent in out.items():
            self._outbox.send(peer, ScribeRecent(tuple(recent[:RECENT_MAX])))

    def on_recent(self, sender: NodeId, message: ScribeRecent) -> None:
        near = [one for one in message.recent if sender in self._relays.peers(one.stream[2])]
        self._pull(sender, self._events.lacking(near))

    def _pull(self, peer: NodeId, names: Sequence[EventId]) -> None:
        for name in names:
            self._outbox.send(peer, Pull(name))

    def on_pull(self, sender: NodeId, message: Pull) -> None:
        held = self._events.get(message.event)
        if held is not None:
            self._outbox.send(sender, self._copy(held))

    def _copy(self, held: Held) -> ScribeMulticast:
        """Return an event as it is passed on."""
        return ScribeMulticast(held.event, held.hops + 1, held.age_at(self._outbox.now()))
