"""One node of Vitis or a baseline of it, to put into small situations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from orbweaver.core.identifiers import PLACE_OF_NODE, SPACE
from orbweaver.core.ids import NodeId
from orbweaver.core.params import build
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.overlays.vitis import Vitis
from orbweaver.overlays.vitis.messages import Profile, Proposal
from tests.gossip.fake_outbox import FakeOutbox, make_context

TABLE = TopicTable("ABCDEFGH")


def node(kind: type, topics: str = "AB", me: int = 0, **settings: Any) -> tuple[Any, FakeOutbox]:
    outbox = FakeOutbox()
    made = kind(make_context(me, outbox, TABLE), build(kind.Params, settings, "test"))
    for topic in topics:
        made.subscribe(topic)
    made.start([])
    outbox.take()
    return made, outbox


def content(topics: str = "AB", **settings: Any) -> tuple[Any, FakeOutbox]:
    """Return a node whose ring has closed: no node is chosen just because it called."""
    vitis, outbox = node(Vitis, topics, **settings)
    vitis.world.improving = lambda entries: []
    return vitis, outbox


def refresh(overlay: Any, told: Iterable[Descriptor]) -> None:
    """Choose the table among the neighbours and these nodes, heard of just now."""
    overlay.refreshed(overlay.table.refresh([(entry, 0) for entry in told]))


def entry(number: int, topics: str, version: int = 0) -> Descriptor:
    return Descriptor(NodeId(number), TABLE.interest(topics), version)


def entries(**topics: str) -> dict[NodeId, Descriptor]:
    """Return candidates: `n2="AB"` is node 2, which wants A and B."""
    return {NodeId(int(n[1:])): entry(int(n[1:]), wanted) for n, wanted in topics.items()}


def profile(
    sender: int, chosen: bool, topics: str | None = "AB", version: int = 1, *told: Proposal
) -> Profile:
    return Profile(chosen, entry(sender, topics, version) if topics else None, tuple(told))


def own(topic: str, number: int) -> Proposal:
    """Return the proposal of a node for itself."""
    return Proposal(topic, NodeId(number), NodeId(number), 0)


def ahead(number: int) -> int:
    """Return how far a node is from node 0, clockwise."""
    return (PLACE_OF_NODE[NodeId(number)] - PLACE_OF_NODE[NodeId(0)]) % SPACE
