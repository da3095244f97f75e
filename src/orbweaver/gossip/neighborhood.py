"""A neighbourhood knows which neighbours share which topics of a node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.descriptor import Descriptor


class Neighbour(Protocol):
    node: NodeId
    about: Descriptor
    shared: tuple[Topic, ...]
    """The topics of the node that this neighbour wants too. Kept by the `Neighborhood`."""


N = TypeVar("N", bound=Neighbour)


class Neighborhood(Generic[N]):
    def __init__(self, topics: TopicTable) -> None:
        self._topics = topics
        self.peers: dict[NodeId, N] = {}
        self.sharing: dict[Topic, list[N]] = {}
        """Topic of the node -> the neighbours that want it too."""

    def add(self, peer: N) -> None:
        self.peers[peer.node] = peer
        self._index(peer)

    def remove(self, peer: N) -> None:
        del self.peers[peer.node]
        self._unindex(peer)

    def update(self, peer: N, about: Descriptor) -> None:
        """Note that a neighbour's interest has changed."""
        peer.about = about
        self._unindex(peer)
        self._index(peer)

    def follow(self, topics: Iterable[Topic]) -> None:
        """Note that the interest of the node is now `topics`."""
        self.sharing = {topic: [] for topic in topics}
        for peer in self.peers.values():
            self._index(peer)

    def interested(self, topic: Topic) -> list[NodeId]:
        """Return the neighbours that want a topic, whether or not the node itself does."""
        if topic in self.sharing:
            return [peer.node for peer in self.sharing[topic]]
        bit = self._topics.mask(topic)
        return [peer.node for peer in self.peers.values() if peer.about.interest.mask & bit]

    def _index(self, peer: N) -> None:
        sharing = self.sharing
        peer.shared = tuple([topic for topic in peer.about.interest.topics if topic in sharing])
        for topic in peer.shared:
            sharing[topic].append(peer)

    def _unindex(self, peer: N) -> None:
        for topic in peer.shared:
            self.sharing[topic].remove(peer)
