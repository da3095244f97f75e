"""Draws topics as Magnet 4.4 does: preferential attachment among the leaves of a binary tree.

The paper repeats: pick a topic t by popularity and one of its subscribers p, which is to
pick any subscription evenly; then p subscribes to a topic at tree distance l from t,
Pr[l = x] = C exp(-lambda x). It stops when a node has Z subscriptions on average.

That is a sequence over all nodes, but in continuous time it falls apart: let every
subscription fire at rate 1. Which one fires next is again an even draw, and each node
goes its own way, needing nothing of the others but the moment to stop. So a node is a
function of its own row. The moment is when the first `PILOT` rows have Z on average.

Chosen where the text is open:
- The distance of two leaves is the height of their lowest common ancestor, 1 or more;
  there are 2^(l-1) leaves at distance l. An attempt at a topic that the node has, or that
  does not exist because T is no power of two, changes nothing and time goes on.
- Every node has one "home" topic and a Poisson number more, Z * initFrac in all. They
  are drawn so that x subscribers are as likely as x^-alpha0, as footnote 3 has it ("the
  fraction of topics of popularity x is roughly 1/x^alpha"). The topic of rank r then
  has r^(-1 / (alpha0 - 1)) of them. Ranks are scattered over the leaves.
- The paper wants no topic to be empty at first. With a home topic for each node and 1.6
  subscriptions of each (Fig. 7), a law cannot have all three. Topics that nobody drew
  stay empty, until growth reaches them: at the setting of Fig. 7, all but 0.5 %.
"""

from __future__ import annotations

import math

import numpy as np

from orbweaver.core.errors import UsageError
from orbweaver.workload.models.chance import Floats, Ints, permute, states, uniforms
from orbweaver.workload.models.distinct import Distinct, Ragged
from orbweaver.workload.models.growth import Growth
from orbweaver.workload.popularity import weights

PILOT = 1 << 14
"""Number of pilot nodes, as many as in the paper; their mean size has an error below 1 %."""
BATCH = 1 << 12
"""Number of nodes that grow together; their topics then fit a processor's cache."""


class Hierarchy:
    def __init__(
        self, topics: int, mean: float, init_frac: float, homophily: float, alpha0: float,
        seed: int,
    ) -> None:  # fmt: skip
        if topics < 2:
            raise UsageError("a hierarchy needs at least 2 topics")
        if mean > topics / 4:
            raise UsageError(
                f"{mean:g} topics for each node are too many to grow to out of {topics}"
            )
        self._topics = topics
        self._seed = seed
        by_rank = 1 / (alpha0 - 1)
        self._homes = Distinct(np.maximum(weights(f"zipf:{by_rank!r}", topics), 1e-305))
        self._home_counts = _poisson(max(0.0, mean * init_frac - 1))
        distance = np.arange(1, (topics - 1).bit_length() + 1)
        shares = np.exp(-homophily * (distance - 1))
        self._distances: Floats = np.cumsum(shares) / shares.sum()
        self._distances[-1] = 1.0
        self.stop = self._when(mean)

    def draw(self, rows: Ints) -> Ragged:
        counts, items = [], []
        for start in range(0, len(rows), BATCH):
            growth = self._start(rows[start : start + BATCH])
            growth.advance(self.stop)
            counts.append(growth.sizes)
            items.append(growth.sorted_topics())
        return Ragged(np.concatenate(counts), np.concatenate(items))

    def _start(self, rows: Ints) -> Growth:
        chance = uniforms(states(self._seed, "subscriptions", "homes", rows), 1)[:, 0]
        sizes = 1 + np.searchsorted(self._home_counts, chance, side="right").astype(np.int64)
        sizes = np.minimum(sizes, self._topics // 2)
        homes = self._homes.draw(states(self._seed, "subscriptions", "home", rows), sizes)
        leaves = permute(self._seed, "leaf", self._topics, homes.items)
        state = states(self._seed, "subscriptions", "growth", rows)
        return Growth(Ragged(homes.counts, leaves), state, self._topics, self._distances)

    def _when(self, mean: float) -> float:
        pilot = self._start(np.arange(PILOT))
        wanted = round(mean * PILOT)
        if pilot.sizes.sum() >= wanted:
            return 0.0
        until, births = 1.0, np.empty(0)
        while pilot.sizes.sum() < wanted:
            before = int(pilot.sizes.sum())
            births = np.sort(np.concatenate(pilot.advance(until)))
            until *= 1.2
        return float(births[wanted - before - 1])


def _poisson(mean: float) -> Floats:
    """Return the distribution function at 0, 1, 2, ... up to where it cannot be told from 1."""
    last = int(mean + 12 * math.sqrt(mean) + 20)
    logs = [k * math.log(mean) - mean - math.lgamma(k + 1) if mean else 0.0 for k in range(last)]
    shares = np.exp(logs) if mean else np.ones(1)
    return np.asarray(np.cumsum(shares) / shares.sum())
