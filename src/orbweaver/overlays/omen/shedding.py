"""Ending links that are not needed (ours, beyond the paper, and off unless `shed_ms` is set).

Each join and each repair adds links, and nothing in the paper takes one away. So a node whose
links cover its topics more than twice offers now and then to end one of them. The peer at the
other end keeps all probes off the link, those of repairs too. Then a probe goes out from the node
that made the offer, in the topics that the two share. Once it has reached the peer in each of
these topics, over other links, the peer ends the link. Links that are tested at the same time
cannot vouch for each other, because no probe crosses either of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Context
from orbweaver.core.seeds import pick
from orbweaver.core.topics import Interest
from orbweaver.gossip.interest import OwnInterest
from orbweaver.overlays.omen.backups import build_backups_greedy

COVER = 2
"""How many times the links that are not offered cover each topic."""
TEST_MS = 3000
"""How long a link is tested at most, in milliseconds."""


class Shedding:
    def __init__(
        self,
        context: Context,
        shed_ms: int,
        interest: OwnInterest,
        neighbors: Mapping[NodeId, Interest],
    ) -> None:
        """`neighbors` is the live map of overlay neighbours."""
        self._context = context
        self._shed_ms = shed_ms
        self._interest = interest
        self._neighbors = neighbors
        self.offered: tuple[NodeId, int] | None = None
        """The peer whose link this node offered to end, and the number of that offer."""
        self._offered_ms = 0
        self.tested: dict[NodeId, int] = {}
        """The peer whose link this node tests, if there is one, and the number of the test. Probes
        are kept off that link."""
        self._tested_ms = 0

    def spare(self) -> NodeId | None:
        """Return a peer whose link may not be needed, if there is one and an offer is due."""
        now = self._context.outbox.now()
        if not self._shed_ms or now - self._offered_ms < self._shed_ms:
            return None
        self._offered_ms = now
        links = [(peer, interest.mask) for peer, interest in self._neighbors.items()]
        cover = build_backups_greedy(self._interest.topics.mask, links, COVER)
        spare = [peer for peer, mask in links if (peer, mask) not in cover]
        return pick(self._context.rng, spare) if spare else None

    def test(self, peer: NodeId, number: int) -> bool:
        """Begin to test the link to a peer that offers to end it. Return False if another link is
        tested at the moment."""
        self.expire()
        if self.tested or peer not in self._neighbors:
            return False
        self.tested[peer] = number
        self._tested_ms = self._context.outbox.now()
        return True

    def to_probe(self, peer: NodeId, number: int) -> int:
        """Return the mask of the topics in which to probe, now that the peer tests the link."""
        if self.offered != (peer, number) or peer not in self._neighbors:
            return 0
        self.offered = None
        return self._shared(peer)

    def proved(self, peer: NodeId, number: int, reached: int) -> bool:
        """Return whether the link to the peer is not needed: its probe has reached this node in
        each topic that they share."""
        self.expire()
        if self.tested.get(peer) != number or peer not in self._neighbors:
            return False
        return not self._shared(peer) & ~reached

    def expire(self) -> None:
        """Give up a test that has taken too long, or whose link is gone."""
        late = self._context.outbox.now() - self._tested_ms > TEST_MS
        for peer in [peer for peer in self.tested if late or peer not in self._neighbors]:
            del self.tested[peer]

    def _shared(self, peer: NodeId) -> int:
        return self._interest.topics.mask & self._neighbors[peer].mask
