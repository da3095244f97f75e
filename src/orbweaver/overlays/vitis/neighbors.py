"""Choose the neighbours of a Vitis node: ring, small world and friends (Algorithm 4)."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.topics import Interest, TopicTable
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.interest import OwnInterest
from orbweaver.gossip.similarity import overlap, weighted
from orbweaver.gossip.smallworld import SmallWorld
from orbweaver.overlays.vitis.table import Choice


class FriendsAndRing(Choice):
    def __init__(
        self,
        table_size: int,
        world: SmallWorld,
        interest: OwnInterest,
        topics: TopicTable,
        rates: Mapping[Topic, float] | None,
    ) -> None:
        """`rates` are the publication rates by which the utility is weighted, if they differ."""
        self._table_size = table_size
        self._world = world
        self._interest = interest
        self._topics = topics
        self._rates = rates
        self._worst = -1.0
        """Lowest utility among the friends chosen last; a candidate must exceed it."""

    def choose(
        self, candidates: Mapping[NodeId, Descriptor], current: Collection[NodeId]
    ) -> Collection[NodeId]:
        chosen = self._world.choose(candidates)
        left = dict.fromkeys(candidates)
        for node in chosen:
            del left[node]
        mine = self._interest.topics
        # Among equals, nodes of the table stay, then come those that were known first.
        ranked = sorted(
            [
                (-self._utility(mine, candidates[node].interest), node not in current, place, node)
                for place, node in enumerate(left)
            ]
        )
        friends = ranked[: self._table_size - len(chosen)]
        if len(chosen) + len(friends) < self._table_size:
            self._worst = -1.0
        else:
            self._worst = -friends[-1][0] if friends else math.inf
        return [*chosen, *(node for _, _, _, node in friends)]

    def improving(self, entries: list[Descriptor]) -> list[Descriptor]:
        # Called more often than anything else. Hardly any node shares as many topics as a friend
        # must even if it wants no others, so that is checked first.
        mine, worst = self._interest.topics, self._worst
        if worst < 0:
            return entries  # the table is not full
        if worst == math.inf:
            return self._world.improving(entries)
        mask, least = mine.mask, worst * len(mine) if self._rates is None else -1.0
        friends = [
            entry
            for entry in entries
            if (mask & entry.interest.mask).bit_count() > least
            and self._utility(mine, entry.interest) > worst
        ]
        return friends + self._world.improving(entries)

    def _utility(self, mine: Interest, other: Interest) -> float:
        """Return the utility of a node with this interest (Equation 1)."""
        if self._rates is None:
            return overlap(mine, other)
        return weighted(mine, other, self._topics, self._rates)
