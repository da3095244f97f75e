"""Find the way to a subscriber, for a node without a neighbour that subscribes to its topic.

In Vitis and RVR a node may have no neighbour that subscribes to its topic, only relays, and
relays keep no window. A node that is asked about a topic to which it does not subscribe names the
neighbours to which it would pass an event on the topic. The asker asks them in turn, over
connections of its own, until it comes to a subscriber. So a relay neither keeps nor carries old
events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.seeds import sample
from orbweaver.net.host import Host
from orbweaver.net.peers.cards import Card
from orbweaver.net.wire.connection import Connection
from orbweaver.net.wire.frames import Cards, Elsewhere, Way, control_frame
from orbweaver.net.wire.packing import tell_card

WAYS_MAX = 32
"""Most nodes that one `Elsewhere` names, and that are asked because of it."""
WAY_PAUSE_S = 2.0
"""Seconds before a named node is asked again."""


class Ways:
    """The nodes that this node names to others, and the named nodes that it asks."""

    def __init__(self, host: Host, ask: Callable[[NodeId, Iterable[Topic]], None]) -> None:
        """`ask` asks a connected node for what was missed of some topics."""
        self._host = host
        self._ask = ask
        self._followed: dict[NodeId, float] = {}
        """Node that another node has named -> when it was asked because of it."""

    def tell(self, connection: Connection, topics: Iterable[Topic]) -> None:
        """Name the neighbours that are nearer to the subscribers of these topics."""
        ways: dict[NodeId, dict[Topic, None]] = {}
        for topic in topics:
            if topic in self._host.topics:
                for node in self._host.overlay.towards(topic):
                    if node != connection.peer:
                        ways.setdefault(node, {})[topic] = None
        chosen = sample(self._host.chance, list(ways), WAYS_MAX)
        if chosen:
            cards: list[Card] = []
            for node in chosen:
                tell_card(node, connection, self._host.card_of, cards)
            named = tuple(Way(node, tuple(ways[node])) for node in chosen)
            connection.write([control_frame(Cards(tuple(cards))), control_frame(Elsewhere(named))])

    def follow(self, message: Elsewhere, now: float) -> None:
        """Ask the nodes that an `Elsewhere` names."""
        for node in [n for n, at in self._followed.items() if now - at > WAY_PAUSE_S]:
            del self._followed[node]
        for way in message.ways[:WAYS_MAX]:
            known = way.node in self._host.book and way.node != self._host.me
            if known and way.node not in self._followed:
                self._followed[way.node] = now
                self._call(way)

    def _call(self, way: Way) -> None:
        """Ask a named node, now or once there is a connection to it."""
        peers = self._host.peers
        peer = peers.get(way.node)
        if peer.connection is None:
            peers.dial(peer)
            if peer.dialling is not None:
                peer.dialling.add_done_callback(lambda _: self._ask(way.node, way.topics))
        self._ask(way.node, way.topics)
