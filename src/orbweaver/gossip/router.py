"""Route greedily on the circle of identifiers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping

from orbweaver.core.identifiers import SPACE, Places
from orbweaver.core.ids import NodeId


class Router:
    """Holds a node and its neighbours in their order round the circle.

    A lookup goes on to the neighbour that is nearest to the wanted place, if that neighbour is
    nearer than this node. With `clockwise` it goes to the last neighbour before the place.
    """

    def __init__(self, me: NodeId, places: Mapping[NodeId, int], clockwise: bool = False) -> None:
        self._me = me
        self._place_of = places
        self._clockwise = clockwise
        self._nodes = [me]
        self._places = [places[me]]

    def add(self, neighbor: NodeId) -> None:
        place = self._place_of[neighbor]
        at = bisect_left(self._places, place)
        self._nodes.insert(at, neighbor)
        self._places.insert(at, place)

    def remove(self, neighbor: NodeId) -> None:
        at = self._nodes.index(neighbor)
        del self._nodes[at], self._places[at]

    def next_hop(self, place: int) -> NodeId | None:
        """Return the next node on the way to a place, or None if this node is the last one."""
        places = self._places
        if self._clockwise:
            best = self._nodes[bisect_right(places, place) - 1]
            return None if best == self._me else best
        after = bisect_left(places, place)
        before = after - 1
        if after == len(places):
            after = 0
        near = (
            before if (place - places[before]) % SPACE < (places[after] - place) % SPACE else after
        )
        best = self._nodes[near]
        return None if best == self._me else best

    def beside(self, node: NodeId) -> list[NodeId]:
        """Return the neighbours that stand next to a node, before it and after it."""
        place = self._place_of[node]
        after = bisect_right(self._places, place) % len(self._places)
        before = bisect_left(self._places, place) - 1
        found = dict.fromkeys((self._nodes[before], self._nodes[after]))
        return [one for one in found if one not in (node, self._me)]

    def others(self) -> list[NodeId]:
        """Return the neighbours in their order clockwise from this node."""
        at = self._nodes.index(self._me)
        return self._nodes[at + 1 :] + self._nodes[:at]

    def after(self, node: NodeId) -> NodeId:
        """Return the next one after a node, clockwise, which may be this node."""
        return self._nodes[(self._nodes.index(node) + 1) % len(self._nodes)]

    def between(self, after: int, before: int) -> list[NodeId]:
        """Return the nodes strictly between two places, clockwise from the first. If both places
        are the same, return all nodes but those at it. This node may be among them."""
        nodes = self._nodes
        first, last = bisect_right(self._places, after), bisect_left(self._places, before)
        return nodes[first:last] if after < before else nodes[first:] + nodes[:last]

    def around(self, place: int, count: int) -> list[NodeId]:
        """Return up to `count` nodes on either side of a place. This node may be among them."""
        nodes = self._nodes
        if len(nodes) <= 2 * count:
            return list(nodes)
        at = bisect_left(self._places, place)
        return [nodes[i % len(nodes)] for i in range(at - count, at + count)]


def lookup(
    start: NodeId,
    place: int,
    places: Places[NodeId],
    neighbors: Callable[[NodeId], Iterable[NodeId]],
    limit: int = 1000,
) -> list[NodeId]:
    """Return the path of a lookup over given tables, both ends included. Measurements use it to
    look at overlays from outside."""
    path = [start]
    while len(path) <= limit:
        router = Router(path[-1], places)
        for neighbor in neighbors(path[-1]):
            router.add(neighbor)
        following = router.next_hop(place)
        if following is None:
            break
        path.append(following)
    return path
