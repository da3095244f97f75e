"""Subscriptions come from the papers' models, or from a table of the user's own."""

from __future__ import annotations

import csv
import dataclasses
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from math import inf, log
from pathlib import Path
from random import Random

from orbweaver.core.errors import LAB, UsageError
from orbweaver.core.ids import check_topic
from orbweaver.core.seeds import generator, sample
from orbweaver.workload.dialect import Reading
from orbweaver.workload.popularity import weights
from orbweaver.workload.tables import AS_FOUND, read_table


@dataclasses.dataclass(frozen=True)
class Subscriptions:
    """The topics of each node. Nodes are numbered from 0; `labels` are their names."""

    topics: tuple[str, ...]
    of_node: tuple[tuple[str, ...], ...]
    labels: tuple[str, ...]
    """The name of each node in the source; in a model, the name is the number."""


class SubscriptionModel(ABC):
    """Base of the models that draw the topics of one node at a time."""

    def __init__(self, topics: int, size_min: int, size_max: int, exponent: float = 0.0) -> None:
        """Draw sizes s with probabilities proportional to s^-exponent; 0 makes all sizes alike."""
        if size_max > topics:
            raise UsageError(
                f"a node cannot subscribe to {size_max} different topics out of {topics}"
            )
        self.topics = tuple(f"t{i}" for i in range(topics))
        self._size_min = size_min
        self._size_max = size_max
        # Divided first, so that a large size_min does not underflow.
        shares = ((size / size_min) ** -exponent for size in range(size_min, size_max + 1))
        self._sizes = list(accumulate(shares)) if exponent else []

    def draw(self, rng: Random) -> tuple[str, ...]:
        size = self._size_min
        if self._sizes:
            place = bisect_right(self._sizes, rng.random() * self._sizes[-1])
            size += min(place, len(self._sizes) - 1)
        elif self._size_max > size:
            size += int(rng.random() * (self._size_max - size + 1))
        return tuple(self.topics[i] for i in sorted(self._choose(rng, size)))

    @abstractmethod
    def _choose(self, rng: Random, size: int) -> Iterable[int]:
        """Draw the numbers of `size` different topics."""


class Bucketed(SubscriptionModel):
    """Draw topics from equal groups: a node takes the same number of topics from each of a few
    groups (Vitis IV-A).

    All topics are equally popular, but interests are correlated. Topics with neighbouring
    numbers belong to different groups: rates go by number, and if the first topics were of one
    group, that group would hold all topics with high rates.
    """

    def __init__(self, topics: int, law: str, size_min: int, size_max: int) -> None:
        super().__init__(topics, size_min, size_max)
        parts = law.split(":")[1:]
        if len(parts) != 2 or not all(part.isdigit() and int(part) for part in parts):
            raise UsageError(
                f"popularity '{law}' should be buckets:GROUPS:TAKEN, such as buckets:100:5"
            )
        groups, self._taken = map(int, parts)
        if topics % groups or self._taken > groups:
            raise UsageError(
                f"popularity '{law}' does not divide {topics} topics: GROUPS should divide their "
                "number, and TAKEN be at most GROUPS"
            )
        self._groups = range(groups)
        self._width = topics // groups
        fits = size_max <= self._taken * self._width
        if not fits or size_min % self._taken or size_max != size_min:
            raise UsageError(
                f"popularity '{law}': each node takes equally many topics from {self._taken} "
                f"groups of {self._width} topics, which does not add up to {size_min}:{size_max}"
            )

    def _choose(self, rng: Random, size: int) -> Iterable[int]:
        share = size // self._taken
        return [
            topic * len(self._groups) + group
            for group in sample(rng, self._groups, self._taken)
            for topic in sample(rng, range(self._width), share)
        ]


