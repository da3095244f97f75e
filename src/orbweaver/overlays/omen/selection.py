"""selectView (Algorithm 4): which nodes are the backups of each node that this one answers for."""

from __future__ import annotations

from collections.abc import Collection

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Context
from orbweaver.overlays.omen.acquaintances import Acquaintances
from orbweaver.overlays.omen.backups import (
    Candidate,
    build_backups_greedy,
    build_backups_primal_dual,
    coverage,
)
from orbweaver.overlays.omen.params import OMenParams
from orbweaver.overlays.omen.views import LocalViews


class ViewSelection:
    def __init__(self, context: Context, params: OMenParams) -> None:
        if params.omen_g != "no" and context.directory is None:
            raise UsageError(
                f"omen_g '{params.omen_g}' asks an oracle, which only a simulation has; "
                "set omen_g=no"
            )
        self._me = context.me
        self._directory = context.directory
        self._rng = context.rng
        self._params = params

    def select_view(
        self,
        views: LocalViews,
        mine: Candidate,
        pool: Acquaintances,
        joining: Collection[NodeId],
    ) -> None:
        """Refill the backup sets that could cover more than they do.

        A set that covers all it can is kept, so that backups do not change with each exchange.
        A node that joins needs a partner for each topic even with a coverage factor of 0.
        """
        candidates = [mine, *self.candidates(pool)]
        masks = dict(candidates)
        for node, view in views.of.items():
            if node in pool:
                view.topics = pool.known[node].interest.mask
            view.backups = {n: masks[n] for n in view.backups if n in masks and n != node}
            factor = max(1, self._params.coverage) if node in joining else self._params.coverage
            covered = coverage(view.topics, view.backups.items(), factor)
            # The node itself has all its topics, and cannot be its own backup.
            fits = [(n, mask) for n, mask in candidates if n != node and mask & view.topics]
            full = covered.factor() == factor
            if not full and covered.total() < coverage(view.topics, fits, factor).total():
                view.backups = dict(self.build_backups(view.topics, fits, factor))
                covered = coverage(view.topics, view.backups.items(), factor)
            view.ready.round(view.topics, covered)

    def candidates(self, pool: Acquaintances) -> list[Candidate]:
        """Return the other nodes that backups are chosen from. With OMen-G they are all nodes."""
        if self._params.omen_g == "no" or self._directory is None:
            return pool.masks()
        nodes = self._directory.sample(1.0, self._rng)
        return [(node, self._directory.mask_of(node)) for node in nodes if node != self._me]

    def build_backups(self, topics: int, fits: list[Candidate], factor: int) -> list[Candidate]:
        if self._params.omen_g == "shadow":
            return [(node, mask) for node, mask in fits if mask & topics]
        if self._params.backups == "greedy":
            return build_backups_greedy(topics, fits, factor)
        return build_backups_primal_dual(topics, fits, factor, self._rng, self._params.subscriber)
