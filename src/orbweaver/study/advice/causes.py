"""Which property of the data decides: runs on the data without the property say.

The pick and the runner-up are run again on the same samples with a property taken out. What then
becomes of the pick's lead is the effect of the property. The property to which the pick owes most
of its lead, as far as the intervals tell, is the one that decides.

- Without locality: the subscriptions are dealt out again at random.
- Without skew: they are dealt out again with all topics equally popular. Dealing out takes the
  locality too, so that this is compared with the data without locality.
- Without its largest topic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from orbweaver.core.seeds import generator
from orbweaver.metrics.averages import mean
from orbweaver.metrics.similarity import top_intersection
from orbweaver.study.advice.measures import estimate
from orbweaver.study.advice.ranking import share
from orbweaver.study.advice.value import Estimate, Property
from orbweaver.workload.altered import dealt_again, largest_topic
from orbweaver.workload.subscriptions import Subscriptions

NEAREST = 10
"""With how many of the nodes most like it a node is compared."""
TOP = 10
"""The most popular topics are one in `TOP` of all topics, rounded up."""

COMPARED: Mapping[str, tuple[str, str]] = {
    "locality": ("", "dealt again"),
    "skew": ("dealt again", "level"),
    "largest": ("", "without the largest topic"),
}
"""Property -> the data with it and without it, by how they are altered."""


def locality(these: Subscriptions) -> float:
    """Return the share of its topics that a node has in common with each of the nodes most like
    it, mean over nodes: tdi (SpiderCast 3.4)."""
    return top_intersection(these.of_node, NEAREST) / 100


def top_share(these: Subscriptions) -> float:
    """Return the share of the subscriptions that the most popular tenth of the topics has."""
    sizes = sorted(topic_sizes(these).values(), reverse=True)
    return sum(sizes[: math.ceil(len(sizes) / TOP)]) / sum(sizes)


def largest_share(these: Subscriptions) -> float:
    return largest_topic(these)[1] / len(these.labels)


def topic_sizes(these: Subscriptions) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for topics in these.of_node:
        for topic in topics:
            sizes[topic] = sizes.get(topic, 0) + 1
    return sizes


def describe(
    samples: Sequence[Subscriptions],
    effects: Mapping[str, Estimate | None],
    changes: Mapping[str, str],
) -> tuple[Property, ...]:
    """Return the properties of the data, means over samples, and which of them decides. `changes`
    tells each effect in words."""
    by_chance = mean(
        [locality(dealt_again(one, generator("dealt", i))) for i, one in enumerate(samples)]
    )
    near = mean([locality(one) for one in samples])
    top = mean([top_share(one) for one in samples])
    largest = mean([largest_share(one) for one in samples])
    deciding = decisive(effects)
    found = (
        (
            "locality",
            "interest locality",
            near,
            f"a node shares {share(near)} of its topics with each of the {NEAREST} nodes most "
            f"like it; {share(by_chance)} if the same subscriptions were dealt out at random",
        ),
        (
            "skew",
            "popularity skew",
            top,
            f"the most popular tenth of the topics has {share(top)} of the subscriptions",
        ),
        (
            "largest",
            "the size of the largest topic",
            largest,
            f"{share(largest)} of the nodes want it",
        ),
    )
    return tuple(
        Property(
            name, title, value, words, effects.get(name), changes.get(name, ""), name == deciding
        )
        for name, title, value, words in found
    )


def effect(with_it: Sequence[float], without: Sequence[float]) -> Estimate | None:
    """Return how much of a lead goes without a property, from the leads run by run."""
    return estimate([a - b for a, b in zip(with_it, without, strict=True)])


def decisive(effects: Mapping[str, Estimate | None]) -> str | None:
    """Return the property without which most of the lead goes, of those whose interval leaves no
    doubt that some of it goes; None if there is none. A property without which the lead grows
    works against the pick."""
    clear = {
        name: one.mean
        for name, one in effects.items()
        if one is not None and one.half is not None and one.mean > one.half
    }
    return max(clear, key=clear.__getitem__, default=None)
