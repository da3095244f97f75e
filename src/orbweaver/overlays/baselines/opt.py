"""OPT: an overlay for each topic, made of few links where interests are alike (baseline of
Vitis, as in SpiderCast).

A node chooses neighbours that cover its topics, each `coverage` times, the one that covers
most of what is still lacking first. With a bound on the table some topics stay uncovered,
and their subscribers out of reach; without one the table grows with the interests.
"""

from __future__ import annotations

from collections.abc import Collection
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
        left = {
            node: entry.interest.mask & self.interest.mask for node, entry in candidates.items()
        }
        chosen: list[NodeId] = []
        lacking = [self.interest.mask] * self.params.coverage
        """Bit t of the i-th: topic t has not been covered i + 1 times."""
        while left and len(chosen) < size:
            # Among equals those that are in the table stay, then come those that came first.
            best = max(left, key=lambda n: (_gain(left[n], lacking), self._has_chosen(n)))
            mask = left.pop(best)
            if not _gain(mask, lacking):
                break
            chosen.append(best)
            lacking = _cover(mask, lacking)
        return chosen

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
