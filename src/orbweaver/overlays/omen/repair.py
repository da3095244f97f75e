"""Overlay repair on a shadow set (Algorithm 1) with the LowODA rule (Onus and Richa).

The *contribution* of an edge is the number of topics in which it joins two components. Of the
edges that would raise the maximum degree take the best, e1, and the best of the others, e2. The
rule adds e1 only if its contribution exceeds rho times that of e2, and e2 otherwise.

What counts as connected already decides how degrees develop: a coordinator that knows only the
edges inside the shadow set adds many edges that join what other nodes already connect. So the
components are given, and how they are found is the node's business.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from itertools import combinations

from orbweaver.core.bitplanes import bits_of
from orbweaver.core.ids import NodeId

Edge = tuple[NodeId, NodeId]
Joined = tuple[NodeId, NodeId, int]
"""Two nodes, and the mask of the topics in which they are in one component."""
Potential = tuple[int, int, int, int]
"""A potential edge: minus its contribution, the larger degree of its ends before the repair, and
the places of its ends. The smallest is the best."""


def repair_tco_on_churn(
    interests: Mapping[NodeId, int],
    topics: int,
    joined: Iterable[Joined],
    degrees: Mapping[NodeId, int],
    rho: float,
) -> list[Edge]:
    """Return the edges after which the shadow nodes are topic-connected.

    `interests` are the topics of the shadow nodes, `topics` those to repair. `joined` says which
    shadow nodes are connected, over edges among them or through other nodes. A node without an
    entry in `degrees` has degree 0.
    """
    plan = _Plan(interests, topics, degrees)
    for a, b, mask in joined:
        plan.note(a, b, mask)
    return plan.edges(rho)


class _Plan:
    def __init__(
        self, interests: Mapping[NodeId, int], topics: int, degrees: Mapping[NodeId, int]
    ) -> None:
        self._nodes = list(interests)
        self._places = {node: place for place, node in enumerate(self._nodes)}
        self._topics = [mask & topics for mask in interests.values()]
        self._degrees = [degrees.get(node, 0) for node in self._nodes]
        self._contribution: dict[tuple[int, int], int] = {}
        """The places of two nodes, the smaller first -> what an edge between them contributes."""
        self._groups: dict[int, dict[int, list[int]]] = {}
        """Topic -> place -> the places of its component. The members of one share the list."""
        for place, mask in enumerate(self._topics):
            for topic in bits_of(mask):
                self._groups.setdefault(topic, {})[place] = [place]

    def note(self, a: NodeId, b: NodeId, mask: int) -> None:
        """Note that two nodes are connected in these topics, where both want them."""
        if a in self._places and b in self._places:
            self._join(self._places[a], self._places[b], mask)

    def edges(self, rho: float) -> list[Edge]:
        degrees = self._degrees
        self._count_contributions()
        heap: list[Potential] = [
            (-gain, max(degrees[a], degrees[b]), a, b)
            for (a, b), gain in self._contribution.items()
        ]
        heapq.heapify(heap)
        new: list[Edge] = []
        while heap:
            edge = self._select(heap, max(degrees), rho)
            if edge is None:
                break
            _, _, a, b = edge
            new.append((self._nodes[a], self._nodes[b]))
            degrees[a] += 1
            degrees[b] += 1
            self._join(a, b, self._topics[a] & self._topics[b])
        return new

    def _count_contributions(self) -> None:
        """Count what each edge contributes. Most topics are connected already, and cost nothing."""
        for group_of in self._groups.values():
            groups = list({id(group): group for group in group_of.values()}.values())
            for here, there in combinations(groups, 2):
                for a in here:
                    for b in there:
                        pair = (a, b) if a < b else (b, a)
                        self._contribution[pair] = self._contribution.get(pair, 0) + 1

    def _select(self, heap: list[Potential], most: int, rho: float) -> Potential | None:
        """Take the edge that the LowODA rule adds next out of the heap."""
        raising: Potential | None = None
        passed: list[Potential] = []
        taken: Potential | None = None
        while heap:
            if raising is not None and raising[0] < rho * heap[0][0]:
                break  # no other edge can come near enough
            edge = heapq.heappop(heap)
            _, degree, a, b = edge
            now = self._contribution[a, b]
            if not now:
                continue
            if now < -edge[0]:  # since it was looked at last, components were joined
                heapq.heappush(heap, (-now, degree, a, b))
            elif max(self._degrees[a], self._degrees[b]) < most:
                taken = edge
                break
            elif raising is None:
                raising = edge
            else:
                passed.append(edge)
        if raising is not None:
            if taken is None or -raising[0] > rho * -taken[0]:
                raising, taken = taken, raising
            if raising is not None:
                passed.append(raising)
        for edge in passed:
            heapq.heappush(heap, edge)
        return taken

    def _join(self, a: int, b: int, mask: int) -> None:
        contribution = self._contribution
        for topic in bits_of(mask & self._topics[a] & self._topics[b]):
            group_of = self._groups[topic]
            here, there = group_of[a], group_of[b]
            if here is there:
                continue
            if len(here) < len(there):
                here, there = there, here
            if contribution:  # before they are counted there is nothing to take back
                for i in here:
                    for j in there:
                        contribution[(i, j) if i < j else (j, i)] -= 1
            here += there
            for place in there:
                group_of[place] = here
