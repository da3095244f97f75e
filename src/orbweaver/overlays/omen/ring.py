"""The identifier circle of OMen (Sec. 3.3): L + 1 successors and predecessors.

They are stabilised as in Chord: a node tells its ring neighbours which nodes it knows near
them, and each keeps the nearest. Unlike `gossip.ring`, in a small network the same node is
both successor and predecessor: a coordinator must know each node that it answers for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from orbweaver.core.identifiers import SPACE
from orbweaver.core.ids import NodeId


class IdentifierCircle:
    def __init__(self, me: NodeId, size: int, places: Mapping[NodeId, int]) -> None:
        self._me = me
        self._size = size
        self._places = places
        self.successors: tuple[NodeId, ...] = ()
        """The nearest first."""
        self.predecessors: tuple[NodeId, ...] = ()

    @property
    def nodes(self) -> list[NodeId]:
        return list(dict.fromkeys(self.successors + self.predecessors))

    def consider(self, candidates: Iterable[NodeId]) -> bool:
        """Choose among the present neighbours and these. Return whether anything changed."""
        found = {node for node in candidates if node != self._me}.union(self.nodes)
        order = sorted(found, key=lambda node: (self._ahead(node), node))
        before = self.successors, self.predecessors
        self.successors = tuple(order[: self._size])
        self.predecessors = tuple(order[::-1][: self._size])
        return before != (self.successors, self.predecessors)

    def drop(self, node: NodeId) -> None:
        self.successors = tuple(peer for peer in self.successors if peer != node)
        self.predecessors = tuple(peer for peer in self.predecessors if peer != node)

    def coordinator_of(self, node: NodeId) -> NodeId:
        """Return the live immediate successor of a node, as far as this node knows."""
        behind = self._behind(node)
        return min(
            (peer for peer in self.predecessors if peer != node and self._behind(peer) < behind),
            key=lambda peer: -self._behind(peer),
            default=self._me,
        )

    def in_pred_range(self, node: NodeId, resilience: int) -> bool:
        """Return whether fewer than L live nodes are between a node and this one."""
        behind = self._behind(node)
        nearer = sum(peer != node and self._behind(peer) < behind for peer in self.predecessors)
        return nearer < resilience

    def near(self, place_of: NodeId, nodes: Collection[NodeId], count: int) -> list[NodeId]:
        """Return the nodes that are nearest to a place, on either side."""
        place = self._places[place_of]
        order = sorted(nodes, key=lambda node: ((self._places[node] - place) % SPACE, node))
        return list(dict.fromkeys([*order[:count], *order[::-1][:count]]))

    def _ahead(self, node: NodeId) -> int:
        return (self._places[node] - self._places[self._me]) % SPACE

    def _behind(self, node: NodeId) -> int:
        return (self._places[self._me] - self._places[node]) % SPACE
