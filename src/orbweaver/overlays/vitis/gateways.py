"""Gateways: who connects a cluster to the rendezvous node (Algorithm 5).

Every node of a cluster proposes the node nearest to the topic's place that it has heard of
within d hops. Proposals are recomputed where something they rest on has changed, and sent
where they have, rather than all in each cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from orbweaver.core.ids import NodeId, Topic
from orbweaver.gossip.identifiers import distance, node_place, topic_place
from orbweaver.gossip.profiles import Peer, Proposal


class Gateways:
    def __init__(
        self,
        me: NodeId,
        hops_max: int,
        sharing: Callable[[Topic], Mapping[NodeId, Peer]],
        is_neighbor: Callable[[NodeId], bool],
    ) -> None:
        """`sharing` gives the neighbours that want a topic."""
        self._me = me
        self._hops_max = hops_max
        self._sharing = sharing
        self._is_neighbor = is_neighbor
        self.proposals: dict[Topic, Proposal] = {}
        self._stale: dict[Topic, None] = {}
        self._news: dict[NodeId, dict[Topic, None]] = {}
        """Neighbour -> topics of which it does not have our present proposal."""

    def follow(self, topics: Collection[Topic]) -> None:
        """Our interest is now this."""
        for topic in [t for t in self.proposals if t not in topics]:
            del self.proposals[topic]
        for topic in topics:
            self._stale[topic] = None

    def heard(self, peer: Peer, proposals: Iterable[Proposal]) -> None:
        for proposal in proposals:
            peer.proposals[proposal.topic] = proposal
            self._stale[proposal.topic] = None

    def update(self, interest: Collection[Topic]) -> None:
        """Algorithm 5, for the topics where it can make a difference."""
        stale, self._stale = self._stale, {}
        for topic in stale:
            if topic not in interest:
                continue
            proposal = self._propose(topic)
            if proposal != self.proposals.get(topic):
                self.proposals[topic] = proposal
                for node in self._sharing(topic):
                    self._news.setdefault(node, {})[topic] = None

    def gateway_of(self) -> list[Topic]:
        """The topics for which we are a gateway."""
        return [topic for topic, p in self.proposals.items() if p.gateway == self._me]

    def news_for(self, peer: Peer, whole: bool) -> tuple[Proposal, ...]:
        fresh = self._news.pop(peer.node, None)
        topics = peer.shared if whole else fresh
        if not topics:
            return ()
        return tuple([self.proposals[t] for t in topics if t in self.proposals])

    def lost(self, peer: Peer) -> None:
        """A neighbour has gone: what it told us holds no longer. One that comes brings its
        proposals along, so that nothing needs to be done for it."""
        self._news.pop(peer.node, None)
        for topic in peer.shared:
            proposal = self.proposals.get(topic)
            if proposal is not None and proposal.parent == peer.node:
                self._stale[topic] = None

    def _propose(self, topic: Topic) -> Proposal:
        place = topic_place(topic)
        best = Proposal(topic, self._me, self._me, 0)
        nearest = distance(node_place(self._me), place)
        for node, peer in self._sharing(topic).items():
            new = peer.proposals.get(topic)
            # What came from us, or from somebody who tells us directly, is no news.
            if new is None or new.parent == self._me:
                continue
            if new.parent != node and self._is_neighbor(new.parent):
                continue
            hops = new.hops + 1
            far = distance(node_place(new.gateway), place)
            if far < nearest and hops < self._hops_max:
                best, nearest = Proposal(topic, new.gateway, node, hops), far
            elif new.gateway == best.gateway and hops < best.hops:
                best = Proposal(topic, new.gateway, node, hops)
        return best
