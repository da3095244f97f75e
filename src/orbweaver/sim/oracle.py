"""The directory of a simulation knows which nodes are up, with what interest and which links.

For each topic the directory keeps the nodes as one big integer, so that the best match for a
set of topics comes from adding those integers up vertically (see `core.bitplanes`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from random import Random
from typing import cast

from orbweaver.core.bitplanes import bits_of, count_planes, highest, nth_bit
from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import Directory
from orbweaver.core.seeds import below, sample
from orbweaver.core.topics import NOTHING, Interest, TopicTable


class Oracle(Directory):
    def __init__(
        self,
        nodes: int,
        topics: TopicTable,
        links_of: Callable[[NodeId], Collection[NodeId]] = lambda node: (),
    ) -> None:
        """`links_of` is asked for the links of a node, which the overlays know."""
        self._topics = topics
        self.links_of = links_of
        self._interests: list[Interest] = [NOTHING] * nodes
        self._masks: list[int] = [0] * nodes
        self._on_topic: list[int] = []
        """For each topic number, the mask of the nodes interested in the topic."""
        self._up = 0
        self.mask_of = self._masks.__getitem__

    def load(self, interests: Iterable[tuple[NodeId, Interest]]) -> None:
        """Add many nodes at once. Bits are set in byte strings, which is faster than in integers
        that grow."""
        size = (len(self._masks) + 7) // 8
        on_topic = [bytearray(bits.to_bytes(size, "little")) for bits in self._on_topic]
        up = bytearray(self._up.to_bytes(size, "little"))
        for node, interest in interests:
            self._interests[node] = interest
            self._masks[node] = interest.mask
            byte, bit = node >> 3, 1 << (node & 7)
            up[byte] |= bit
            for number in bits_of(interest.mask):
                while len(on_topic) <= number:
                    on_topic.append(bytearray(size))
                on_topic[number][byte] |= bit
        self._on_topic = [int.from_bytes(bits, "little") for bits in on_topic]
        self._up = int.from_bytes(up, "little")

    def put(self, node: NodeId, interest: Interest) -> None:
        """Note that the node is up with this interest, whatever its state was before."""
        self.remove(node)
        bit = 1 << node
        self._up |= bit
        self._interests[node] = interest
        self._masks[node] = interest.mask
        for number in bits_of(interest.mask):
            while len(self._on_topic) <= number:
                self._on_topic.append(0)
            self._on_topic[number] |= bit

    def remove(self, node: NodeId) -> None:
        bit = 1 << node
        if not self._up & bit:
            return
        self._up ^= bit
        for number in bits_of(self._masks[node]):
            self._on_topic[number] ^= bit
        self._interests[node] = NOTHING
        self._masks[node] = 0

    # -- the questions of an interest view

    def interest_of(self, peer: NodeId) -> Interest | None:
        return self._interests[peer] if self._up >> peer & 1 else None

    def best_match(
        self, wanted: int, exclude: Iterable[NodeId], rng: Random | None
    ) -> NodeId | None:
        planes = count_planes(self._wanted(wanted))
        count, ties = highest(planes, self._but(exclude))
        if not count:
            return None
        return NodeId(_lowest(ties)) if rng is None else _any_of(ties, rng)

    def any_match(self, wanted: int, exclude: Iterable[NodeId], rng: Random) -> NodeId | None:
        fits = 0
        for nodes in self._wanted(wanted):
            fits |= nodes
        return _any_of(fits & self._but(exclude), rng)

    def any_peer(self, exclude: Iterable[NodeId], rng: Random) -> NodeId | None:
        return _any_of(self._but(exclude), rng)

    def successor(self, topic: Topic, node: NodeId) -> NodeId | None:
        number = self._topics.number(topic)
        nodes = self._on_topic[number] if number < len(self._on_topic) else 0
        nodes &= ~(1 << node)
        after = nodes >> (node + 1)
        if after:
            return NodeId(node + 1 + _lowest(after))
        return NodeId(_lowest(nodes)) if nodes else None

    def sample(self, fraction: float, rng: Random) -> list[NodeId]:
        everyone = range(len(self._masks))
        up = list(bits_of(self._up)) if self._gaps() else everyone
        return cast("list[NodeId]", sample(rng, up, round(fraction * len(up))))

    # -- inside

    def _gaps(self) -> bool:
        return self._up.bit_count() < len(self._masks)

    def _wanted(self, wanted: int) -> Iterable[int]:
        known = len(self._on_topic)
        return (self._on_topic[number] for number in bits_of(wanted) if number < known)

    def _but(self, exclude: Iterable[NodeId]) -> int:
        barred = 0
        for node in exclude:
            barred |= 1 << node
        return self._up & ~barred


def _any_of(nodes: int, rng: Random) -> NodeId | None:
    if not nodes:
        return None
    return NodeId(nth_bit(nodes, below(rng, nodes.bit_count())))


def _lowest(nodes: int) -> int:
    return (nodes & -nodes).bit_length() - 1
