"""One node's side of Scribe and Pastry."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import ClassVar

from orbweaver.core.identifiers import PLACE_OF_TOPIC
from orbweaver.core.ids import NodeId, Topic, check_topic
from orbweaver.core.messages import Event, Message
from orbweaver.core.overlay import Claims, Context, Overlay, Timer
from orbweaver.core.seeds import below, pick, sample
from orbweaver.gossip.cache import Held
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.messages import Pull, Relay, Unrelay
from orbweaver.gossip.relays import Relays
from orbweaver.overlays.scribe.events import ScribeEvents, name_of
from orbweaver.overlays.scribe.messages import (
    MESSAGES,
    SPANS_MAX,
    PastryAlive,
    PastryGone,
    PastryJoin,
    PastryProbe,
    PastryProbeOk,
    PastryRows,
    RowRequest,
    ScribeMulticast,
    ScribePublish,
    ScribePublished,
    ScribeRecent,
    Span,
)
from orbweaver.overlays.scribe.params import ScribeParams
from orbweaver.overlays.scribe.pastry import PastryState, pastry_id

HOPS_MAX = 64
"""Most hops of a routed message. Routes of a million nodes have six."""
PROBES = 3
"""Probes without an answer after which a node has failed (MSPastry: a first one and 2 more)."""
PROBING_MAX = 1024
"""Most nodes that are probed at one time."""
FAILED_MAX = 256
"""Most failed nodes that are remembered, the latest ones."""
CONTACTS_MAX = 64
"""Most contacts that are remembered."""
STEP_MS = 200
"""Milliseconds for which changes are gathered before trees follow them."""
CHECKS = 5
"""How often in each `heartbeat_ms` a node looks which neighbours have been silent too long."""
BEATS = 3
"""How often children are told again of the last event on a topic: each time may be lost."""
COMPARED = 4
"""How many nodes of a leaf set that has changed are told of it."""
JOINS_LOG2 = 7
"""How often the time until a node looks itself up again doubles: up to 128 times `join_ms`."""


class PastryPeer:
    """A neighbour. At least one end of a link has the other in its leaf set or routing table."""

    __slots__ = ("chooses", "chosen", "heard_ms")

    def __init__(self, heard_ms: int) -> None:
        self.heard_ms = heard_ms
        self.chosen = False
        """The peer is in this node's state."""
        self.chooses = False
        """This node is in the peer's state."""


