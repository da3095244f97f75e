"""Exchanges of candidates by T-Man (Algorithm 3), and where rnd.view comes from."""

from __future__ import annotations

from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Context, InterestView
from orbweaver.core.seeds import pick
from orbweaver.gossip import tman
from orbweaver.gossip.cyclon import Cyclon
from orbweaver.gossip.descriptor import Aged, Descriptor
from orbweaver.gossip.interest import OwnInterest
from orbweaver.overlays.omen.acquaintances import Acquaintances
from orbweaver.overlays.omen.backups import coverage
from orbweaver.overlays.omen.params import OMenParams
from orbweaver.overlays.omen.ring import IdentifierCircle
from orbweaver.overlays.omen.views import LocalViews


class Exchanges:
    def __init__(
        self,
        context: Context,
        params: OMenParams,
        interest: OwnInterest,
        pool: Acquaintances,
        circle: IdentifierCircle,
    ) -> None:
        self._context = context
        self._params = params
        self._interest = interest
        self._pool = pool
        self._circle = circle

    def partners(self, settled: bool) -> list[NodeId]:
        """Return the peers of this cycle: one of both ring neighbours and a random acquaintance,
        or all three while things have not settled."""
        near = [*self._circle.successors[:1], *self._circle.predecessors[:1]]
        known = list(self._pool.known)
        found = list(dict.fromkeys([*near, *([pick(self._context.rng, known)] if known else [])]))
        return [pick(self._context.rng, found)] if found and settled else found

    def buffer(self, peer: NodeId) -> tuple[tuple[Descriptor, ...], tuple[int, ...]]:
        """Return what to send: this node, entries near the peer on the ring, and a sample."""
        now = self._context.outbox.now()
        near = self._circle.near(peer, self._pool.known.keys(), self._params.resilience + 1)
        return tman.buffer(
            self._interest.about,
            self._pool.aged([n for n in near if n != peer], now),
            self._pool.sample(self._params.buffer_size, self._context.rng, now),
            self._params.age_max_ms,
        )

    def rnd_view(self, view: InterestView, views: LocalViews) -> Aged:
        """Return a sample of the network, from whatever samples peers here."""
        if isinstance(view, Cyclon):
            return self._of_cyclon(view)
        me, rng = self._context.me, self._context.rng
        drawn: dict[NodeId, None] = {}
        for local in views.of.values():
            missing = local.topics & ~coverage(local.topics, local.backups.items(), 1).levels[0]
            found = view.any_match(missing, [me], rng)
            if found is not None:
                drawn[found] = None
        for _ in range(self._params.buffer_size // 2):
            found = view.any_peer([me, *drawn], rng)
            if found is not None:
                drawn[found] = None
        fresh = [
            Descriptor(peer, interest, 0)
            for peer in drawn
            if peer not in self._pool and (interest := view.interest_of(peer)) is not None
        ]
        return fresh, [0] * len(fresh)

    def _of_cyclon(self, cyclon: Cyclon) -> Aged:
        found = [newest for peer, _ in cyclon.entries() if (newest := cyclon.newest(peer))]
        ages = [(cyclon.cycle - cycle) * self._params.shuffle_ms for _, cycle in found]
        return [entry for entry, _ in found], ages
