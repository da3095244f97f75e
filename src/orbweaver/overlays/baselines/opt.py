"""OPT: an overlay for each topic, made of few links where interests are alike (baseline of
Vitis, as in SpiderCast).

A node chooses neighbours that cover its topics, each `coverage` times, the one that covers
most of what is still lacking first. With a bound on the table some topics stay uncovered,
and their subscribers out of reach; without one the table grows with the interests.
"""

from __future__ import annotations

from collections.abc import Collection
from heapq import heapify, heappop, heapreplace
from typing import Annotated, ClassVar

from msgspec import Meta

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import Claims
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.table import TableOverlay, TableParams


class OptParams(TableParams, frozen=True):
    table_size: Annotated[
        int,
        Meta(
            ge=0,
            description="entries of the routing table; 0 is as many as it takes",
            title="Vitis IV-E: 15 to 35, and without a bound",
        ),
    ] = 15
    coverage: Annotated[
        int,
        Meta(ge=1, description="neighbours wanted for each topic", title="SpiderCast 3.3: 3"),
    ] = 3


class Opt(TableOverlay):
    name: ClassVar[str] = "opt"
    summary: ClassVar[str] = "an overlay for each topic, links shared by topics, gossiped"
    paper: ClassVar[str] = "baseline of Vitis, Sec. IV"
    Params = OptParams
    params: OptParams
    messages = TableOverlay.part_messages

    @classmethod
    def claims(cls, params: OptParams) -> Claims:
        # Coverage by gossip connects topics with high probability only, and what does not
        # fit into the table is left out.
        return Claims(
            noiseless=True,
            topic_connected=False,
            total_delivery=False,
            degree_bound="table_size links of its own; those of others to it are not bounded",
        )

    def _select(self, candidates: dict[NodeId, Descriptor]) -> Collection[NodeId]:
        size = self.params.table_size or len(candidates)
        lacking = [self.interest.mask] * self.params.coverage
        """Bit t of the i-th: topic t has not been covered i + 1 times."""
        # Among equals those that are in the table stay, then come those that came first.
        left = [
            (-mask.bit_count(), not self._has_chosen(node), place, node, mask)
            for place, (node, entry) in enumerate(candidates.items())
            if (mask := entry.interest.mask & self.interest.mask)
        ]
        heapify(left)
        chosen: list[NodeId] = []
        while left and len(chosen) < size:
            was, fresh, place, node, mask = left[0]
            gain = _gain(mask, lacking)
            # Gains only get smaller: who leads with one that is still true is the best.
            if gain and gain < -was:
                heapreplace(left, (-gain, fresh, place, node, mask))
                continue
            heappop(left)
            if gain:
                chosen.append(node)
                lacking = _cover(mask, lacking)
        return chosen

    def _tempted(self, entries: list[Descriptor]) -> list[Descriptor]:
        mine = self.interest.mask
        return [entry for entry in entries if entry.interest.mask & mine]

    def _targets(self, topic: Topic) -> Collection[NodeId]:
        return self._interested(topic)


def _gain(mask: int, lacking: list[int]) -> int:
    """Topics that would be covered once more than they are, where that is still wanted:
    the last level is lacking longest."""
    return (mask & lacking[-1]).bit_count()


def _cover(mask: int, lacking: list[int]) -> list[int]:
    """Each topic of `mask` moves up one level."""
    after = []
    for level in lacking:
        after.append(level & ~mask)
        mask &= ~level
    return after
