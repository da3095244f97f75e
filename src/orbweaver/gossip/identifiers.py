"""The identifier space: a circle of 2^64 places, shared by nodes and topics.

Places come from a hash that everybody knows, so nobody has to be told where a node or a
topic is, and they are spread evenly.
"""

from __future__ import annotations

from functools import lru_cache

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.seeds import derive

SPACE = 1 << 64
HALF = SPACE >> 1


@lru_cache(maxsize=1 << 20)
def node_place(node: NodeId) -> int:
    return derive("node", node)


@lru_cache(maxsize=1 << 20)
def topic_place(topic: Topic) -> int:
    return derive("topic", topic)


def distance(a: int, b: int) -> int:
    """The shorter way round."""
    ahead = (b - a) % SPACE
    return ahead if ahead < HALF else SPACE - ahead
