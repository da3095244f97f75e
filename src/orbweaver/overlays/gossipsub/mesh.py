"""The mesh of a topic is the peers to which its events are forwarded at once."""

from __future__ import annotations

from collections.abc import Collection
from random import Random

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.seeds import sample
from orbweaver.overlays.gossipsub.params import GossipSubParams


class Mesh:
    def __init__(self, params: GossipSubParams, rng: Random) -> None:
        self._params = params
        self._rng = rng
        self.peers: dict[Topic, dict[NodeId, None]] = {}
        """The mesh of each topic that this node subscribes to."""
        self._backoff: dict[tuple[Topic, NodeId], int] = {}
        """Until when a peer that was pruned, or that has pruned this node, is not grafted."""

    def join(self, topic: Topic, subscribers: Collection[NodeId], now: int) -> list[NodeId]:
        """Begin a mesh. Return the peers in it, which have to be told."""
        self.peers[topic] = {}
        return self._graft(topic, subscribers, now)

    def leave(self, topic: Topic, now: int) -> list[NodeId]:
        """Give up the mesh of a topic. Return the peers that were in it, which have to be told."""
        members = list(self.peers.pop(topic, ()))
        for peer in members:
            self._backoff[topic, peer] = now + self._params.unsubscribe_backoff_ms
        return members

    def maintain(
        self, topic: Topic, subscribers: Collection[NodeId], now: int
    ) -> tuple[list[NodeId], list[NodeId]]:
        """Bring the mesh back to D peers if it has too few or too many. Return the peers that were
        added and the peers that were taken out; both have to be told."""
        members = self.peers[topic]
        if len(members) < self._params.d_low:
            return self._graft(topic, subscribers, now), []
        if len(members) <= self._params.d_high:
            return [], []
        surplus = sample(self._rng, list(members), len(members) - self._params.d)
        for peer in surplus:
            del members[peer]
            self._backoff[topic, peer] = now + self._params.prune_backoff_ms
        return [], surplus

    def on_graft(self, topic: Topic, peer: NodeId, now: int) -> bool:
        """Take in a peer that asks for it. Return False if the peer has to be told that it was
        refused."""
        members = self.peers.get(topic)
        if members is None:
            return True  # v1.1: a GRAFT for a mesh that does not exist is not answered
        if peer in members:
            return True
        if len(members) >= self._params.d_high or self._backoff.get((topic, peer), 0) > now:
            return False
        members[peer] = None
        return True

    def on_prune(self, topic: Topic, peer: NodeId, now: int, backoff_ms: int) -> None:
        members = self.peers.get(topic)
        if members is not None:
            members.pop(peer, None)
            until = now + min(backoff_ms, self._params.prune_backoff_ms)
            self._backoff[topic, peer] = until

    def drop(self, peer: NodeId) -> None:
        """Take a peer out of all meshes, since it is gone."""
        for members in self.peers.values():
            members.pop(peer, None)

    def drop_from(self, topic: Topic, peer: NodeId) -> None:
        """Take out a peer that no longer subscribes to the topic."""
        self.peers.get(topic, {}).pop(peer, None)

    def forget_backoffs(self, now: int) -> None:
        """Forget the backoffs that have ended."""
        for key in [key for key, until in self._backoff.items() if until <= now]:
            del self._backoff[key]

    def _graft(self, topic: Topic, subscribers: Collection[NodeId], now: int) -> list[NodeId]:
        members = self.peers[topic]
        open_to = [
            peer
            for peer in subscribers
            if peer not in members and self._backoff.get((topic, peer), 0) <= now
        ]
        added = sample(self._rng, open_to, self._params.d - len(members))
        members.update(dict.fromkeys(added))
        return added
