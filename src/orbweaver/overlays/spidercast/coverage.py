"""Find out which topics lack neighbours (Fig. 3), and which node to ask next (Fig. 5)."""

from __future__ import annotations

from collections.abc import Collection
from random import Random
from typing import Literal

from orbweaver.core.bitplanes import covered_at_least
from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import InterestView
from orbweaver.gossip.interest import OwnInterest
from orbweaver.overlays.spidercast.maintenance import Aim, Audit, Neighbor

Ties = Literal["random", "common"]
"""How the greedy choice breaks ties: at random, as the paper says, or in one order that is
common to all nodes, that of their ids."""


class CoverageAudit(Audit):
    """Computes CALCKUNCOVERED (Fig. 3, lines 1-7) for a set of neighbours, and for the set without
    one of them."""

    __slots__ = ("_exact", "_under", "uncovered")

    def __init__(self, k: int, interest: int, neighbors: Collection[Neighbor]) -> None:
        levels = covered_at_least([n.interest.mask for n in neighbors], k + 1)
        enough = levels[k - 1] if k else interest
        self.uncovered = interest & ~enough
        """The mask of the topics with fewer than K neighbours."""
        self._exact = interest & enough & ~levels[k] if k else 0
        self._under = self.uncovered.bit_count()

    @property
    def under(self) -> int:
        return self._under

    def under_without(self, neighbor: Neighbor) -> int:
        # Taking a neighbour away uncovers just the topics that it covers as the K-th.
        return self._under + (neighbor.interest.mask & self._exact).bit_count()


class CoverageAim(Aim):
    """Wants every topic of the node's interest in the interests of at least K neighbours."""

    def __init__(self, k: int, interest: OwnInterest, view: InterestView, rng: Random) -> None:
        self.k = k
        self._interest = interest
        self._view = view
        self._rng = rng

    def limit(self) -> int:
        # L^max = K * |self_interest|: the worst case, each neighbour covering one topic.
        return self.k * len(self._interest.topics)

    def audit(self, neighbors: Collection[Neighbor]) -> CoverageAudit:
        return CoverageAudit(self.k, self._interest.topics.mask, neighbors)

    def uncovered(self, neighbors: Collection[Neighbor]) -> int:
        """Return the mask of the topics that lack *neighbours*. Lines 5 and 14 of Fig. 5 say
        candidates, a slip."""
        return self.audit(neighbors).uncovered


class GreedyCoverage(CoverageAim):
    def __init__(
        self,
        k: int,
        interest: OwnInterest,
        view: InterestView,
        rng: Random,
        ties: Ties = "random",
    ) -> None:
        super().__init__(k, interest, view, rng)
        self._ties = rng if ties == "random" else None

    def next_node(self, neighbors: Collection[Neighbor], exclude: set[NodeId]) -> NodeId | None:
        """Choose by NEXTGREEDYCOVERAGENODE (Fig. 5, lines 1-9; line 8 breaks ties)."""
        return self._view.best_match(self.uncovered(neighbors), exclude, self._ties)


class RandomCoverage(CoverageAim):
    def next_node(self, neighbors: Collection[Neighbor], exclude: set[NodeId]) -> NodeId | None:
        """Choose by NEXTRANDOMCOVERAGENODE (Fig. 5, lines 10-19)."""
        return self._view.any_match(self.uncovered(neighbors), exclude, self._rng)
