"""Draw S topics by popularity: SpiderCast 3.1, Vitis' random pattern, OMen 6.1."""

from __future__ import annotations

import numpy as np

from orbweaver.core.errors import UsageError
from orbweaver.workload.models.chance import Ints, states, uniforms
from orbweaver.workload.models.distinct import Distinct, Ragged
from orbweaver.workload.models.sizes import Sizes
from orbweaver.workload.popularity import weights


class Popularity:
    """Each node draws its size, then that many different topics; t0 is the most popular."""

    def __init__(self, law: str, topics: int, sizes: Sizes, seed: int) -> None:
        if sizes.high > topics:
            raise UsageError(
                f"a node cannot subscribe to {sizes.high} different topics out of {topics}"
            )
        # A topic with a weight of zero still has a clock: the last to ring.
        self._topics = Distinct(np.maximum(weights(law, topics), 1e-305))
        self._sizes = sizes
        self._seed = seed

    def draw(self, rows: Ints) -> Ragged:
        return self._topics.draw(
            states(self._seed, "subscriptions", "topic", rows),
            draw_sizes(self._sizes, self._seed, rows),
        )


def draw_sizes(sizes: Sizes, seed: int, rows: Ints) -> Ints:
    if sizes.fixed is not None:
        return np.full(len(rows), sizes.fixed, dtype=np.int64)
    return sizes.of(uniforms(states(seed, "subscriptions", "size", rows), 1)[:, 0])
