"""A navigable small world on the identifier circle (Symphony; Vitis III-A).

Every node holds its successor and predecessor, which makes lookups end at the right node,
and some long links whose lengths are drawn from the harmonic distribution, which makes them
short: O(log^2 N / k) hops with k long links.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from random import Random

from orbweaver.core.identifiers import SPACE, Places
from orbweaver.core.ids import NodeId
from orbweaver.gossip.descriptor import Descriptor


class SmallWorld:
    """Chooses a node's ring neighbours and long links among candidates."""

    def __init__(self, me: NodeId, places: Places[NodeId], long_links: int, rng: Random) -> None:
        self._place_of = places
        self._here = places[me]
        # Drawn once: a link that is drawn anew in each cycle would never stay.
        self._draws = [rng.random() for _ in range(long_links)]
        self.ring: tuple[NodeId, ...] = ()
        """The successor and the predecessor that were chosen last."""
        self._open = [0]
        """Where a node would be chosen over those that were chosen last: from the first of
        these places to the second, from the third to the fourth, and so on."""

    def choose(self, candidates: Iterable[NodeId]) -> list[NodeId]:
        """Successor, predecessor, long links; each node once."""
        here, place_of = self._here, self._place_of
        # By how far ahead of us they stand: the last is the nearest from behind.
        order = sorted([((place_of[node] - here) % SPACE, node) for node in candidates])
        if len(order) <= 2:
            self._open = [0]
            self.ring = tuple([node for _, node in order])
            return list(self.ring)
        (ahead, successor), *rest, (behind, predecessor) = order
        self.ring = (successor, predecessor)
        better = [(0, ahead), (behind + 1, SPACE)]
        chosen = [successor, predecessor]
        for length in self._lengths(2 * SPACE / max(1, ahead + SPACE - behind)):
            if not rest:
                better.append((0, SPACE))  # anybody would do
                break
            place, node = _take_nearest(rest, length)
            error = abs(place - length)
            better.append((length - error + 1, length + error))
            chosen.append(node)
        self._open = _union([span for one in better for span in _placed(*one, here)])
        return chosen

    def improving(self, entries: Iterable[Descriptor]) -> list[Descriptor]:
        """Those that would take a place among those chosen last. Asked of everybody that gossip
        brings."""
        bounds, place_of = self._open, self._place_of
        return [e for e in entries if bisect_right(bounds, place_of[e.node]) & 1]

    def _lengths(self, nodes: float) -> list[int]:
        """Of the long links, on a circle of about so many nodes: the share of the circle is
        n^(r-1) for a uniform r, whose density is 1 / (x ln n). That the number of nodes,
        taken from the nearest two, is off by a factor of two or three does no harm: only
        its logarithm counts."""
        size = math.log(max(2.0, nodes))
        return [int(math.exp(size * (draw - 1.0)) * (SPACE - 1)) for draw in self._draws]


def _placed(start: int, end: int, here: int) -> list[tuple[int, int]]:
    """What is ahead of here from `start` to `end`, once round at most, in places; in two spans
    if it goes past the end of the circle."""
    start, end = max(start, 0) + here, min(end, SPACE) + here
    if end <= SPACE:
        return [(start, end)]
    if start >= SPACE:
        return [(start - SPACE, end - SPACE)]
    return [(start, SPACE), (0, end - SPACE)]


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
    """A node and its neighbours in their order round the circle, for greedy routing: on to
    the nearest to a place, if it is nearer than we are."""

    def __init__(self, me: NodeId, places: Places[NodeId]) -> None:
        self._me = me
        self._place_of = places
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
        """None means that the place is ours: nobody we know of is nearer."""
        places = self._places
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
        """Which neighbours stand next to a node, before it and after it."""
        place = self._place_of[node]
        after = bisect_right(self._places, place) % len(self._places)
        before = bisect_left(self._places, place) - 1
        found = dict.fromkeys((self._nodes[before], self._nodes[after]))
        return [one for one in found if one not in (node, self._me)]


def lookup(
    start: NodeId,
    place: int,
    places: Places[NodeId],
    neighbors: Callable[[NodeId], Iterable[NodeId]],
    limit: int = 1000,
) -> list[NodeId]:
    """The path of a lookup over given tables, both ends included; for looking at overlays
    from outside."""
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
