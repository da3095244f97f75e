"""RVR: rendezvous routing that is blind to interests (baseline of Vitis, as in Scribe).

All links are ring and small-world links; every subscriber asks for its own way to the
topic's place, and events go over the tree that these ways make.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import Context
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.rendezvous import RendezvousOverlay, RendezvousParams


class Rvr(RendezvousOverlay):
    name: ClassVar[str] = "rvr"
    summary: ClassVar[str] = "one rendezvous tree for each topic, blind to interests"
    paper: ClassVar[str] = "baseline of Vitis, Sec. IV"
    Params = RendezvousParams
    params: RendezvousParams

    def __init__(self, context: Context, params: RendezvousParams) -> None:
        super().__init__(context, params, params.table_size - 2)

    def _select(self, candidates: dict[NodeId, Descriptor]) -> Collection[NodeId]:
        return self.world.choose(candidates)

    def _tempted(self, entries: list[Descriptor]) -> list[Descriptor]:
        return self.world.improving(entries)

    def _targets(self, topic: Topic) -> Collection[NodeId]:
        return self.relays.peers(topic)

    def _interest_changed(self) -> None:
        super()._interest_changed()
        self.relays.want(self.interest)
