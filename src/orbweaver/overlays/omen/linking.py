"""How overlay links are formed and ended: by two peers that share a topic, and agree."""

from __future__ import annotations

from collections.abc import Iterable

from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Context
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.links import Links
from orbweaver.overlays.omen.acquaintances import Acquaintances
from orbweaver.overlays.omen.messages import HeldNeighbor, LinkDown, LinkRequest
from orbweaver.overlays.omen.params import OMenParams
from orbweaver.overlays.omen.ring import IdentifierCircle

LINKS_ASKED_MAX = 256
"""How many requests for links are remembered at a time."""


class Linking:
    def __init__(
        self,
        context: Context,
        params: OMenParams,
        interest: OwnInterest,
        links: Links,
        circle: IdentifierCircle,
    ) -> None:
        self._me = context.me
        self._outbox = context.outbox
        self._patience_ms = 2 * params.heartbeat_ms
        self._interest = interest
        self._links = links
        self._circle = circle
        self.successors_of: dict[NodeId, tuple[NodeId, ...]] = {}
        """The successors of each neighbour, as it told them."""
        self._formed: dict[NodeId, int] = {}
        """When each link was formed."""
        self._asked: dict[NodeId, int] = {}
        """Peers asked for a link, and when."""
        self._ended: dict[NodeId, int] = {}
        """Peers to which this node ended the link a moment ago, and when."""

    def ask(self, peers: Iterable[NodeId]) -> None:
        """Ask peers for links, unless they were asked a moment ago."""
        now = self._outbox.now()
        recent = now - self._patience_ms
        self._asked = {peer: at for peer, at in self._asked.items() if at > recent}
        for peer in peers:
            if len(self._asked) >= LINKS_ASKED_MAX:
                return
            if peer not in self._links.neighbors and peer != self._me:
                if peer not in self._asked:
                    self._outbox.send(peer, LinkRequest(self._interest.about))
                self._asked.setdefault(peer, now)

    def has_asked(self, peer: NodeId) -> bool:
        """Return whether this node asked a peer for a link a moment ago."""
        return self._outbox.now() - self._asked.get(peer, -self._patience_ms) < self._patience_ms

    def link(self, about: Descriptor) -> bool:
        """Hold a link to a peer that shares a topic; otherwise end it. Return whether it is new."""
        peer = about.node
        if not about.interest.mask & self._interest.topics.mask or peer == self._me:
            self.end(peer)
            return False
        new = peer not in self._links.neighbors
        self._links.set(peer, about.interest)
        self._asked.pop(peer, None)
        if new:
            self._formed[peer] = self._outbox.now()
        return new

    def end(self, peer: NodeId) -> None:
        now = self._outbox.now()
        self._ended = {p: at for p, at in self._ended.items() if now - at <= self._patience_ms}
        if len(self._ended) < LINKS_ASKED_MAX:
            self._ended[peer] = now
        self._outbox.send(peer, LinkDown())
        self.remove(peer)

    def has_ended(self, peer: NodeId) -> bool:
        """Return whether this node ended the link so lately that the peer may not know yet."""
        ended = self._ended.get(peer)
        return ended is not None and self._outbox.now() - ended <= self._patience_ms

    def remove(self, peer: NodeId) -> None:
        """Note that there is no link any more. A neighbour on the ring is watched further on."""
        self._links.remove(peer)
        self._formed.pop(peer, None)
        self.successors_of.pop(peer, None)
        if peer in self._circle.nodes:
            self._links.heard(peer)

    def held(self, pool: Acquaintances) -> tuple[HeldNeighbor, ...]:
        """Return N(v), as the successors of this node have to know it."""
        return tuple(
            HeldNeighbor(pool.known[peer], self.successors_of.get(peer, ()))
            for peer in self._links.neighbors
            if peer in pool
        )

    def is_old(self, peer: NodeId) -> bool:
        """Return whether a link is there for so long that the other end must know of it."""
        now = self._outbox.now()
        return now - self._formed.get(peer, now) > self._patience_ms
