"""Measure how similar interests are: of a node and the nodes most similar to it, and of nodes
that are linked.

tdi(d) (SpiderCast 3.4): the intersection of two nodes is the number of shared topics over the
smaller of the two subscriptions, in percent; a node's tdi is the mean over the d nodes with the
highest intersection.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from orbweaver.core.bitplanes import at_count, count_planes
from orbweaver.metrics.averages import mean
from orbweaver.metrics.snapshot import Snapshot


def link_utility(overlay: Snapshot) -> float:
    """Return the utility of Vitis' equation 1 at uniform rates, mean over all links: the number
    of topics that two linked nodes share, over the number that at least one of them wants."""
    interests = overlay.interests
    pairs = [(interests[a], interests[b]) for a, b in overlay.edges()]
    return mean([len(a & b) / len(a | b) if a or b else 0.0 for a, b in pairs])


def top_intersection(interests: Sequence[Collection[str]], d: int) -> float:
    """Return the exact tdi(d), in percent. Nodes without topics are left out."""
    nodes = [frozenset(topics) for topics in interests if topics]
    on_topic: dict[str, int] = {}
    of_size: dict[int, int] = {}
    for i, topics in enumerate(nodes):
        of_size[len(topics)] = of_size.get(len(topics), 0) | 1 << i
        for topic in topics:
            on_topic[topic] = on_topic.get(topic, 0) | 1 << i
    return mean([_of_node(i, topics, on_topic, of_size, d) for i, topics in enumerate(nodes)])


def _of_node(
    node: int,
    topics: Collection[str],
    on_topic: dict[str, int],
    of_size: dict[int, int],
    d: int,
) -> float:
    planes = count_planes(on_topic[topic] for topic in topics)
    groups: list[tuple[float, int]] = []
    for size, members in of_size.items():
        others = members & ~(1 << node)
        for shared in range(min(size, len(topics)), 0, -1):
            found = at_count(planes, shared, others).bit_count()
            if found:
                groups.append((100.0 * shared / min(size, len(topics)), found))
    groups.sort(reverse=True)
    total = 0.0
    left = d
    for value, found in groups:
        taken = min(left, found)
        total += value * taken
        left -= taken
        if not left:
            break
    return total / d
