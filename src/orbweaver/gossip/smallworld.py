"""A navigable small world on the identifier circle (Symphony; Vitis III-A).

Every node holds its successor and predecessor, which makes lookups end at the right node,
and some long links whose lengths are drawn from the harmonic distribution, which makes them
short: O(log^2 N / k) hops with k long links.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from itertools import pairwise
from random import Random

from orbweaver.core.ids import NodeId
from orbweaver.gossip.identifiers import PLACE_OF_NODE, SPACE


class SmallWorld:
    """Chooses a node's ring neighbours and long links among candidates."""

    def __init__(self, me: NodeId, long_links: int, rng: Random) -> None:
        self._here = PLACE_OF_NODE[me]
        # Drawn once: a link that is drawn anew in each cycle would never stay.
        self._draws = [rng.random() for _ in range(long_links)]
        self._open = [0]
        """Where a node would be chosen over those that were chosen last: from the first of
        these distances to the second, from the third to the fourth, and so on."""

    def choose(self, candidates: Iterable[NodeId]) -> list[NodeId]:
        """Successor, predecessor, long links; each node once."""
        here = self._here
        # By how far ahead of us they stand: the last is the nearest from behind.
        order = sorted([((PLACE_OF_NODE[node] - here) % SPACE, node) for node in candidates])
        if len(order) <= 2:
            self._open = [0]
            return [node for _, node in order]
        (ahead, successor), *rest, (behind, predecessor) = order
        better = [(0, ahead), (behind + 1, SPACE)]
        chosen = [successor, predecessor]
        for length in self._lengths(2 * SPACE / max(1, ahead + SPACE - behind)):
            if rest:
                place, node = _take_nearest(rest, length)
                error = abs(place - length)
                better.append((length - error + 1, length + error))
                chosen.append(node)
        self._open = _union(better)
        return chosen

    def improves(self, node: NodeId) -> bool:
        """Would this one take a place among those chosen last?"""
        return bisect_right(self._open, (PLACE_OF_NODE[node] - self._here) % SPACE) % 2 == 1

    def _lengths(self, nodes: float) -> list[int]:
        """Of the long links, on a circle of about so many nodes: the share of the circle is
        n^(r-1) for a uniform r, whose density is 1 / (x ln n). That the number of nodes,
        taken from the nearest two, is off by a factor of two or three does no harm: only
        its logarithm counts."""
        size = math.log(max(2.0, nodes))
        return [int(math.exp(size * (draw - 1.0)) * (SPACE - 1)) for draw in self._draws]


def _union(spans: list[tuple[int, int]]) -> list[int]:
    """The bounds, in order, of what is in any of these spans (from, below)."""
    bounds: list[int] = []
    for start, end in sorted(spans):
        if start >= end:
            continue
        if bounds and start <= bounds[-1]:
            bounds[-1] = max(bounds[-1], end)
        else:
            bounds += (start, end)
    return bounds


def _take_nearest(order: list[tuple[int, NodeId]], length: int) -> tuple[int, NodeId]:
    after = bisect_left(order, (length,))
    if after == len(order) or (
        after > 0 and length - order[after - 1][0] < order[after][0] - length
    ):
        after -= 1
    return order.pop(after)


class Router:
    """Greedy routing over a set of neighbours: the nearest to a place, if it is nearer than
    we are."""

    def __init__(self, me: NodeId) -> None:
        self._me = me
        self._nodes = {me: PLACE_OF_NODE[me]}
        self._bounds: list[int] = []
        self._owners: list[NodeId] = []
        """Below the first bound every place is the first owner's, and so on round. Empty
        when it has to be reckoned anew: links come and go more often than anybody asks."""

    def add(self, neighbor: NodeId) -> None:
        self._nodes[neighbor] = PLACE_OF_NODE[neighbor]
        self._owners = []

    def remove(self, neighbor: NodeId) -> None:
        del self._nodes[neighbor]
        self._owners = []

    def next_hop(self, place: int) -> NodeId | None:
        """None means that the place is ours: nobody we know of is nearer."""
        if not self._owners:
            self._divide()
        best = self._owners[bisect_right(self._bounds, place)]
        return None if best == self._me else best

    def _divide(self) -> None:
        """The circle is divided halfway between each node and the next."""
        nodes = sorted(self._nodes, key=self._nodes.__getitem__)
        places = [self._nodes[node] for node in nodes]
        halfway = [(a + b) // 2 for a, b in pairwise(places)]
        across = (places[-1] + places[0] + SPACE) // 2
        if across < SPACE:
            self._bounds, self._owners = [*halfway, across], [*nodes, nodes[0]]
        else:
            self._bounds, self._owners = [across - SPACE, *halfway], [nodes[-1], *nodes]


def lookup(
    start: NodeId, place: int, neighbors: Callable[[NodeId], Iterable[NodeId]], limit: int = 1000
) -> list[NodeId]:
    """The path of a lookup over given tables, both ends included; for looking at overlays
    from outside."""
    path = [start]
    while len(path) <= limit:
        router = Router(path[-1])
        for neighbor in neighbors(path[-1]):
            router.add(neighbor)
        following = router.next_hop(place)
        if following is None:
            break
        path.append(following)
    return path
