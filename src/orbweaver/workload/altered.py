"""Take one property away from subscriptions, to find out what the property does.

Each function returns new subscriptions, and changes their other properties as little as possible.
"""

from __future__ import annotations

from collections import Counter
from random import Random

from orbweaver.core.seeds import below, sample
from orbweaver.workload.subscriptions import Subscriptions

EXCHANGES = 10
"""How many exchanges are tried for each subscription when they are dealt out again."""


def dealt_again(these: Subscriptions, rng: Random) -> Subscriptions:
    """Deal the subscriptions out at random, so that interests are no longer alike. Each node keeps
    the number of its topics, and each topic the number of its nodes.

    Two random subscriptions exchange their topics, many times; an exchange that would give a node
    the same topic twice is left out.
    """
    of_node = [dict.fromkeys(topics) for topics in these.of_node]
    pairs = [(node, topic) for node, topics in enumerate(of_node) for topic in topics]
    for _ in range(EXCHANGES * len(pairs)):
        i, j = below(rng, len(pairs)), below(rng, len(pairs))
        (a, one), (b, other) = pairs[i], pairs[j]
        if one in of_node[b] or other in of_node[a]:
            continue
        del of_node[a][one], of_node[b][other]
        of_node[a][other] = of_node[b][one] = None
        pairs[i], pairs[j] = (a, other), (b, one)
    return _without_unwanted(these, [tuple(topics) for topics in of_node])


def level(these: Subscriptions, rng: Random) -> Subscriptions:
    """Let each node want as many topics as before, with all topics equally likely. Interests are no
    longer alike, and no topic is more popular than another."""
    return _without_unwanted(
        these, [tuple(sample(rng, these.topics, len(topics))) for topics in these.of_node]
    )


def without_largest(these: Subscriptions, rng: Random) -> Subscriptions:
    """Leave out the topic that most nodes want. Nodes that want nothing else go too."""
    largest, _ = largest_topic(these)
    return _without_unwanted(
        these, [tuple(t for t in topics if t != largest) for topics in these.of_node]
    )


def largest_topic(these: Subscriptions) -> tuple[str, int]:
    """Return the topic that most nodes want, and how many do."""
    wanted = Counter(topic for topics in these.of_node for topic in topics)
    return wanted.most_common(1)[0]


def _without_unwanted(these: Subscriptions, of_node: list[tuple[str, ...]]) -> Subscriptions:
    """Return new topics for the same nodes, without nodes that have none and topics that no node
    wants."""
    there = {topic for topics in of_node for topic in topics}
    kept = [(label, topics) for label, topics in zip(these.labels, of_node, strict=True) if topics]
    return Subscriptions(
        tuple(topic for topic in these.topics if topic in there),
        tuple(topics for _, topics in kept),
        tuple(label for label, _ in kept),
    )
