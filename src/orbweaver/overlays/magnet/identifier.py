"""Identifier acquisition: which place on the skewed ring a node takes (Algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain, zip_longest
from random import Random

from orbweaver.core.identifiers import SPACE
from orbweaver.core.ids import NodeId
from orbweaver.core.seeds import pick
from orbweaver.gossip.ring import KeptRing
from orbweaver.overlays.magnet.messages import Sample
from orbweaver.overlays.magnet.params import MagnetParams

FIRST_ROUNDS = 1
"""Rounds of the sampling before the first turn to acquire an identifier."""
FIRST_NODES = 8
"""Nodes whose turn is the first. None of them would hear of another in time."""
GRANT_MS = 10_000
"""Milliseconds for which a place that was given away counts as taken."""
GRANTS_MAX = 64
"""Most places given away that are remembered."""


class Turns:
    """When nodes that start together acquire their identifiers.

    In the paper one node joins after the other, and finds those that came before. Many that start
    together would all find an empty view, or move to where others just left. So they take turns,
    in numbers that double: the last half at the end, a few nodes at the beginning. Each node draws
    its turn, and estimates the number of nodes.
    """

    def __init__(self, params: MagnetParams) -> None:
        self._first_ms = FIRST_ROUNDS * params.round_ms
        self._growth_ms = params.growth_ms
        self._begun_ms = 0
        self._turn = 1.0
        """Share of the nodes whose turn comes before this one's."""

    def begin(self, now: int, rng: Random) -> None:
        self._begun_ms = now
        self._turn = 1.0 - rng.random()

    def mine_ms(self, nodes: float) -> int:
        """Return when the turn of this node comes, of so many nodes."""
        return self._at(nodes * self._turn)

    def last_ms(self, nodes: float) -> int:
        """Return when the last turn comes, of so many nodes."""
        return self._at(nodes)

    def _at(self, rank: float) -> int:
        doublings = math.log2(max(1.0, rank / FIRST_NODES))
        return self._begun_ms + self._first_ms + int(self._growth_ms * doublings)


class Grants:
    """The places that a node has given away a moment ago."""

    def __init__(self) -> None:
        self._granted: dict[int, int] = {}
        """Place given away -> when."""

    def give(self, ring: KeptRing, asker: NodeId, now: int) -> int | None:
        """Return the place for a node that asked: halfway to the successor of this node (line 3).
        None if all gaps are closed. The asker's own place counts as free."""

        def distance(place: int) -> int:
            return (place - ring.here) % SPACE

        granted = self._granted
        for old in [place for place, at in granted.items() if now - at > GRANT_MS]:
            del granted[old]
        ahead = [ring.places[node] for node in ring.successors if node != asker]
        behind = [ring.places[node] for node in ring.predecessors if node != asker]
        # A node that was given a place a moment ago may not have arrived.
        reach = max(map(distance, ahead), default=SPACE)
        near = [place for place in granted if distance(place) <= reach]
        found = place_beside(ring.here, sorted({*ahead, *near}, key=distance), behind)
        if found is not None:
            granted[found] = now
            if len(granted) > GRANTS_MAX:
                del granted[next(iter(granted))]
        return found


def place_apart(ring: KeptRing, me: NodeId) -> int | None:
    """Return a free place near this node if another node has its place, and this node has the
    larger id. None if it stays where it is."""
    here = ring.here
    if not any(ring.places[node] == here and node < me for node in ring.nodes):
        return None
    ahead = [ring.places[node] for node in ring.successors]
    behind = [ring.places[node] for node in ring.predecessors]
    return place_beside(here, [p for p in ahead if p != here], [p for p in behind if p != here])


def most_similar(
    view: Iterable[Sample],
    similarity: Callable[[Sample], float],
    rng: Random,
    excluded: Collection[NodeId] = (),
) -> Sample | None:
    """Return the node of the view whose interest is most similar, ties broken randomly (line 2).
    None if the view is empty."""
    best, ties = -1.0, []
    for sample in view:
        if sample.node in excluded:
            continue
        alike = similarity(sample)
        if alike > best:
            best, ties = alike, [sample]
        elif alike == best:
            ties.append(sample)
    return pick(rng, ties) if ties else None


def mean(place: int, after: int) -> int | None:
    """Return the place halfway from one to the next, clockwise (line 3). None if there is none in
    between. A node that stands alone has the whole ring between itself and itself."""
    gap = (after - place) % SPACE or SPACE
    return (place + gap // 2) % SPACE if gap > 1 else None


def place_beside(here: int, ahead: Sequence[int], behind: Sequence[int]) -> int | None:
    """Return a place next to `here`, given the next places that are taken ahead of it and behind
    it, the nearest first.

    It is halfway to the next place ahead. Midpoints eat the bits of identifiers, one each time;
    where no number is left in between, the gaps further away are tried, the nearest first. None if
    all of them are closed.
    """
    if not ahead:
        return mean(here, here)
    forward = list(zip((here, *ahead), ahead, strict=False))
    backward = list(zip(behind, (here, *behind), strict=False))
    for start, end in chain.from_iterable(zip_longest(forward, backward, fillvalue=(here, here))):
        if start != end and (found := mean(start, end)) is not None:
            return found
    return None


def bits_in_use(here: int, after: int) -> int:
    """Return how many bits of the identifiers are used up to tell a node from the next one."""
    gap = (after - here) % SPACE or SPACE
    return 65 - gap.bit_length()
