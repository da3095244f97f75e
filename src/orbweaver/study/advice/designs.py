"""How good an overlay for these subscriptions could be: bounds, and links planned in one place."""

from __future__ import annotations

from collections.abc import Sequence

from orbweaver.metrics.averages import mean
from orbweaver.study.advice.value import Design, Possible
from orbweaver.workload.links import Link
from orbweaver.workload.subscriptions import Subscriptions

CURVE_POINTS = 50
"""Most points of a curve, besides its first."""


def possible(samples: Sequence[Subscriptions], links_of_pick: float | None) -> Possible | None:
    """Return the means over some samples, or None where the packages for designs are missing."""
    try:  # needs the lab install, which the rest of the advice does without
        from orbweaver.design.plan import design
        from orbweaver.design.rules import Rule
    except ImportError:
        return None
    rules = {"GM": Rule("gm"), "LowODA": Rule("lowoda")}
    plans = {name: [design(one.of_node, rule) for one in samples] for name, rule in rules.items()}
    designs = tuple(
        Design(
            name,
            mean([plan.degree_mean for plan in made]),
            mean([float(plan.degree_max) for plan in made]),
            connected_topics(samples[0].of_node, made[0].added),
        )
        for name, made in plans.items()
    )
    bounds = [plan.bounds for plan in plans["GM"]]
    fewest = min(one.links_mean for one in designs)
    return Possible(
        mean([bound.degree_mean for bound in bounds]),
        mean([float(bound.degree_max) for bound in bounds]),
        designs,
        links_of_pick / fewest if links_of_pick is not None and fewest else None,
    )


def connected_topics(
    of_node: Sequence[Sequence[str]], links: Sequence[Link]
) -> tuple[tuple[float, float], ...]:
    """Return pairs (links of a node in the mean, share of the topics whose nodes are connected)
    as links are added in this order, at most `CURVE_POINTS` and the first."""
    sets = [frozenset(topics) for topics in of_node]
    parent: dict[tuple[int, str], tuple[int, str]] = {
        (node, topic): (node, topic) for node, topics in enumerate(sets) for topic in topics
    }
    components: dict[str, int] = {}
    for _, topic in parent:
        components[topic] = components.get(topic, 0) + 1

    def root(slot: tuple[int, str]) -> tuple[int, str]:
        while parent[slot] != slot:
            parent[slot] = parent[parent[slot]]
            slot = parent[slot]
        return slot

    whole = sum(count == 1 for count in components.values())
    curve = [(0.0, whole / len(components))]
    step = max(1, -(-len(links) // CURVE_POINTS))
    for number, (a, b) in enumerate(links, 1):
        for topic in sorted(sets[a] & sets[b]):
            one, other = root((a, topic)), root((b, topic))
            if one != other:
                parent[one] = other
                components[topic] -= 1
                whole += components[topic] == 1
        if number % step == 0 or number == len(links):
            curve.append((2 * number / len(sets), whole / len(components)))
    return tuple(curve)
