"""The simulated world has nodes, the wire between them, and everything one can do to a node.

The world knows nothing of scenarios. Its caller decides which node joins, leaves or publishes
when, and when to run on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from random import Random
from typing import cast

from orbweaver.core.identifiers import PLACE_OF_NODE, Places
from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Codec, Event, Message
from orbweaver.core.overlay import Context, Overlay
from orbweaver.core.params import Params
from orbweaver.core.topics import TopicTable
from orbweaver.records import Recorder, Records
from orbweaver.sim.engine import Engine
from orbweaver.sim.faults import Faults
from orbweaver.sim.latency import Exact, Latency
from orbweaver.sim.node import SimNode
from orbweaver.sim.oracle import Oracle


class World:
    def __init__(
        self,
        size: int,
        overlay: type[Overlay],
        params: Params,
        *,
        topics: TopicTable,
        latency: Latency,
        recorder: Recorder,
        node_seed: Callable[[NodeId, int], int],
        contacts: int = 5,
        contact_chance: Random,
        planned_contacts: Sequence[Sequence[NodeId]] | None = None,
        faults: Faults | None = None,
        measure_bytes: bool = True,
        places: Places[NodeId] = PLACE_OF_NODE,
        exact_ms: Exact | None = None,
        publisher_of: Callable[[Topic], NodeId | None] = lambda topic: None,
    ) -> None:
        """Make a world of `size` nodes, all down. `node_seed` gives the seed of a node's n-th life
        (from 1), `places` where nodes stand on the circle of identifiers, `exact_ms` the latency
        before rounding. A joining node is told of the `planned_contacts` for its number that are
        up, or of random nodes if there are no such plans."""
        self.engine = Engine()
        self.recorder = recorder
        self.topics = topics
        self.oracle = Oracle(size, topics, self.links_of)
        self._overlay = overlay
        self._params = params
        self.latency = latency
        self.exact_ms: Exact = exact_ms or latency
        self._publisher_of = publisher_of
        self.faults = faults
        self.places = places
        self._node_seed = node_seed
        self._contacts = contacts
        self._contact_chance = contact_chance
        self.planned_contacts = planned_contacts
        self.encode = Codec(overlay.messages, topics).encode if measure_bytes else None
        self.nodes = [SimNode(self, NodeId(i)) for i in range(size)]

    # -- what can be done to nodes

    def join(self, node: SimNode) -> None:
        """Bring up a node with the topics it wants."""
        if node.overlay is None:
            self.oracle.put(node.me, self.topics.interest(node.wanted))
            self._start(node, self._come_up(node))

    def join_all(self, nodes: Iterable[SimNode]) -> None:
        """Bring up many nodes at the same time: each of them can know of all the others."""
        rising = [node for node in nodes if node.overlay is None]
        self.oracle.load((n.me, self.topics.interest(n.wanted)) for n in rising)
        for node, overlay in [(node, self._come_up(node)) for node in rising]:
            self._start(node, overlay)

    def leave(self, node: SimNode) -> None:
        if node.overlay is not None:
            node.overlay.stop()
            self._go_down(node, "leave")

    def crash(self, node: SimNode) -> None:
        if node.overlay is not None:
            self._go_down(node, "crash")

    def subscribe(self, node: SimNode, topic: Topic) -> None:
        if topic in node.wanted:
            return
        node.wanted[topic] = None
        if node.overlay is not None:
            node.interest[topic] = None
            self._interest(node, topic, "subscribe")
            node.overlay.subscribe(topic)

    def unsubscribe(self, node: SimNode, topic: Topic) -> None:
        if topic not in node.wanted:
            return
        del node.wanted[topic]
        if node.overlay is not None:
            node.interest.pop(topic, None)
            self._interest(node, topic, "unsubscribe")
            node.overlay.unsubscribe(topic)

    def publish(self, node: SimNode, topic: Topic, payload: bytes) -> Event | None:
        """Publish at the node and return the event, or None if the node is down."""
        if node.overlay is None:
            return None
        if topic not in node.interest:
            node.interest[topic] = None
            self._interest(node, topic, "publish")
        event = node.overlay.publish(topic, payload)
        self.recorder.published(self.engine.now, event)
        return event

    def links_of(self, node: NodeId) -> Collection[NodeId]:
        overlay = self.nodes[node].overlay
        return () if overlay is None else overlay.links()

    def finish(self) -> Records:
        """Return the records of all that has happened, when the run is over."""
        for node in self.nodes:
            self.recorder.load(node.me, node.sent, node.received, node.bytes_sent)
        return self.recorder.finish(self.engine.now)

    # -- the wire

    def suffer(self, sender: NodeId, to: NodeId, message: Message, delay: int) -> None:
        """Send a message through the faults: it may be lost, late or duplicated."""
        assert self.faults is not None
        fate = self.faults.fate(self.engine.now, sender, to, delay)
        if isinstance(fate, str):
            self.lost(sender, to, message, fate)
            return
        for copy in fate:
            self.engine.schedule(copy, self.nodes[to].receive_here, sender, message)

    def lost(self, sender: NodeId, to: NodeId, message: Message, why: str) -> None:
        """Record that a message did not arrive."""
        self.recorder.dropped(why)
        if message.carries and self.recorder.copies:
            self.recorder.copy(self.engine.now, sender, to, cast(Carrier, message), "lost", why)

    # -- inside

    def _come_up(self, node: SimNode) -> Overlay:
        """Make the overlay object of a new life and subscribe it to the node's topics."""
        node.life += 1
        chance = Random(self._node_seed(node.me, node.life))
        context = Context(
            node.me,
            node,
            chance,
            self.topics,
            self.oracle,
            self.places,
            self._publisher_of,
            node.kept,
        )
        overlay = self._overlay(context, self._params)
        node.begin(overlay)
        for topic in node.wanted:
            self.recorder.interest(self.engine.now, node.me, topic, "subscribe")
            overlay.subscribe(topic)
        return overlay

    def _start(self, node: SimNode, overlay: Overlay) -> None:
        self.recorder.node(self.engine.now, node.me, "join")
        overlay.start(self._contacts_for(node.me))

    def _go_down(self, node: SimNode, kind: str) -> None:
        self.oracle.remove(node.me)
        self.recorder.node(self.engine.now, node.me, kind)
        for topic in node.interest:
            self.recorder.interest(self.engine.now, node.me, topic, "unsubscribe")
        node.end()

    def _interest(self, node: SimNode, topic: Topic, kind: str) -> None:
        self.recorder.interest(self.engine.now, node.me, topic, kind)
        self.oracle.put(node.me, self.topics.interest(node.interest))

    def _contacts_for(self, me: NodeId) -> list[NodeId]:
        if self.planned_contacts is not None:
            planned = self.planned_contacts[me]
            return [peer for peer in planned if self.oracle.interest_of(peer) is not None]
        contacts: list[NodeId] = []
        for _ in range(self._contacts):
            contact = self.oracle.any_peer([me, *contacts], self._contact_chance)
            if contact is not None:
                contacts.append(contact)
        return contacts
