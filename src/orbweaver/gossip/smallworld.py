"""A navigable small world on the identifier circle (Symphony; Vitis III-A).

Every node holds its successor and predecessor, which makes lookups end at the right node,
and some long links whose lengths are drawn from the harmonic distribution, which makes them
short: O(log^2 N / k) hops with k long links.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from random import Random

from orbweaver.core.ids import NodeId
from orbweaver.gossip.identifiers import SPACE, distance, node_place


class SmallWorld:
    """Chooses a node's ring neighbours and long links among candidates."""

    def __init__(self, me: NodeId, long_links: int, rng: Random) -> None:
        self._here = node_place(me)
        # Drawn once: a link that is drawn anew in each cycle would never stay.
        self._draws = [rng.random() for _ in range(long_links)]
        self._ahead, self._behind = SPACE, -1
        self._long: list[tuple[int, int]] = []
        """(length wanted, how far the link that was chosen is off)"""

    def choose(self, candidates: Iterable[NodeId]) -> list[NodeId]:
        """Successor, predecessor, long links; each node once."""
        here = self._here
        # By how far ahead of us they stand: the last is the nearest from behind.
        order = sorted([((node_place(node) - here) % SPACE, node) for node in candidates])
        if len(order) <= 2:
            self._ahead, self._behind, self._long = SPACE, -1, []
            return [node for _, node in order]
        (ahead, successor), *rest, (behind, predecessor) = order
        self._ahead, self._behind, self._long = ahead, behind, []
        chosen = [successor, predecessor]
        for length in self._lengths(2 * SPACE / max(1, ahead + SPACE - behind)):
            if rest:
                place, node = _take_nearest(rest, length)
                self._long.append((length, abs(place - length)))
                chosen.append(node)
        return chosen

    def improves(self, node: NodeId) -> bool:
        """Would this one take a place among those chosen last?"""
        place = (node_place(node) - self._here) % SPACE
        if place < self._ahead or place > self._behind:
            return True
        return any(abs(place - length) < error for length, error in self._long)

    def _lengths(self, nodes: float) -> list[int]:
        """Of the long links, on a circle of about so many nodes: the share of the circle is
        n^(r-1) for a uniform r, whose density is 1 / (x ln n). That the number of nodes,
        taken from the nearest two, is off by a factor of two or three does no harm: only
        its logarithm counts."""
        size = math.log(max(2.0, nodes))
        return [int(math.exp(size * (draw - 1.0)) * (SPACE - 1)) for draw in self._draws]


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
        self._here = node_place(me)
        self._places: list[int] = []
        self._nodes: list[NodeId] = []

    def learn(self, neighbors: Iterable[NodeId]) -> None:
        pairs = sorted((node_place(node), node) for node in neighbors)
        self._places = [place for place, _ in pairs]
        self._nodes = [node for _, node in pairs]

    def next_hop(self, place: int) -> NodeId | None:
        """None means that the place is ours: nobody we know of is nearer."""
        places = self._places
        if not places:
            return None
        after = bisect_left(places, place) % len(places)
        ahead, behind = distance(places[after], place), distance(places[after - 1], place)
        best = after if ahead <= behind else after - 1
        return self._nodes[best] if min(ahead, behind) < distance(self._here, place) else None


def lookup(
    start: NodeId, place: int, neighbors: Callable[[NodeId], Iterable[NodeId]], limit: int = 1000
) -> list[NodeId]:
    """The path of a lookup over given tables, both ends included; for looking at overlays
    from outside."""
    path = [start]
    while len(path) <= limit:
        router = Router(path[-1])
        router.learn(neighbors(path[-1]))
        following = router.next_hop(place)
        if following is None:
            break
        path.append(following)
    return path
