"""Interest views that are small enough to scan.

A full view is answered by the host's directory itself. A partial view (the paper's
"p % of the nodes", Sec. 3.7) and a gossiped one are lists that are gone through; both
share the questions below and differ in where their entries come from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Sequence
from random import Random
from typing import cast

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import Directory, InterestView
from orbweaver.core.seeds import pick
from orbweaver.core.topics import Interest, TopicTable


class ScannedView(InterestView, ABC):
    """Answers the four questions by one pass over `entries`."""

    def __init__(self, topics: TopicTable) -> None:
        self._topics = topics

    @abstractmethod
    def entries(self) -> Iterable[tuple[NodeId, int]]:
        """Return each known peer once, with its interest mask, in a reproducible order."""

    def best_match(
        self, wanted: int, exclude: Iterable[NodeId], rng: Random | None
    ) -> NodeId | None:
        barred = frozenset(exclude)
        best = 1
        ties: list[NodeId] = []
        for peer, mask in self.entries():
            overlap = (mask & wanted).bit_count()
            if overlap >= best and peer not in barred:
                if overlap > best:
                    best = overlap
                    ties.clear()
                ties.append(peer)
        if rng is None:
            return min(ties, default=None)
        return pick(rng, ties) if ties else None

    def any_match(self, wanted: int, exclude: Iterable[NodeId], rng: Random) -> NodeId | None:
        barred = frozenset(exclude)
        fits = [peer for peer, mask in self.entries() if mask & wanted and peer not in barred]
        return pick(rng, fits) if fits else None

    def any_peer(self, exclude: Iterable[NodeId], rng: Random) -> NodeId | None:
        barred = frozenset(exclude)
        fits = [peer for peer, _ in self.entries() if peer not in barred]
        return pick(rng, fits) if fits else None

    def successor(self, topic: Topic, node: NodeId) -> NodeId | None:
        bit = self._topics.bit(topic)
        on_topic = [peer for peer, mask in self.entries() if mask & bit and peer != node]
        after = [peer for peer in on_topic if peer > node]
        return min(after) if after else min(on_topic, default=None)


class PartialView(ScannedView):
    """A random share of the nodes, drawn from the directory; interests are looked up
    there, so that a hundred thousand views stay small."""

    def __init__(self, topics: TopicTable, directory: Directory, fraction: float) -> None:
        super().__init__(topics)
        self._directory = directory
        self._fraction = fraction
        self._members: Sequence[int] = array("I")

    def draw(self, rng: Random, me: NodeId) -> None:
        members = self._directory.sample(self._fraction, rng)
        self._members = array("I", [peer for peer in members if peer != me])

    def entries(self) -> Iterable[tuple[NodeId, int]]:
        # A member that has left has mask 0 in the directory; any_peer must not offer it.
        masks = map(self._directory.mask_of, self._members)
        pairs = zip(cast("Sequence[NodeId]", self._members), masks, strict=True)
        return [pair for pair in pairs if pair[1]]

    def interest_of(self, peer: NodeId) -> Interest | None:
        return self._directory.interest_of(peer)
