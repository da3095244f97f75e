"""Choose links that make a navigable small world on the circle of identifiers (Symphony; Vitis
III-A).

Every node has its ring neighbours and some long links whose lengths are drawn from the harmonic
distribution. Greedy lookups then take O(log^2 N / k) hops with k long links.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable
from random import Random

from orbweaver.core.identifiers import SPACE, Places
from orbweaver.core.ids import NodeId
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.ring import Ahead, Ring, Span


class SmallWorld:
    """Chooses a node's ring neighbours and long links among candidates."""

    def __init__(self, me: NodeId, places: Places[NodeId], long_links: int, rng: Random) -> None:
        self._place_of = places
        self._here = places[me]
        # Drawn once: a link that is drawn anew in each cycle would never stay.
        self._draws = [rng.random() for _ in range(long_links)]
        self.ring = Ring()
        self._open = [0, SPACE]
        """The places at which a node would be preferred to the nodes chosen last: from the first of
        these places to the second, from the third to the fourth, and so on."""

    def choose(
        self, candidates: Iterable[NodeId], current: Collection[NodeId] = ()
    ) -> list[NodeId]:
        """Return the ring neighbours and long links, each node once."""
        here, place_of = self._here, self._place_of
        order = sorted([((place_of[node] - here) % SPACE, node) for node in candidates])
        rest = self.ring.choose(order)
        chosen = list(self.ring.nodes)
        better = list(self.ring.open)
        for length in self._lengths(order) if rest else ():
            if not rest:
                better.append((0, SPACE))  # any node would do
                break
            ahead, node = _take_nearest(rest, length)
            error = abs(ahead - length)
            better.append((length - error + 1, length + error))
            chosen.append(node)
        self._open = _union([span for one in better for span in _placed(*one, here)])
        return chosen

    def improving(self, entries: Iterable[Descriptor]) -> list[Descriptor]:
        """Return the nodes that would be preferred to a node chosen last. Called with all nodes
        that gossip brings."""
        bounds, place_of = self._open, self._place_of
        return [e for e in entries if bisect_right(bounds, place_of[e.node]) & 1]

    def _lengths(self, order: list[Ahead]) -> list[int]:
        """Return the lengths of the long links, given all candidates.

        On a circle of n nodes a length is the share n^(r-1) of the circle for a uniform r, whose
        density is 1 / (x ln n). The number of nodes is estimated from the nearest two; being
        wrong by a factor of two or three does no harm, since only its logarithm counts.
        """
        ahead, behind = order[0][0], order[-1][0]
        nodes = 2 * SPACE / max(1, ahead + SPACE - behind)
        size = math.log(max(2.0, nodes))
        return [int(math.exp(size * (draw - 1.0)) * (SPACE - 1)) for draw in self._draws]


def _placed(start: int, end: int, here: int) -> list[Span]:
    """Return a span of distances ahead of `here` as one or two spans of places."""
    start, end = max(start, 0) + here, min(end, SPACE) + here
    if end <= SPACE:
        return [(start, end)]
    if start >= SPACE:
        return [(start - SPACE, end - SPACE)]
    return [(start, SPACE), (0, end - SPACE)]


def _union(spans: list[Span]) -> list[int]:
    """Return the bounds, in order, of what is in any of these spans."""
    bounds: list[int] = []
    for start, end in sorted(spans):
        if start >= end:
            continue
        if bounds and start <= bounds[-1]:
            bounds[-1] = max(bounds[-1], end)
        else:
            bounds += (start, end)
    return bounds


def _take_nearest(order: list[Ahead], length: int) -> Ahead:
    after = bisect_left(order, (length,))
    if after == len(order) or (
        after > 0 and length - order[after - 1][0] < order[after][0] - length
    ):
        after -= 1
    return order.pop(after)
