"""The links of an overlay in which interested nodes are linked with each other, both ways.

Whatever depends on a link is kept in step with it: the failure detector, dissemination, and
what the host is told. Which links there are is decided by the overlay.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Context
from orbweaver.core.topics import Interest
from orbweaver.gossip.heartbeats import Heartbeats
from orbweaver.gossip.membership import MembershipParams
from orbweaver.gossip.plumtree import Plumtree


class LinkParams(MembershipParams, frozen=True):
    heartbeat_ms: Annotated[
        int, Meta(ge=1, description="period of the heartbeats", title="not given; ours")
    ] = 1000
    failure_ms: Annotated[
        int,
        Meta(ge=1, description="silence after which a neighbour is suspected", title="ours"),
    ] = 3500


class Links:
    def __init__(self, context: Context, failure_ms: int) -> None:
        self._outbox = context.outbox
        self.neighbors: dict[NodeId, Interest] = {}
        """The peers at the other ends, and their interests."""
        self.heartbeats = Heartbeats(failure_ms)
        self.plumtree = Plumtree(context, self.neighbors)

    def set(self, peer: NodeId, interest: Interest) -> None:
        """Note that there is a link to `peer`, which has this interest now."""
        known = self.neighbors.get(peer)
        self.neighbors[peer] = interest
        if known is None:
            self.heartbeats.heard(peer, self._outbox.now())
            self._outbox.link_up(peer)
        if known is None or known != interest:
            self.plumtree.peer_up(peer, interest)

    def remove(self, peer: NodeId) -> None:
        """Note that there is no link to `peer` any more."""
        if self.neighbors.pop(peer, None) is not None:
            self.heartbeats.forget(peer)
            self.plumtree.peer_down(peer)
            self._outbox.link_down(peer)

    def heard(self, peer: NodeId) -> None:
        self.heartbeats.heard(peer, self._outbox.now())

    def silent(self) -> list[NodeId]:
        """Return the neighbours that the failure detector suspects."""
        return self.heartbeats.suspects(self.neighbors, self._outbox.now())
