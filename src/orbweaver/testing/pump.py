"""The pump is the simplest host: every message sent in one step arrives in the next.

It has no directory, so overlays have to find each other by themselves. It sends every message
through the codec, so what an overlay puts into a message must survive the wire.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from random import Random

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Codec, Event, Message
from orbweaver.core.overlay import Context, Overlay, Timer, check_kept
from orbweaver.core.params import Params
from orbweaver.core.seeds import generator, sample
from orbweaver.core.topics import TopicTable

STEP_MS = 5
PUBLISHERS = {"weather": NodeId(2)}
"""Feed -> its publisher. Overlays are told no publisher of any other feed."""


class PumpNode:
    """Serves as the outbox of a node during one life, with a topic table of its own as in a
    process."""

    def __init__(self, pump: Pump, me: NodeId, rng: Random) -> None:
        self._pump = pump
        self._me = me
        self.timers: dict[Timer, int] = {}
        self.topics = TopicTable()
        self.codec = Codec(pump.overlay.messages, self.topics)
        self.interest: dict[Topic, None] = {}
        self.linked: dict[NodeId, None] = {}
        kept = pump.kept.get(me, b"")
        context = Context(me, self, rng, self.topics, publisher_of=PUBLISHERS.get, kept=kept)
        self.overlay = pump.overlay(context, pump.params)

    def now(self) -> int:
        return self._pump.now

    def send(self, to: NodeId, message: Message) -> None:
        self._pump.post(self._me, to, self.codec.encode(message))

    def send_all(self, peers: Iterable[NodeId], message: Message) -> None:
        for peer in peers:
            self.send(peer, message)

    def set_timer(self, timer: Timer, delay_ms: int) -> None:
        self.timers.pop(timer, None)
        self.timers[timer] = self._pump.now + delay_ms

    def cancel_timer(self, timer: Timer) -> None:
        self.timers.pop(timer, None)

    def deliver(self, message: Carrier) -> None:
        assert message.hops >= 1, "a delivered event has crossed a link"
        self._pump.deliveries.append((self._me, message.event))

    def link_up(self, peer: NodeId) -> None:
        assert peer not in self.linked, f"{self._me} says twice that its link to {peer} is up"
        self.linked[peer] = None

    def link_down(self, peer: NodeId) -> None:
        assert peer in self.linked, f"{self._me} drops a link to {peer} that was not up"
        del self.linked[peer]

    def round_trip_ms(self, peer: NodeId) -> float:
        return 2.0 * STEP_MS

    def keep(self, blob: bytes) -> None:
        check_kept(blob)
        self._pump.kept[self._me] = blob


class Pump:
    """Runs a cluster on this host."""

    def __init__(self, overlay: type[Overlay], params: Params, seed: int) -> None:
        self.overlay = overlay
        self.params = params
        self.now = 0
        self.deliveries: list[tuple[NodeId, Event]] = []
        self.noise: list[tuple[NodeId, Event]] = []
        self.kept: dict[NodeId, bytes] = {}
        """What overlays keep for the next lives of their nodes."""
        self._nodes: dict[NodeId, PumpNode] = {}
        self._post: list[tuple[NodeId, NodeId, bytes]] = []
        self._loss = 0.0
        self._seed = seed
        self._rng = generator("pump", seed)
        self._lives = 0

    def join(self, node: int, topics: Collection[Topic]) -> None:
        me = NodeId(node)
        self._lives += 1
        made = PumpNode(self, me, generator("pump", self._seed, node, self._lives))
        contacts = sample(self._rng, sorted(self._nodes), 3)
        self._nodes[me] = made
        for topic in topics:
            made.interest[topic] = None
            made.overlay.subscribe(topic)
        made.overlay.start(contacts)

    def leave(self, node: int) -> None:
        self._nodes.pop(NodeId(node)).overlay.stop()

    def crash(self, node: int) -> None:
        del self._nodes[NodeId(node)]

    def subscribe(self, node: int, topic: Topic) -> None:
        self._nodes[NodeId(node)].interest[topic] = None
        self._nodes[NodeId(node)].overlay.subscribe(topic)

    def unsubscribe(self, node: int, topic: Topic) -> None:
        self._nodes[NodeId(node)].interest.pop(topic, None)
        self._nodes[NodeId(node)].overlay.unsubscribe(topic)

    def publish(self, node: int, topic: Topic, payload: bytes = b"") -> Event:
        self._nodes[NodeId(node)].interest[topic] = None
        return self._nodes[NodeId(node)].overlay.publish(topic, payload)

    def lose(self, share: float) -> None:
        self._loss = share

    def post(self, sender: NodeId, to: NodeId, data: bytes) -> None:
        if self._rng.random() >= self._loss:
            self._post.append((sender, to, data))

    def hand(self, node: int, sender: int, message: Message) -> None:
        self._nodes[NodeId(node)].overlay.receive(NodeId(sender), message)

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds * 1000 / STEP_MS)):
            self.now += STEP_MS
            self._step()

    def up(self) -> dict[int, Collection[Topic]]:
        return {me: list(node.interest) for me, node in self._nodes.items()}

    def links(self, node: int) -> list[NodeId]:
        made = self._nodes.get(NodeId(node))
        if made is None:
            return []
        links = sorted(made.overlay.links())
        assert links == sorted(made.linked), f"links() of {node} differ from what it reported"
        return links

    def status(self, node: int) -> dict[str, int]:
        return self._nodes[NodeId(node)].overlay.status()

    def close(self) -> None:
        pass

    def _step(self) -> None:
        arriving, self._post = self._post, []
        for sender, to, data in arriving:
            node = self._nodes.get(to)
            if node is None:
                continue
            message = node.codec.decode(data)
            if isinstance(message, Carrier) and message.event.topic not in node.interest:
                self.noise.append((to, message.event))
            node.overlay.receive(sender, message)
        for node in list(self._nodes.values()):
            for timer in [t for t, due in node.timers.items() if due <= self.now]:
                if node.timers.pop(timer, None) is not None:
                    node.overlay.wake(timer)
