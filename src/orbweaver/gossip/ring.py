"""The ring: a node's nearest successors and predecessors on the circle of identifiers.

They make lookups end at the right node. Candidates are given as (distance clockwise from the
node, id) in this order, so the first are the successors and the last the predecessors.
"""

from __future__ import annotations

from orbweaver.core.identifiers import SPACE
from orbweaver.core.ids import NodeId

Ahead = tuple[int, NodeId]
"""How far ahead of this node another one is, clockwise, and its id."""
Span = tuple[int, int]
"""Distances ahead, from the first to below the second."""


class Ring:
    def __init__(self, size: int = 1) -> None:
        """`size` is L, the number of successors and of predecessors."""
        self._size = size
        self.successors: tuple[NodeId, ...] = ()
        """The nearest first. Of few candidates the same node can be a successor only."""
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
