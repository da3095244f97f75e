"""OSCAR chooses fingers for a ring on which nodes are spread unevenly (Girdzijauskas, Datta,
Aberer; Magnet 2.2).

A small world needs fingers whose lengths, counted in *nodes*, follow the harmonic distribution.
Where places are hashes, distances between places will do. On a skewed ring they do not: most
fingers would end among the same few nodes. So a node estimates how the nodes are spread. The
median of a sample of all nodes halves them; the median of a sample of those between this node and
that median halves again, and so on. The medians bound partitions of halving size, each of which
holds its nodes with the same likelihood of a link. A finger is a random node of a partition chosen
at random.

Distances are counted clockwise from the node that chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Generic, TypeVar

from orbweaver.core.identifiers import SPACE
from orbweaver.core.seeds import pick

T = TypeVar("T")

LEVELS_MAX = 40
"""Most partitions: enough for 2^40 nodes, so that a node that is lied to comes to an end."""


class Medians(Generic[T]):
    """Estimates the medians, one level after the other, from samples that the owner brings."""

    def __init__(self) -> None:
        self.span = SPACE
        """The next sample is to be of the nodes that are nearer than this."""
        self.medians: list[int] = []
        self.partitions: list[list[T]] = []
        """The nodes found in each partition, the farthest partition first."""
        self._sample: dict[T, int] = {}
        self._size = 0

    def take(self, ahead: int, node: T) -> bool:
        """Take a sampled node of the present level. Return whether it is within the span."""
        if not 0 < ahead < self.span:
            return False
        self._size += 1
        self._sample[node] = ahead
        return True

    @property
    def sampled(self) -> int:
        """How many samples of the present level have come."""
        return self._size

    def close(self) -> bool:
        """End the level. Return whether there is another: a level in which only one node was
        found is the last, since there is nothing left to halve.

        The sampled nodes that are nearer than the median are a uniform sample of those nearer than
        it. So they count for the next level, which needs that many walks less.
        """
        found = sorted(self._sample.items(), key=lambda item: item[1])
        if not found:
            self._size = 0
            return False
        median = found[len(found) // 2][1]
        last = len(found) == 1 or median >= self.span or len(self.medians) >= LEVELS_MAX
        self.medians.append(median)
        self.partitions.append([node for node, ahead in found if ahead >= median])
        self.span = median
        self._sample = dict(found[: len(found) // 2])
        self._size = len(self._sample)
        return not last


def halves(order: Sequence[T]) -> list[Sequence[T]]:
    """Return the exact partitions of all other nodes, given in their order clockwise from this
    one: the farther half, the farther half of the rest, and so on."""
    partitions = []
    end = len(order)
    while end:
        start = end // 2
        partitions.append(order[start:end])
        end = start
    return partitions


def draw_finger(
    partitions: Sequence[Sequence[T]], rng: Random, likeness: Callable[[T], float] | None = None
) -> T | None:
    """Draw a partition, then a node of it, both uniformly (step d). With `likeness`, draw two nodes
    and take the one that is more like this one ("the power of two choices")."""
    partitions = [nodes for nodes in partitions if nodes]
    if not partitions:
        return None
    nodes = pick(rng, partitions)
    first = pick(rng, nodes)
    if likeness is None:
        return first
    second = pick(rng, nodes)
    return second if likeness(second) > likeness(first) else first
