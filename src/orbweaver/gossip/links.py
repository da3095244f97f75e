"""Links in both directions, for an overlay in which interested nodes are linked with each other.

Whatever depends on a link is kept in step with it: the failure detector, dissemination, and
what the host is told. The overlay decides which links there are.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message
from orbweaver.core.overlay import Context, Handler
from orbweaver.core.topics import Interest
from orbweaver.gossip.heartbeats import Heartbeats
from orbweaver.gossip.membership import MembershipParams
from orbweaver.gossip.plumtree import Plumtree
from orbweaver.gossip.plumtree.messages import Gone, Graft, IHave, Prune, Push, PushRun


class LinkParams(MembershipParams, frozen=True):
    heartbeat_ms: Annotated[
        int, Meta(ge=1, description="period of the heartbeats", title="not given; ours")
    ] = 1000
    failure_ms: Annotated[
        int,
        Meta(ge=1, description="silence after which a neighbour is suspected", title="ours"),
    ] = 3500


class Links:
    """Keeps neighbours, failure detector, Plumtree and host in step.

    The owner has the Plumtree as `plumtree`, and takes `messages` and `HANDLERS` into its own.
    """

    messages = Plumtree.messages
    HANDLERS: ClassVar[dict[type[Message], Handler]] = {
        Push: lambda node, sender, message: node.plumtree.on_push(sender, message),
        PushRun: lambda node, sender, message: node.plumtree.on_run(sender, message),
        IHave: lambda node, sender, message: node.plumtree.on_ihave(sender, message),
        Graft: lambda node, sender, message: node.plumtree.on_graft(sender, message),
        Gone: lambda node, sender, message: node.plumtree.on_gone(sender, message),
        Prune: lambda node, sender, message: node.plumtree.on_prune(sender, message),
    }
    """Entries for the table `ON` of the owner."""

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
