"""Draws topics from a few of many equal groups: Vitis IV-A and Magnet 4.2.

Both go back to Wong et al. In Vitis a node takes the same number of topics, evenly, from
each of its buckets; in Magnet it takes topics by a power law out of all its categories.
Group c holds the topics c * size to (c + 1) * size - 1.
"""

from __future__ import annotations

import numpy as np

from orbweaver.core.errors import UsageError
from orbweaver.pipeline.synthesise.chance import Ints, split, states
from orbweaver.pipeline.synthesise.distinct import Distinct, Ragged
from orbweaver.pipeline.synthesise.popularity import draw_sizes
from orbweaver.pipeline.synthesise.sizes import Sizes
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
        self._groups = Distinct(np.ones(groups))
        self._seed = seed

    def first_topics(self, rows: Ints) -> Ints:
        """Return the first topic of each group a row chose, ascending; shape (rows, chosen)."""
        state = states(self._seed, "subscriptions", "category", rows)
        drawn = self._groups.draw(state, np.full(len(rows), self.chosen, dtype=np.int64))
        return drawn.items.reshape(len(rows), self.chosen) * self.size


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
        first = self._groups.first_topics(rows)
        state = split(states(self._seed, "subscriptions", "topic", rows), self._groups.chosen)
        drawn = self._inside.draw(state.ravel(), np.full(first.size, self._each, dtype=np.int64))
        items = drawn.items.reshape(-1, self._each) + first.reshape(-1, 1)
        return Ragged(
            np.full(len(rows), self._each * self._groups.chosen, dtype=np.int64), items.ravel()
        )


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
        first = self._groups.first_topics(rows)
        state = states(self._seed, "subscriptions", "topic", rows)
        drawn = self._inside.draw(state, draw_sizes(self._sizes, self._seed, rows))
        of_row = np.repeat(np.arange(len(rows)), drawn.counts)
        group, inner = np.divmod(drawn.items, self._groups.size)
        return Ragged(drawn.counts, first[of_row, group] + inner)
