"""Gateways connect a cluster to the rendezvous node (Algorithm 5).

Every node of a cluster proposes the node nearest to the topic's place that it has heard of
within d hops. Proposals are recomputed where something they rest on has changed, and sent
where they have changed, rather than all in each cycle.
"""

from __future__ import annotations

from collections.abc import Iterable

from orbweaver.core.identifiers import PLACE_OF_TOPIC, Places, distance
from orbweaver.core.ids import NodeId, Topic
from orbweaver.gossip.neighborhood import Neighborhood
from orbweaver.overlays.vitis.messages import Proposal
from orbweaver.overlays.vitis.table import Peer

MOVING = 10
"""A routing table moves if more than one in this many of its links has come since the last
cycle."""
PATIENCE = 4
"""Most cycles for which gateways are left alone while the table moves."""
PATIENCE_MOVED = 1
"""Most such cycles where gateways have just changed. It is small because a new gateway asks for its
path only if it is still a gateway at the next look, and events wait for the path."""


class Gateways:
    def __init__(
        self,
        me: NodeId,
        places: Places[NodeId],
        hood: Neighborhood[Peer],
        hops_max: int,
        table_size: int,
    ) -> None:
        """`hood` is the live neighbourhood, `hops_max` the paper's d."""
        self._me = me
        self._place_of = places
        self._hood = hood
        self._hops_max = hops_max
        self._table_size = table_size
        self.proposals: dict[Topic, Proposal] = {}
        self.ours: dict[Topic, None] = {}
        """The topics for which this node is a gateway."""
        self._ours_before: dict[Topic, None] = {}
        """The topics for which this node was a gateway when gateways were last looked at."""
        self._moved = False
        """Proposals had changed when gateways were last looked at."""
        self.fresh_links = table_size
        """Links that have come since the last cycle. At the start the whole table is about to
        come."""
        self._waited = 0
        """Cycles for which gateways have been left alone; 0 if they were looked at in this
        cycle."""
        self._reach: dict[Topic, int] = {}
        """Topic -> distance of the proposed gateway from the topic's place."""
        self._changed = False
        self._stale: dict[Topic, None] = {}
        """Topics whose proposal has to be recomputed."""
        self._news: dict[NodeId, dict[Topic, None]] = {}
        """Neighbour -> topics of which it does not have the present proposal."""

    def step(self) -> list[Topic] | None:
        """Recompute what has changed, once a cycle. Return the topics for which this node is to
        be on a relay path, or None if they are the same as before.

        While a table moves, gateways are left alone for some cycles: most of what is agreed on
        over links that have just come would be agreed on anew a cycle later, over other links.
        Only a node that is a gateway twice in a row asks for a path, because a new gateway often
        ceases to be one in the next cycle.
        """
        if self._moving():
            return None
        changed = self._update()
        if not changed and not self._moved:
            return None
        topics = [topic for topic in self.ours if topic in self._ours_before]
        self._ours_before, self._moved = dict(self.ours), changed
        return topics

    def follow(self) -> None:
        """Note that the interest of this node has changed."""
        topics = self._hood.sharing
        for topic in [t for t in self.proposals if t not in topics]:
            del self.proposals[topic], self._reach[topic]
            self.ours.pop(topic, None)
            self._changed = True
        for topic in topics:
            self._stale[topic] = None
        for peer in self._hood.peers.values():
            _forget_unshared(peer)

    def heard(self, peer: Peer, proposals: Iterable[Proposal]) -> None:
        """Take in the proposals of a neighbour."""
        node, told, stale = peer.node, peer.proposals, self._stale
        for new in proposals:
            topic, gateway = new.topic, new.gateway
            ours = self.proposals.get(topic)
            if ours is None and topic not in stale:
                continue  # no topic of this node; it may be one that no node has
            told[topic] = new
            if ours is None or ours.parent == node:
                stale[topic] = None
            elif gateway == ours.gateway:
                if new.hops + 1 < ours.hops:
                    stale[topic] = None
            elif distance(self._place_of[gateway], PLACE_OF_TOPIC[topic]) < self._reach[topic]:
                stale[topic] = None

    def news(self) -> dict[NodeId, tuple[Proposal, ...]]:
        """Return the proposals that are new to each neighbour. They count as sent from then on."""
        if self._waited:
            return {}
        told, self._news = self._news, {}
        return {node: self._present(topics) for node, topics in told.items()}

    def introduction(self, peer: Peer) -> tuple[Proposal, ...]:
        """Return all proposals for what is shared with a peer, to be sent with the interest."""
        if self._waited:
            self._owe(peer)
            return ()
        self._news.pop(peer.node, None)
        return self._present(peer.shared)

    def reindexed(self, peer: Peer, before: Iterable[Topic]) -> None:
        """Note that a neighbour's interest has changed. `before` is what was shared until then."""
        _forget_unshared(peer)
        self._withdraw(peer, before)
        self._owe(peer)

    def forget(self, peer: Peer) -> None:
        """Note that a neighbour has gone or was restarted, so that its proposals hold no longer. A
        new neighbour brings its proposals along, and needs no call."""
        self._withdraw(peer, peer.shared)
        peer.proposals.clear()

    def _moving(self) -> bool:
        fresh, self.fresh_links = self.fresh_links, 0
        patience = PATIENCE_MOVED if self._moved else PATIENCE
        moving = MOVING * fresh > self._table_size and self._waited < patience
        self._waited = self._waited + 1 if moving else 0
        return moving

    def _update(self) -> bool:
        """Algorithm 5, for the topics where it can make a difference. Return whether a proposal
        has changed since the last time."""
        stale, self._stale = self._stale, {}
        changed, self._changed = self._changed, False
        sharing = self._hood.sharing
        for topic in stale:
            if topic not in sharing:
                continue
            proposal, self._reach[topic] = self._propose(topic)
            if proposal != self.proposals.get(topic):
                self.proposals[topic] = proposal
                changed = True
                if proposal.gateway == self._me:
                    self.ours[topic] = None
                else:
                    self.ours.pop(topic, None)
                for peer in sharing[topic]:
                    self._news.setdefault(peer.node, {})[topic] = None
        return changed

    def _propose(self, topic: Topic) -> tuple[Proposal, int]:
        """Return the proposal for a topic, and its gateway's distance from the topic's place."""
        me, place = self._me, PLACE_OF_TOPIC[topic]
        gateway, parent, hops = me, me, 0
        nearest = distance(self._place_of[me], place)
        neighbors = self._hood.peers
        for peer in self._hood.sharing.get(topic, ()):
            new = peer.proposals.get(topic)
            if new is None:
                continue
            # Most neighbours propose the same gateway, and are no nearer to it.
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
            # What came from this node, or from a neighbour that tells it directly, is no news.
            node, source = peer.node, new.parent
            if source == me or (source != node and source in neighbors):
                continue
            gateway, parent, hops, nearest = new.gateway, node, new.hops + 1, far
        return Proposal(topic, gateway, parent, hops), nearest

    def _present(self, topics: Iterable[Topic]) -> tuple[Proposal, ...]:
        return tuple([self.proposals[t] for t in topics if t in self.proposals])

    def _owe(self, peer: Peer) -> None:
        """Send a neighbour the proposals for all that is shared with it, later."""
        self._news[peer.node] = dict.fromkeys(peer.shared)

    def _withdraw(self, peer: Peer, topics: Iterable[Topic]) -> None:
        self._news.pop(peer.node, None)
        for topic in topics:
            proposal = self.proposals.get(topic)
            if proposal is not None and proposal.parent == peer.node:
                self._stale[topic] = None


def _forget_unshared(peer: Peer) -> None:
    """Drop a peer's proposals for topics that only one end wants now: they would count again
    when both want the topic again."""
    shared = frozenset(peer.shared)
    peer.proposals = {topic: p for topic, p in peer.proposals.items() if topic in shared}
