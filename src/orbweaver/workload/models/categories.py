"""Draw topics from a few of many equal groups: Vitis IV-A and Magnet 4.2.

Both go back to Wong et al. In Vitis a node takes the same number of topics, evenly, from
each of its buckets; in Magnet it takes topics by a power law out of all its categories.
Of G groups, group c holds the topics c, c + G, c + 2 G and so on, in Magnet the most popular first.
Publication rates go by the number of the topic, so that the topics with high rates are of all
groups.
"""

from __future__ import annotations

import numpy as np

from orbweaver.core.errors import UsageError
from orbweaver.workload.models.chance import Ints, split, states
from orbweaver.workload.models.distinct import Distinct, Ragged
from orbweaver.workload.models.popularity import draw_sizes
from orbweaver.workload.models.sizes import Sizes
from orbweaver.workload.popularity import weights


class Groups:
    """Chooses `chosen` of `groups` groups for each node, uniformly."""

    def __init__(self, topics: int, groups: int, chosen: int, seed: int) -> None:
        if chosen > groups:
            raise UsageError(f"a node cannot choose {chosen} categories out of {groups}")
        if topics % groups:
            near = max(1, round(topics / groups)) * groups
            raise UsageError(
                f"{topics} topics do not divide into {groups} equal categories; {near} would"
            )
        self.size = topics // groups
        self.chosen = chosen
        self._count = groups
        self._groups = Distinct(np.ones(groups))
        self._seed = seed

    def choose(self, rows: Ints) -> Ints:
        """Return the groups of each row, ascending; shape (rows, chosen)."""
        state = states(self._seed, "subscriptions", "category", rows)
        drawn = self._groups.draw(state, np.full(len(rows), self.chosen, dtype=np.int64))
        return drawn.items.reshape(len(rows), self.chosen)

    def topics(self, counts: Ints, group: Ints, inner: Ints) -> Ragged:
        """Return for each row its topics, given the group of each topic and its place there."""
        topic = inner * self._count + group
        return Ragged(counts, topic[np.lexsort((topic, np.repeat(np.arange(len(counts)), counts)))])


class Buckets:
    """Vitis: S/b topics, all alike, from each of b buckets (low: 5 x 10; high: 2 x 25)."""

    def __init__(self, topics: int, buckets: int, chosen: int, sizes: Sizes, seed: int) -> None:
        self._groups = Groups(topics, buckets, chosen, seed)
        if sizes.fixed is None or sizes.fixed % chosen:
            raise UsageError(
                f"buckets give each node the same number of topics from each of {chosen}: "
                f"subscriptions per node '{sizes.text}' should be a multiple of {chosen}"
            )
        self._each = sizes.fixed // chosen
        if self._each > self._groups.size:
            raise UsageError(
                f"a bucket has {self._groups.size} topics, so {self._each} cannot come from it"
            )
        self._inside = Distinct(np.ones(self._groups.size))
        self._seed = seed

    def draw(self, rows: Ints) -> Ragged:
        groups = self._groups.choose(rows)
        state = split(states(self._seed, "subscriptions", "topic", rows), self._groups.chosen)
        drawn = self._inside.draw(state.ravel(), np.full(groups.size, self._each, dtype=np.int64))
        counts = np.full(len(rows), self._each * self._groups.chosen, dtype=np.int64)
        return self._groups.topics(counts, np.repeat(groups.ravel(), self._each), drawn.items)


class MultiModal:
    """Magnet: S topics from b_p of b_n categories, by a power law inside each.

    The paper goes on "until the average peer has subscribed to a desired number". Here every
    node has exactly S different topics, or draws its own S.
    """

    def __init__(
        self, topics: int, categories: int, chosen: int, alpha: float, sizes: Sizes, seed: int
    ) -> None:
        self._groups = Groups(topics, categories, chosen, seed)
        reach = self._groups.size * chosen
        if sizes.high > reach:
            raise UsageError(
                f"{chosen} of {categories} categories hold {reach} topics, "
                f"fewer than the {sizes.high} that a node subscribes to"
            )
        inside = np.maximum(weights(f"zipf:{alpha:g}", self._groups.size), 1e-305)
        self._inside = Distinct(np.tile(inside, chosen))
        self._sizes = sizes
        self._seed = seed

    def draw(self, rows: Ints) -> Ragged:
        groups = self._groups.choose(rows)
        state = states(self._seed, "subscriptions", "topic", rows)
        drawn = self._inside.draw(state, draw_sizes(self._sizes, self._seed, rows))
        of_row = np.repeat(np.arange(len(rows)), drawn.counts)
        chosen, inner = np.divmod(drawn.items, self._groups.size)
        return self._groups.topics(drawn.counts, groups[of_row, chosen], inner)