class Scribe(Overlay):
    name: ClassVar[str] = "scribe"
    summary: ClassVar[str] = "multicast trees of the routes of Pastry, with relays"
    paper: ClassVar[str] = "Scribe, IEEE JSAC 2002, over Pastry, Middleware 2001"
    Params = ScribeParams
    params: ScribeParams
    messages = (*MESSAGES, Relay, Unrelay, Pull)

    def __init__(self, context: Context, params: ScribeParams) -> None:
        super().__init__(context, params)
        self.interest = OwnInterest(context.me, context.topics)
        self.pastry = PastryState(context.me, context.places, params.leaf_set, params.proximity)
        self.keys = TopicKeys(context, params.root == "publisher")
        self.relays = Relays(context, self.pastry.next_hop, params.relay_ms, self.keys)
        self.events = ScribeEvents(context, params, self.interest.subscribed)
        self.peers: dict[NodeId, PastryPeer] = {}
        self._chosen = self.pastry.ids
        """The nodes in the state when links followed it last."""
        self.running = False
        self.joined = False
        self._contacts: dict[NodeId, None] = {}
        self._joins = 0
        """How often this node has looked itself up since it joined."""
        self._probing: dict[NodeId, tuple[int, int]] = {}
        """Node that has not answered yet -> how often it was probed, and when last."""
        self._failed: dict[NodeId, int] = {}
        """Failed node -> until when others' word that it is there is not believed."""
        self._roots: dict[Topic, NodeId] = {}
        """Topic -> the node that confirmed the last event as its root."""
        self._rooted: dict[Topic, None] = {}
        """Topics of which this node has taken events as the root."""
        self._compared: tuple[NodeId, ...] = ()
        """The leaf set when it was last compared with those of other nodes."""
        self._told: dict[Topic, dict[NodeId, None]] = {}
        """Topic with recent events -> its tree neighbours, which were told of them."""
        self._stepping = False
        self._beating = False

    @classmethod
    def claims(cls, params: ScribeParams) -> Claims:
        return Claims(
            noiseless=False,
            topic_connected=False,
            total_delivery=True,
            degree_bound="leaf_set links and 15 for each of about log16 N rows of its own; those "
            "of others to it are not bounded",
        )

    # -- what hosts call

    def start(self, contacts: Sequence[NodeId]) -> None:
        outbox, rng, params = self.context.outbox, self.context.rng, self.params
        self.running = True
        self.interest.start(outbox.now())
        self.events.start()
        self.relays.want(self.interest.subscribed)
        self._learn(contacts)
        outbox.set_timer("heartbeat", 1 + below(rng, params.heartbeat_ms))
        outbox.set_timer("check", 1 + below(rng, params.heartbeat_ms))
        outbox.set_timer("table", 1 + below(rng, params.table_ms))
        self.look_self_up()

    def meet(self, contacts: Sequence[NodeId]) -> None:
        """Look this node up through a stranger: it may belong to another ring."""
        self._learn(contacts)
        strangers = [node for node in contacts if node not in self.peers and node != self.me]
        if strangers:
            self.context.outbox.send(pick(self.context.rng, strangers), PastryJoin(self.me, 0))

    def stop(self) -> None:
        self.running = False
        self.context.outbox.send_all(list(self.peers), PastryGone(leaving=True))
        for timer in TIMERS:
            self.context.outbox.cancel_timer(timer)

    def subscribe(self, topic: Topic) -> None:
        self.interest.subscribe(topic, self.context.outbox.now())
        if self.running:
            self.relays.want(self.interest.subscribed)
            self.step_soon()

    def unsubscribe(self, topic: Topic) -> None:
        self.interest.unsubscribe(topic)
        if self.running:
            self.relays.want(self.interest.subscribed)

    def publish(self, topic: Topic, payload: bytes) -> Event:
        held = self.events.make(check_topic(topic), payload)
        if self.is_root(topic):
            self.take_as_root(held)
        else:
            self.events.entrust(held)
            self.send_to_roots()
        return held.event

    def receive(self, sender: NodeId, message: Message) -> None:
        peer = self.peers.get(sender)
        if peer is not None:
            peer.heard_ms = self.context.outbox.now()
        super().receive(sender, message)

    def wake(self, timer: Timer) -> None:
        TIMERS[str(timer)](self)

    def lost(self, peer: NodeId) -> None:
        self.failed(peer)

    def backlog(self) -> int:
        return self.events.backlog()

    def links(self) -> Collection[NodeId]:
        return self.peers.keys()

    def towards(self, topic: Topic) -> Collection[NodeId]:
        found = dict.fromkeys(self.relays.peers(topic))
        hop = self.pastry.next_hop(self.keys[topic])
        return found if found or hop is None else {hop: None}

    def status(self) -> dict[str, int]:
        branches = self.relays.branches
        return {
            "leaves": len(self.pastry.leaves),
            "table": len(self.pastry.table),
            "in_links": sum(not peer.chosen for peer in self.peers.values()),
            "relay_of": sum(topic not in self.interest.subscribed for topic in branches),
            "root_of": sum(branch.parent is None for branch in branches.values()),
            "children": sum(len(branch.children) for branch in branches.values()),
        }

    @property
    def me(self) -> NodeId:
        return self.context.me

    # -- joining (Pastry 2.4)

    def look_self_up(self) -> None:
        """Send a request to join through some node, and again later. Nodes that joined at the same
        time were not there the first time, and each contact may know a ring of its own."""
        rng, params = self.context.rng, self.params
        strangers = [node for node in self._contacts if node not in self.peers]
        known = strangers or list(self.peers)
        if known:
            through = pick(rng, known)
            self.context.outbox.send(through, PastryJoin(self.me, 0))
            if self.joined:
                self._contacts.pop(through, None)
        self._joins = min(self._joins + 1, JOINS_LOG2) if self.joined else 0
        wait_ms = params.join_ms << self._joins
        self.context.outbox.set_timer("join", wait_ms // 2 + below(rng, wait_ms))

    def on_join(self, sender: NodeId, message: PastryJoin) -> None:
        """Send a node that joins the row in which it belongs, and its request on its way. The
        last node on the way adds its leaf set."""
        node = message.node
        if node == self.me or message.hops >= HOPS_MAX:
            return
        hop = self.pastry.next_hop(pastry_id(self.context.places[node]), but=node)
        row = self.pastry.row_of(node)
        found: list[NodeId] = []
        for number in range(row + 1) if message.hops == 0 else [row]:
            found += self.pastry.row(number)
        if hop is None:
            found += self.pastry.leaves
        else:
            self.context.outbox.send(hop, PastryJoin(node, message.hops + 1))
        nodes = tuple(dict.fromkeys(found))
        self.context.outbox.send(node, PastryRows(nodes, hop is None))
        self.notice([node])

    def on_rows(self, sender: NodeId, message: PastryRows) -> None:
        self.joined = self.joined or message.last
        self.consider(sender)
        self.notice(message.nodes)

    def on_row_request(self, sender: NodeId, message: RowRequest) -> None:
        nodes = tuple(self.pastry.row(message.row))
        self.context.outbox.send(sender, PastryRows(nodes, last=False))

    def refresh_table(self) -> None:
        """Ask a node of each row for its own row (Castro and others 2002): of the nodes in it,
        some may be closer."""
        self.context.outbox.set_timer("table", self.params.table_ms)
        for row in self.pastry.rows():
            self._ask_for_row(row)

    def _ask_for_row(self, row: int) -> None:
        nodes = self.pastry.row(row)
        if nodes:
            self.context.outbox.send(pick(self.context.rng, nodes), RowRequest(row))

    def _learn(self, contacts: Sequence[NodeId]) -> None:
        self._contacts.update((node, None) for node in contacts if node != self.me)
        while len(self._contacts) > CONTACTS_MAX:
            del self._contacts[next(iter(self._contacts))]

    # -- the state, and the links that follow it

    def notice(self, nodes: Iterable[NodeId], only_near: bool = False) -> None:
        """Probe the nodes that others tell of, if there may be places for them."""
        now = self.context.outbox.now()
        for node in self.pastry.wanted(nodes, only_near):
            if self._failed.get(node, -1) <= now:
                self.probe(node)

    def probe(self, node: NodeId) -> None:
        if node not in self._probing and len(self._probing) < PROBING_MAX:
            if not self._probing:
                self.context.outbox.set_timer("probe", self.params.probe_ms)
            self._send_probe(node, 1)

    def _send_probe(self, node: NodeId, times: int) -> None:
        self._probing[node] = (times, self.context.outbox.now())
        self.context.outbox.send(node, PastryProbe(self._leaves_for(node)))

    def _leaves_for(self, node: NodeId) -> tuple[NodeId, ...]:
        return self.pastry.leaves if self.pastry.is_near(node) else ()

    def probe_again(self) -> None:
        due = self.context.outbox.now() - self.params.probe_ms
        for node, (times, at) in list(self._probing.items()):
            if at > due:
                continue
            if times < PROBES:
                self._send_probe(node, times + 1)
            else:
                self.failed(node)
        if self._probing:
            self.context.outbox.set_timer("probe", self.params.probe_ms)

    def on_probe(self, sender: NodeId, message: PastryProbe) -> None:
        self.consider(sender)
        self.context.outbox.send(sender, PastryProbeOk(self._leaves_for(sender)))
        self.notice(message.leaves, only_near=True)

    def on_probe_ok(self, sender: NodeId, message: PastryProbeOk) -> None:
        # A host may need a moment to measure the round trip. The next probe finds it.
        times, _ = self._probing.get(sender, (PROBES, 0))
        measured = self.context.outbox.round_trip_ms(sender) is not None
        if measured or times >= PROBES or not self.pastry.wanted([sender]):
            self._probing.pop(sender, None)
        self.consider(sender)
        self.notice(message.leaves, only_near=True)

    def consider(self, node: NodeId) -> None:
        """Give a node that has spoken for itself its places in the state."""
        self._failed.pop(node, None)
        if self.pastry.put(node, self.context.outbox.round_trip_ms(node)):
            self.choose()

    def choose(self) -> None:
        """Make the links follow the state."""
        before, state = self._chosen, self.pastry.ids
        self._chosen = state
        for node in [node for node in state if node not in before]:
            peer = self.peers.get(node) or self._link(node)
            peer.chosen = True
            self.context.outbox.send(node, PastryAlive(chosen=True))
        for node in [node for node in before if node not in state]:
            left = self.peers.get(node)
            if left is not None:
                left.chosen = False
                self.context.outbox.send(node, PastryAlive(chosen=False))
                if not left.chooses:
                    self._unlink(node)
        self.relays.reroute()
        self.step_soon()

    def _link(self, node: NodeId) -> PastryPeer:
        peer = self.peers[node] = PastryPeer(self.context.outbox.now())
        self.context.outbox.link_up(node)
        return peer

    def _unlink(self, node: NodeId) -> None:
        del self.peers[node]
        self.context.outbox.link_down(node)
        self.relays.lost(node)
        for told in self._told.values():
            told.pop(node, None)
        self.step_soon()

    def on_alive(self, sender: NodeId, message: PastryAlive) -> None:
        peer = self.peers.get(sender)
        if message.chosen:
            peer = peer or self._link(sender)
            peer.chooses = True
        elif peer is not None:
            peer.chooses = False
        if sender not in self.pastry.ids:
            self.consider(sender)
        peer = self.peers.get(sender)
        if peer is None or not (peer.chosen or peer.chooses):
            if peer is not None:
                self._unlink(sender)
            self.context.outbox.send(sender, PastryGone(leaving=False))

    def on_gone(self, sender: NodeId, message: PastryGone) -> None:
        peer = self.peers.get(sender)
        if message.leaving:
            self.failed(sender)
        elif peer is not None and peer.chosen:
            peer.chooses = False
            self.context.outbox.send(sender, PastryAlive(chosen=True))
        elif peer is not None:
            self._unlink(sender)

    def beat_hearts(self) -> None:
        """Send heartbeats, and compare leaf sets with one neighbour."""
        outbox = self.context.outbox
        outbox.set_timer("heartbeat", self.params.heartbeat_ms)
        for chosen in (True, False):
            nodes = [node for node, peer in self.peers.items() if peer.chosen == chosen]
            outbox.send_all(nodes, PastryAlive(chosen))
        self.compare_leaves(1)
        self.relays.step()

    def check_silent(self) -> None:
        """Probe the neighbours that have sent no heartbeat in time."""
        outbox, params = self.context.outbox, self.params
        outbox.set_timer("check", max(1, params.heartbeat_ms // CHECKS))
        silent = outbox.now() - params.heartbeat_ms - params.probe_ms
        for node, peer in self.peers.items():
            if peer.heard_ms < silent:
                self.probe(node)

    def compare_leaves(self, count: int) -> None:
        """Exchange leaf sets with some nodes of it."""
        leaves = self._compared = self.pastry.leaves
        self.context.outbox.send_all(sample(self.context.rng, leaves, count), PastryProbe(leaves))

    def failed(self, node: NodeId) -> None:
        """Forget a node, and ask others for what comes in its place (Pastry 2.4)."""
        outbox = self.context.outbox
        self._probing.pop(node, None)
        self._contacts.pop(node, None)
        self._failed.pop(node, None)
        self._failed[node] = outbox.now() + 2 * self.params.heartbeat_ms
        if len(self._failed) > FAILED_MAX:
            del self._failed[next(iter(self._failed))]
        was_leaf = node in self.pastry.leaves
        row = self.pastry.drop(node)
        if node in self.peers:
            self._unlink(node)
        self.choose()
        if was_leaf:
            for leaf in self.pastry.edges():
                outbox.send(leaf, PastryProbe(self.pastry.leaves))
        if row is not None:
            self._ask_for_row(row)

    # -- trees

    def is_root(self, topic: Topic) -> bool:
        return self.pastry.next_hop(self.keys[topic]) is None

    def step_soon(self) -> None:
        if not self._stepping and self.running:
            self._stepping = True
            self.context.outbox.set_timer("step", STEP_MS)

    def step(self) -> None:
        """Let trees and events follow the changes of the last moments."""
        self._stepping = False
        if self._compared != self.pastry.leaves:
            self.compare_leaves(COMPARED)
        self.relays.step()
        self.resign()
        self.send_to_roots()
        self.tell_new_neighbors()

    def on_relay(self, sender: NodeId, message: Relay) -> None:
        """Take JOIN from a child. It would not send it if this node were not in its state."""
        peer = self.peers.get(sender) or self._link(sender)
        peer.chooses = True
        self.relays.on_relay(sender, message)
        self.step_soon()

    # -- events

    def send_to_roots(self) -> None:
        """Send the events for which this node is responsible towards their roots. The second time
        the root may be another one, or the way to it broken."""
        for waiting in self.events.due():
            held, topic = waiting.held, waiting.held.event.topic
            hop = self.pastry.next_hop(self.keys[topic])
            if hop is None:
                self.take_as_root(held)
                continue
            if waiting.tries > 1:
                self._roots.pop(topic, None)
                self.probe(hop)
            age_ms = held.age_at(self.context.outbox.now())
            to = self._roots.get(topic, hop)
            self.context.outbox.send(to, ScribePublish(held.event, held.hops + 1, age_ms, self.me))
        if self.events.unconfirmed:
            self.step_soon()

    def on_publish(self, sender: NodeId, message: ScribePublish) -> None:
        event = message.event
        hop = self.pastry.next_hop(self.keys[event.topic])
        if hop is None:
            self.context.outbox.send(message.origin, ScribePublished(name_of(event)))
            now = self.context.outbox.now()
            self.take_as_root(Held(event, message.hops, message.age_ms, now), message)
        elif message.hops < HOPS_MAX:
            onward = ScribePublish(event, message.hops + 1, message.age_ms, message.origin)
            self.context.outbox.send(hop, onward)

    def on_published(self, sender: NodeId, message: ScribePublished) -> None:
        topic = message.event[2]
        if message.event in self.events.unconfirmed and self.pastry.closer(
            sender, self.keys[topic]
        ):
            del self.events.unconfirmed[message.event]
            self._roots[topic] = sender

    def take_as_root(self, held: Held, message: ScribePublish | None = None) -> None:
        """Begin the way of an event down the tree."""
        event = held.event
        self.events.unconfirmed.pop(name_of(event), None)
        self._rooted[event.topic] = None
        age_ms = held.age_at(self.context.outbox.now())
        if self.events.take(message or ScribeMulticast(event, held.hops, age_ms)):
            self._pass_on(event, self.relays.peers(event.topic))

    def resign(self) -> None:
        """Hand the recent events of a topic over to its new root, if this node is the root no
        more."""
        for topic in list(self._rooted):
            if not self.is_root(topic):
                del self._rooted[topic]
                for held in self.events.held(topic):
                    self.events.entrust(held)

    def on_multicast(self, sender: NodeId, message: ScribeMulticast) -> None:
        """Pass an event on to the children; one that a child brought goes up, too."""
        if not self.events.take(message):
            return
        event = message.event
        branch = self.relays.branches.get(event.topic)
        if branch is None:
            return
        up = sender in branch.children
        peers = self.relays.peers(event.topic) if up else list(branch.children)
        self._pass_on(event, [peer for peer in peers if peer != sender])
        if up or sender == branch.parent:
            self._pull(sender, self.events.gaps_before(event))

    def _pass_on(self, event: Event, peers: Sequence[NodeId]) -> None:
        message = self.events.copy(name_of(event)) if peers else None
        if message is not None:
            self.context.outbox.send_all(peers, message)
        if not self._beating:
            self._beating = True
            self.context.outbox.set_timer("beat", self.params.beat_ms)

    def beat(self) -> None:
        """Tell the children of events, a few times after the last one."""
        topics = self.events.topics(BEATS * self.params.beat_ms)
        branches = self.relays.branches
        self._tell({t: list(branches[t].children) for t in topics if t in branches})
        self._beating = bool(self.events.topics(self.params.keep_ms))
        if self._beating:
            self.context.outbox.set_timer("beat", self.params.beat_ms)

    def tell_new_neighbors(self) -> None:
        """Tell new tree neighbours, children or parent, of recent events."""
        peers = {t: self.relays.peers(t) for t in self.events.topics(self.params.keep_ms)}
        before, self._told = self._told, {t: dict.fromkeys(found) for t, found in peers.items()}
        self._tell({t: [p for p in peers[t] if p not in before.get(t, ())] for t in peers})

    def _tell(self, peers: dict[Topic, list[NodeId]]) -> None:
        out: dict[NodeId, list[Span]] = {}
        for topic, of_topic in peers.items():
            spans = self.events.spans(topic) if of_topic else []
            for peer in of_topic:
                out.setdefault(peer, []).extend(spans)
        for peer, spans in out.items():
            self.context.outbox.send(peer, ScribeRecent(tuple(spans[:SPANS_MAX])))

    def on_recent(self, sender: NodeId, message: ScribeRecent) -> None:
        near = [span for span in message.spans if sender in self.relays.peers(span.stream[2])]
        self._pull(sender, self.events.lacking(near))

    def _pull(self, peer: NodeId, names: Sequence[tuple[NodeId, int, Topic, int]]) -> None:
        for name in names:
            self.context.outbox.send(peer, Pull(name))

    def on_pull(self, sender: NodeId, message: Pull) -> None:
        found = self.events.copy(message.event)
        if found is not None:
            self.context.outbox.send(sender, found)


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


TIMERS: dict[str, Callable[[Scribe], None]] = {
    "join": Scribe.look_self_up,
    "heartbeat": Scribe.beat_hearts,
    "check": Scribe.check_silent,
    "probe": Scribe.probe_again,
    "table": Scribe.refresh_table,
    "step": Scribe.step,
    "beat": Scribe.beat,
}

Scribe.ON = {
    PastryJoin: Scribe.on_join,
    PastryRows: Scribe.on_rows,
    RowRequest: Scribe.on_row_request,
    PastryProbe: Scribe.on_probe,
    PastryProbeOk: Scribe.on_probe_ok,
    PastryAlive: Scribe.on_alive,
    PastryGone: Scribe.on_gone,
    Relay: Scribe.on_relay,
    Unrelay: lambda node, sender, message: node.relays.on_unrelay(sender, message),
    ScribePublish: Scribe.on_publish,
    ScribePublished: Scribe.on_published,
    ScribeMulticast: Scribe.on_multicast,
    ScribeRecent: Scribe.on_recent,
    Pull: Scribe.on_pull,
}
