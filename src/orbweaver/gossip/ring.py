"""A ring is made of each node's nearest successors and predecessors on the circle of identifiers.

They make lookups end at the right node. Candidates are given as (distance clockwise from the
node, id) in this order, so the first are the successors and the last the predecessors.
"""

from __future__ import annotations

from collections.abc import Iterable

from orbweaver.core.identifiers import SPACE
from orbweaver.core.ids import NodeId
from orbweaver.gossip.router import Router

Ahead = tuple[int, NodeId]
"""The distance clockwise from this node to another one, and the id of that node."""
Span = tuple[int, int]
"""Distances ahead, from the first to below the second."""


class Ring:
    def __init__(self, size: int = 1) -> None:
        """`size` is L, the number of successors and of predecessors."""
        self._size = size
        self.successors: tuple[NodeId, ...] = ()
        """The successors, the nearest first. If there are few candidates, a node that is a
        successor is not a predecessor too."""
        self.predecessors: tuple[NodeId, ...] = ()
        self.open: list[Span] = [(0, SPACE)]
        """Where a candidate would be chosen over those that were chosen last."""

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        return self.successors + self.predecessors

    def choose(self, order: list[Ahead]) -> list[Ahead]:
        """Choose the ring neighbours. Return the candidates that are left."""
        size = self._size
        nodes = [node for _, node in order]
        if len(order) <= 2 * size:
            self.successors = tuple(nodes[:size])
            self.predecessors = tuple(nodes[size:][::-1])
            self.open = [(0, SPACE)]
            return []
        self.successors = tuple(nodes[:size])
        self.predecessors = tuple(nodes[-size:][::-1])
        self.open = [(0, order[size - 1][0]), (order[-size][0] + 1, SPACE)]
        return order[size:-size]


class KeptRing:
    """A ring that follows the nodes that are known as they come, go and move.

    It answers what Chord asks of a node: which known nodes are next to this one, which stand
    around a given place (the answer to `Ask`, by which a ring closes and stays closed), and whether
    a node that others tell of would be a neighbour on the ring. Of nodes with the same place, the
    one that was put first comes first.
    """

    def __init__(self, me: NodeId, place: int, size: int, clockwise: bool = False) -> None:
        """`size` is L, the number of successors and of predecessors."""
        self._me = me
        self.places: dict[NodeId, int] = {me: place}
        self.router = Router(me, self.places, clockwise)
        self._size = size
        self._ring = Ring(size)
        self.changes = 0
        """How often the neighbours on the ring have changed."""
        self.moves = 0
        """How often a known node has come, gone or moved."""
        self._full: Span | None = None
        """How far ahead the last successor and the last predecessor are, if there are L of each."""

    @property
    def here(self) -> int:
        return self.places[self._me]

    @property
    def successors(self) -> tuple[NodeId, ...]:
        return self._ring.successors

    @property
    def predecessors(self) -> tuple[NodeId, ...]:
        return self._ring.predecessors

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        return self._ring.nodes

    def put(self, node: NodeId, place: int) -> None:
        """Note that a node is known, or that it has moved. This node itself can move too."""
        known = self.places.get(node)
        if known == place:
            return
        if known is not None:
            self.router.remove(node)
        self.places[node] = place
        self.router.add(node)
        self.moves += 1
        if node == self._me or self.improves(place) or node in self._ring.nodes:
            self._choose()

    def drop(self, node: NodeId) -> None:
        if node in self.places:
            self.router.remove(node)
            del self.places[node]
            self.moves += 1
            if node in self._ring.nodes:
                self._choose()

    def improves(self, place: int) -> bool:
        """Return whether a node at a place would be chosen over one that was chosen."""
        if self._full is None:
            return True
        ahead = (place - self.places[self._me]) % SPACE
        return ahead < self._full[0] or ahead > self._full[1]

    def improving(self, places: Iterable[int]) -> list[int]:
        """Return which of several places `improves` holds for, by their numbers in the list."""
        if self._full is None:
            return list(range(len(list(places))))
        here, (first, last) = self.places[self._me], self._full
        return [
            at for at, place in enumerate(places) if not first <= (place - here) % SPACE <= last
        ]

    def around(self, place: int, count: int) -> list[NodeId]:
        """Return up to `count` known nodes on either side of a place, with this one."""
        return self.router.around(place, count)

    def after(self, node: NodeId) -> int:
        """Return the place of the next known node after one, clockwise."""
        return self.places[self.router.after(node)]

    def _choose(self) -> None:
        here, places = self.here, self.places
        before = self._ring.nodes
        order = [((places[node] - here) % SPACE, node) for node in self.router.others()]
        self._ring.choose(order)
        size = self._size
        self._full = (order[size - 1][0], order[-size][0]) if len(order) >= 2 * size else None
        self.changes += before != self._ring.nodes
