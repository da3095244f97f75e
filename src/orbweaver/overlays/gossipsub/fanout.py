"""Fanout peers are for topics that a node publishes on without subscribing to them."""

from __future__ import annotations

from collections.abc import Collection
from random import Random

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.seeds import sample
from orbweaver.overlays.gossipsub.params import GossipSubParams


class Fanout:
    def __init__(self, params: GossipSubParams, rng: Random) -> None:
        self._params = params
        self._rng = rng
        self.peers: dict[Topic, dict[NodeId, None]] = {}
        self._published: dict[Topic, int] = {}
        """When this node last published on each topic."""

    def published(self, topic: Topic, subscribers: Collection[NodeId], now: int) -> None:
        self._published[topic] = now
        if topic not in self.peers:
            self.peers[topic] = {}
            self.fill(topic, subscribers)

    def fill(self, topic: Topic, subscribers: Collection[NodeId]) -> None:
        """Bring the peers of a topic to D, if there are as many subscribers."""
        members = self.peers[topic]
        missing = self._params.d - len(members)
        if missing > 0:
            others = [peer for peer in subscribers if peer not in members]
            members.update(dict.fromkeys(sample(self._rng, others, missing)))

    def leave(self, topic: Topic) -> None:
        """Forget a topic, since it has a mesh now."""
        self.peers.pop(topic, None)
        self._published.pop(topic, None)

    def expired(self, now: int) -> list[Topic]:
        """Forget the topics that this node has not published on for long, and return them."""
        before = now - self._params.fanout_ttl_ms
        old = [topic for topic, last in self._published.items() if last < before]
        for topic in old:
            self.leave(topic)
        return old

    def drop(self, peer: NodeId) -> None:
        for members in self.peers.values():
            members.pop(peer, None)

    def drop_from(self, topic: Topic, peer: NodeId) -> None:
        self.peers.get(topic, {}).pop(peer, None)
