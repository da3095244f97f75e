"""Vitis: one node's side of it."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Annotated, ClassVar

from msgspec import Meta

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import Context
from orbweaver.core.topics import Interest
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.profiles import Peer, Proposal
from orbweaver.gossip.rendezvous import RendezvousOverlay, RendezvousParams
from orbweaver.overlays.vitis.gateways import Gateways
from orbweaver.overlays.vitis.rates import SeenRates, make_rates
from orbweaver.overlays.vitis.utility import overlap, weighted

MOVING = 10
"""A table of which more than one in so many links is new since the last cycle moves."""
PATIENCE = 4
"""Cycles for which gateways are left alone at most while it does,"""
PATIENCE_MOVED = 1
"""and where they have just changed: a new one waits with its path until it is one the next time
that it is looked at, and events wait for the path."""


class VitisParams(RendezvousParams, frozen=True):
    long_links: Annotated[
        int,
        Meta(
            ge=0,
            description="entries of the table that are small-world links, besides successor and "
            "predecessor; the rest are friends",
            title="Vitis IV-B: 1 (k = 3 with the ring)",
        ),
    ] = 1
    gateway_hops: Annotated[
        int,
        Meta(
            ge=1,
            description="d: how many hops a gateway may be from those it serves",
            title="Vitis IV-A: 5",
        ),
    ] = 5
    rates: Annotated[
        str,
        Meta(
            description="rates of publication that friends are weighed by: uniform, estimated "
            "from the events seen, or zipf:A by the number of the topic",
            title="Vitis IV-A: uniform",
        ),
    ] = "uniform"
    one_way: Annotated[
        bool,
        Meta(
            description="in a cluster, events go only to neighbours in one's own table, not to "
            "those that have chosen us",
            title="the paper does not say",
        ),
    ] = False

    def __post_init__(self) -> None:
        if self.long_links > self.table_size - 2:
            raise ValueError(
                f"a table of {self.table_size} has room for {self.table_size - 2} long links "
                f"besides successor and predecessor, not for {self.long_links}"
            )


class Vitis(RendezvousOverlay):
    name: ClassVar[str] = "vitis"
    summary: ClassVar[str] = "interest clusters of bounded degree, joined by rendezvous relays"
    paper: ClassVar[str] = "Vitis, IPDPS 2011"
    Params = VitisParams
    params: VitisParams

    def __init__(self, context: Context, params: VitisParams) -> None:
        super().__init__(context, params, params.long_links)
        self.gateways = Gateways(
            context.me,
            context.places,
            params.gateway_hops,
            lambda topic: self._sharing.get(topic, ()),
            self.peers.__contains__,
        )
        self._gateway_of: dict[Topic, None] = {}
        """As of the last cycle."""
        self._gateways_moved = False
        self._fresh_links = params.table_size
        """Links that have come since the last cycle. They are about to come at the start."""
        self._waited = 0
        """Cycles since gateways were looked at; 0 when they are."""
        self._worst_friend = -1.0
        """Who is to be a friend must be better than this."""
        self.rates = make_rates(params.rates, context.topics)
        if isinstance(self.rates, SeenRates):
            self.flood.saw = self.rates.saw

    def status(self) -> dict[str, int]:
        return super().status() | {"gateway_of": len(self.gateways.ours)}

    def _select(self, candidates: dict[NodeId, Descriptor]) -> Collection[NodeId]:
        """Algorithm 4."""
        chosen = self.world.choose(candidates)
        left = dict.fromkeys(candidates)
        for node in chosen:
            del left[node]
        mine = self.interest
        # Among equals those that are in the table stay, then come those that came first.
        ranked = sorted(
            [
                (-self._utility(mine, candidates[n].interest), not self._has_chosen(n), place, n)
                for place, n in enumerate(left)
            ]
        )
        friends = ranked[: self.params.table_size - len(chosen)]
        if len(chosen) + len(friends) < self.params.table_size:
            self._worst_friend = -1.0
        else:
            self._worst_friend = -friends[-1][0] if friends else math.inf
        return [*chosen, *(node for _, _, _, node in friends)]

    def _tempted(self, entries: list[Descriptor]) -> list[Descriptor]:
        # Asked more often than anything else. Hardly anybody shares as many topics as it
        # takes for a friend even if it wanted no others: that is asked first.
        mine, worst = self.interest, self._worst_friend
        if worst < 0:
            return entries  # the table is not full
        if worst == math.inf:
            return self.world.improving(entries)
        mask, least = mine.mask, worst * len(mine) if self.rates is None else -1.0
        friends = [
            entry
            for entry in entries
            if (mask & entry.interest.mask).bit_count() > least
            and self._utility(mine, entry.interest) > worst
        ]
        return friends + self.world.improving(entries)

    def _utility(self, mine: Interest, other: Interest) -> float:
        """Equation 1."""
        if self.rates is None:
            return overlap(mine, other)
        return weighted(mine, other, self.context.topics, self.rates)

    def _targets(self, topic: Topic) -> Collection[NodeId]:
        """Cluster and tree: interested neighbours, and the relay path both ways."""
        near = self._interested(topic)
        if self.params.one_way:
            near = [node for node in near if self.peers[node].chosen]
        return dict.fromkeys([*near, *self.relays.peers(topic)])

    def _cycle(self) -> None:
        if not self._moving():
            self._update_gateways()
        if isinstance(self.rates, SeenRates):
            self.rates.step()
        super()._cycle()

    def _moving(self) -> bool:
        """Most of what is agreed on over links that have just come would be agreed on anew a
        cycle later, over others: that is what an overlay costs most while it forms."""
        fresh, self._fresh_links = self._fresh_links, 0
        patience = PATIENCE_MOVED if self._gateways_moved else PATIENCE
        moving = MOVING * fresh > self.params.table_size and self._waited < patience
        self._waited = self._waited + 1 if moving else 0
        return moving

    def _update_gateways(self) -> None:
        changed = self.gateways.update(self._sharing)
        if changed or self._gateways_moved:
            # Who has just become a gateway often is none in the next cycle. Asking for a path
            # the second time in a row halves the requests while an overlay forms.
            found = dict(self.gateways.ours)
            self.relays.want([topic for topic in found if topic in self._gateway_of])
            self._gateway_of, self._gateways_moved = found, changed

    def _interest_changed(self) -> None:
        super()._interest_changed()
        self.gateways.follow(self._sharing)
        for peer in self.peers.values():
            _forget_unshared(peer)

    def _linked(self, peer: Peer) -> None:
        super()._linked(peer)
        self._fresh_links += 1

    def _void(self, peer: Peer) -> None:
        super()._void(peer)
        self.gateways.lost(peer, peer.shared)
        peer.proposals.clear()

    def _reindexed(self, peer: Peer, before: Collection[Topic]) -> None:
        _forget_unshared(peer)
        self.gateways.lost(peer, before)
        self.gateways.owe(peer)

    def _heard(self, peer: Peer, proposals: Collection[Proposal]) -> None:
        self.gateways.heard(peer, proposals)

    def _proposals_for(self, peer: Peer, whole: bool) -> tuple[Proposal, ...]:
        if not self._waited:
            return self.gateways.news_for(peer, whole)
        if whole:
            self.gateways.owe(peer)
        return ()


def _forget_unshared(peer: Peer) -> None:
    """Its proposals for what only one of us wants now would count again some day."""
    shared = frozenset(peer.shared)
    peer.proposals = {topic: p for topic, p in peer.proposals.items() if topic in shared}
