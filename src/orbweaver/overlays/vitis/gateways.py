"""Gateways: who connects a cluster to the rendezvous node (Algorithm 5).

Every node of a cluster proposes the node nearest to the topic's place that it has heard of
within d hops. Proposals are recomputed where something they rest on has changed, and sent
where they have, rather than all in each cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from orbweaver.core.identifiers import PLACE_OF_TOPIC, Places, distance
from orbweaver.core.ids import NodeId, Topic
from orbweaver.gossip.profiles import Peer, Proposal


class Gateways:
    def __init__(
        self,
        me: NodeId,
        places: Places[NodeId],
        hops_max: int,
        sharing: Callable[[Topic], Iterable[Peer]],
        is_neighbor: Callable[[NodeId], bool],
    ) -> None:
        """`sharing` gives the neighbours that want a topic."""
        self._me = me
        self._place_of = places
        self._hops_max = hops_max
        self._sharing = sharing
        self._is_neighbor = is_neighbor
        self.proposals: dict[Topic, Proposal] = {}
        self.ours: dict[Topic, None] = {}
        """The topics for which we are a gateway."""
        self._reach: dict[Topic, int] = {}
        """How far the gateway that we propose is from the topic's place."""
        self._changed = False
        self._stale: dict[Topic, None] = {}
        self._news: dict[NodeId, dict[Topic, None]] = {}
        """Neighbour -> topics of which it does not have our present proposal."""

    def follow(self, topics: Collection[Topic]) -> None:
        """Our interest is now this."""
        for topic in [t for t in self.proposals if t not in topics]:
            del self.proposals[topic], self._reach[topic]
            self.ours.pop(topic, None)
            self._changed = True
        for topic in topics:
            self._stale[topic] = None

    def heard(self, peer: Peer, proposals: Iterable[Proposal]) -> None:
        node, told, stale = peer.node, peer.proposals, self._stale
        for new in proposals:
            topic, gateway = new.topic, new.gateway
            ours = self.proposals.get(topic)
            if ours is None and topic not in stale:
                continue  # no topic of ours; it may be one that nobody has
            told[topic] = new
            if ours is None or ours.parent == node:
                stale[topic] = None
            elif gateway == ours.gateway:
                if new.hops + 1 < ours.hops:
                    stale[topic] = None
            elif distance(self._place_of[gateway], PLACE_OF_TOPIC[topic]) < self._reach[topic]:
                stale[topic] = None

    def update(self, interest: Collection[Topic]) -> bool:
        """Algorithm 5, for the topics where it can make a difference. Has anything changed
        since the last time?"""
        stale, self._stale = self._stale, {}
        changed, self._changed = self._changed, False
        for topic in stale:
            if topic not in interest:
                continue
            proposal, self._reach[topic] = self._propose(topic)
            if proposal != self.proposals.get(topic):
                self.proposals[topic] = proposal
                changed = True
                if proposal.gateway == self._me:
                    self.ours[topic] = None
                else:
                    self.ours.pop(topic, None)
                for peer in self._sharing(topic):
                    self._news.setdefault(peer.node, {})[topic] = None
        return changed

    def news_for(self, peer: Peer, whole: bool) -> tuple[Proposal, ...]:
        fresh = self._news.pop(peer.node, None)
        topics = peer.shared if whole else fresh
        if not topics:
            return ()
        return tuple([self.proposals[t] for t in topics if t in self.proposals])

    def owe(self, peer: Peer) -> None:
        """A neighbour does not have our proposals for what we share with it."""
        self._news[peer.node] = dict.fromkeys(peer.shared)

    def lost(self, peer: Peer, topics: Iterable[Topic]) -> None:
        """A neighbour has gone, or wants other topics than these: what it told us holds no
        longer. One that comes brings its proposals along, so that nothing needs to be done
        for it."""
        self._news.pop(peer.node, None)
        for topic in topics:
            proposal = self.proposals.get(topic)
            if proposal is not None and proposal.parent == peer.node:
                self._stale[topic] = None

    def _propose(self, topic: Topic) -> tuple[Proposal, int]:
        """And how far its gateway is from the topic's place."""
        me, place = self._me, PLACE_OF_TOPIC[topic]
        gateway, parent, hops = me, me, 0
        nearest = distance(self._place_of[me], place)
        for peer in self._sharing(topic):
            new = peer.proposals.get(topic)
            if new is None:
                continue
            # Most of them propose the same gateway, and are no nearer to it.
            if new.gateway == gateway:
                if new.hops + 1 >= hops:
                    continue
                far = nearest
            else:
                if new.hops >= self._hops_max:
                    continue
                far = distance(self._place_of[new.gateway], place)
                if far >= nearest:
                    continue
            # What came from us, or from somebody who tells us directly, is no news.
            node, source = peer.node, new.parent
            if source == me or (source != node and self._is_neighbor(source)):
                continue
            gateway, parent, hops, nearest = new.gateway, node, new.hops + 1, far
        return Proposal(topic, gateway, parent, hops), nearest