class ByPopularity(SubscriptionModel):
    """Draw S topics for each node by popularity, without repetition (SpiderCast 3.1)."""

    def __init__(
        self, topics: int, law: str, size_min: int, size_max: int, exponent: float = 0.0
    ) -> None:
        super().__init__(topics, size_min, size_max, exponent)
        self._weights = weights(law, topics)
        self._cumulative = list(accumulate(self._weights))

    def _choose(self, rng: Random, size: int) -> Iterable[int]:
        cumulative = self._cumulative
        total = cumulative[-1]
        last = len(cumulative) - 1
        chosen: set[int] = set()
        # A topic drawn twice is drawn again. Where drawing could take long, because most topics
        # are wanted or few have nearly all the weight, `_first_to_ring` draws the rest.
        draws = 0 if 2 * size > len(self.topics) else 40 * size
        while len(chosen) < size and draws:
            chosen.add(min(last, bisect_right(cumulative, rng.random() * total)))
            draws -= 1
        return chosen | self._first_to_ring(rng, size - len(chosen), chosen)

    def _first_to_ring(self, rng: Random, count: int, but: set[int]) -> set[int]:
        """Draw the next `count` topics of the same distribution, given the topics in `but`.

        Each topic has an exponential clock with its weight as rate; the first clocks to ring
        give the topics.
        """
        if not count:
            return set()
        clocks = sorted(
            (-log(1.0 - rng.random()) / weight if weight else inf, i)
            for i, weight in enumerate(self._weights)
            if i not in but
        )
        return {i for _, i in clocks[:count]}


def make_model(
    topics: int, law: str, size_min: int, size_max: int, exponent: float = 0.0
) -> SubscriptionModel:
    if law.partition(":")[0] == "buckets":
        return Bucketed(topics, law, size_min, size_max)
    return ByPopularity(topics, law, size_min, size_max, exponent)


def synthesise(model: SubscriptionModel, nodes: int, *labels: int | str) -> Subscriptions:
    """Draw the subscriptions of `nodes` nodes from a generator derived from the labels."""
    rng = generator(*labels)
    drawn = tuple(model.draw(rng) for _ in range(nodes))
    return Subscriptions(model.topics, drawn, tuple(str(i) for i in range(nodes)))


def correlated(
    law: str, nodes: int, topics: int, subscriptions_per_node: str, seed: int
) -> Subscriptions:
    """Draw subscriptions by a law of `popularity.CORRELATED`. They are the same that `orbweaver
    synthesise` writes with the same settings and seed."""
    try:
        import numpy as np

        from orbweaver.workload.models.catalog import build, plan_of_law
    except ImportError:
        raise UsageError(f"popularity '{law}' needs {LAB}") from None
    model = build(plan_of_law(law, nodes, topics, subscriptions_per_node), seed)
    names = tuple(f"t{i}" for i in range(topics))
    rows = model.draw(np.arange(nodes)).rows()
    drawn = tuple(tuple(names[topic] for topic in row) for row in rows)
    return Subscriptions(names, drawn, tuple(str(i) for i in range(nodes)))


SUBSCRIPTION_COLUMNS = ("node", "topic")


def write_subscriptions(these: Subscriptions, file: Path) -> None:
    """Write a table that `load_subscriptions` reads, as CSV."""
    with file.open("w", newline="", encoding="utf-8") as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(SUBSCRIPTION_COLUMNS)
        for label, topics in zip(these.labels, these.of_node, strict=True):
            writer.writerows((label, topic) for topic in topics)


def load_subscriptions(path: Path, read: Reading = AS_FOUND) -> Subscriptions:
    """Read subscriptions from CSV or Parquet with columns node,topic, or the columns that `read`
    names.

    Nodes and topics are numbered in the order of the file. A pair that occurs twice counts once.
    """
    topics: dict[str, None] = {}
    of_node: dict[str, dict[str, None]] = {}
    for line, (node, topic) in read_table(path, SUBSCRIPTION_COLUMNS, read):
        try:
            check_topic(topic)
        except UsageError as error:
            raise UsageError(f"{path}, line {line}: {error}") from None
        topics[topic] = None
        of_node.setdefault(node, {})[topic] = None
    if not of_node:
        raise UsageError(f"{path} has no rows; there should be one for each node and topic")
    return Subscriptions(
        tuple(topics), tuple(tuple(wanted) for wanted in of_node.values()), tuple(of_node)
    )
