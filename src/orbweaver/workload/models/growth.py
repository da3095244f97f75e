"""Grows Magnet's hierarchical interests in continuous time (see `hierarchy`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orbweaver.workload.models.chance import Floats, Ints, Words, exponentials, uniforms
from orbweaver.workload.models.distinct import Ragged

_STEP_4 = np.uint64(4 * 0x9E3779B97F4A7C15 % 2**64)


class Growth:
    """Holds nodes and their topics at a moment in time.

    Most attempts go to the sibling leaf, and most find it taken. These attempts are not made: a
    subscription fires at its whole rate only while its sibling is free ("lonely"), and afterwards
    at the rate of its farther attempts. The process is the same.
    """

    def __init__(self, homes: Ragged, state: Words, topics: int, distances: Floats) -> None:
        self.sizes = homes.counts.copy()
        width = 2 * int(self.sizes.max())
        self._topics = np.full((len(self.sizes), width), -1, dtype=np.int32)
        self._topics[np.arange(width) < self.sizes[:, None]] = homes.items
        sibling = self._topics ^ 1
        taken = (sibling[:, :, None] == self._topics[:, None, :]).any(axis=2)
        self._lonely = (self._topics >= 0) & ~taken & (sibling < topics)
        self._singles = self._lonely.sum(axis=1)
        self._limit = topics
        self._near = float(distances[0])
        self._distances = distances
        self._state = state
        self._attempts = np.zeros(len(state), dtype=np.uint64)
        self._next = exponentials(state, 1)[:, 0] / self._rates(np.arange(len(state)))

    def advance(self, until: float) -> list[Floats]:
        """Let all subscriptions fire until a moment; return when new subscriptions were made."""
        births = []
        active = np.flatnonzero(self._next <= until)
        while len(active):
            births.append(self._fire(active))
            active = active[self._next[active] <= until]
        return births

    def _rates(self, nodes: Ints) -> Floats:
        rates: Floats = self._near * self._singles[nodes] + (1 - self._near) * self.sizes[nodes]
        return np.asarray(rates)

    def _fire(self, nodes: Ints) -> Floats:
        """Make one attempt for each of the nodes, and draw the time of the next."""
        self._attempts[nodes] += np.uint64(1)
        # Attempt k has the draws 4k to 4k + 3: a generator that is 4k steps further on.
        chance = uniforms(self._state[nodes] + self._attempts[nodes] * _STEP_4, 4)
        near = chance[:, 0] * self._rates(nodes) < self._near * self._singles[nodes]
        new = np.empty(len(nodes), dtype=np.int32)
        new[near] = self._siblings(nodes[near], chance[near, 1])
        new[~near] = self._farther(nodes[~near], chance[~near])
        born = self._next[nodes][self._add(nodes, new)]
        self._next[nodes] += -np.log1p(-chance[:, 3]) / self._rates(nodes)
        return born

    def _siblings(self, nodes: Ints, chance: Floats) -> NDArray[np.int32]:
        """Return the sibling of a random lonely topic of each node."""
        order = np.cumsum(self._lonely[nodes], axis=1, dtype=np.int32)
        wanted = (chance * self._singles[nodes]).astype(np.int32)
        places = (order <= wanted[:, None]).sum(axis=1)
        found: NDArray[np.int32] = self._topics[nodes, places] ^ 1
        return found

    def _farther(self, nodes: Ints, chance: Floats) -> Ints:
        """Return a topic at distance 2 or more from a random topic of each node; -1 if there is
        none."""
        old = self._topics[nodes, (chance[:, 1] * self.sizes[nodes]).astype(np.int64)]
        # One number serves for the height and for the leaf: what is left of it, after it
        # has chosen an interval, is evenly spread over that.
        level = self._near + chance[:, 2] * (1 - self._near)
        height = np.searchsorted(self._distances[:-1], level, side="right")
        below = self._distances[height - 1]
        part = np.minimum((level - below) / (self._distances[height] - below), 1 - 2.0**-53)
        first = ((old.astype(np.int64) >> height) ^ 1) << height
        # The leaves under the other child, as far as there are topics.
        width = np.minimum(self._limit - first, 1 << height)
        found: Ints = np.where(width > 0, first + (part * width).astype(np.int64), -1)
        return found

    def _add(self, nodes: Ints, new: NDArray[np.int32]) -> Ints:
        """Add topics and return which of the nodes did not have theirs yet."""
        mine = self._topics[nodes, : int(self.sizes[nodes].max())]
        grown = np.flatnonzero(~(mine == new[:, None]).any(axis=1) & (new >= 0))
        node, topic, at = nodes[grown], new[grown], self.sizes[nodes[grown]]
        if len(grown) and int(at.max()) == self._topics.shape[1]:
            more = ((0, 0), (0, self._topics.shape[1]))
            self._topics = np.pad(self._topics, more, constant_values=-1)
            self._lonely = np.pad(self._lonely, more)
        sibling = mine[grown] == (topic ^ 1)[:, None]
        met = sibling.any(axis=1)
        self._topics[node, at] = topic
        self._lonely[node, at] = ~met & (topic ^ 1 < self._limit)
        self._lonely[node[met], sibling[met].argmax(axis=1)] = False
        self._singles[node] += np.where(met, -1, topic ^ 1 < self._limit)
        self.sizes[node] += 1
        return grown

    def sorted_topics(self) -> Ints:
        """Return all topics, node by node, ascending."""
        ordered = np.where(self._topics < 0, self._limit, self._topics).astype(np.int64)
        ordered.sort(axis=1)
        found: Ints = ordered[ordered < self._limit]
        return found
