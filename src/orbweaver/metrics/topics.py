"""Measure topic connectivity and topic diameter.

Both are properties of the graph that a topic's nodes form by themselves, except for
`whole_diameter`, where a path may lead through any node of the overlay.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from orbweaver.metrics.snapshot import Snapshot

BLOCK = 4096
"""How many sources of a breadth-first search share one integer: memory stays at
nodes * BLOCK / 8 bytes, whatever the size of the topic."""


@dataclasses.dataclass(frozen=True)
class TopicShape:
    topic: str
    nodes: int
    components: int
    diameter: int
    """The largest distance within a component."""
    distance_sum: int
    distance_pairs: int
    """How many ordered pairs of different nodes are connected."""


def induced(links: Mapping[int, Iterable[int]], members: Sequence[int]) -> list[list[int]]:
    """Return the links among a topic's nodes, numbered by their place in `members`."""
    place = {node: i for i, node in enumerate(members)}
    return [[place[peer] for peer in links[node] if peer in place] for node in members]


def components(graph: list[list[int]]) -> int:
    seen = bytearray(len(graph))
    count = 0
    for start in range(len(graph)):
        if seen[start]:
            continue
        count += 1
        seen[start] = 1
        stack = [start]
        while stack:
            for peer in graph[stack.pop()]:
                if not seen[peer]:
                    seen[peer] = 1
                    stack.append(peer)
    return count


def distances(graph: list[list[int]]) -> tuple[int, int, int]:
    """Return (largest distance, sum of distances, ordered connected pairs), exactly.

    The breadth-first search starts from every node at once: bit i of a node's integer says that
    source i has reached the node. One step ORs each node's neighbours together, so a topic of
    four thousand nodes takes about a hundred thousand operations on 500-byte integers
    rather than a hundred million steps.
    """
    largest = total = pairs = 0
    size = len(graph)
    for base in range(0, size, BLOCK):
        width = min(BLOCK, size - base)
        reached = [0] * size
        for i in range(width):
            reached[base + i] = 1 << i
        known = width
        step = 0
        while True:
            step += 1
            grown = _step(graph, reached)
            now_known = sum(bits.bit_count() for bits in grown)
            if now_known == known:
                break
            total += step * (now_known - known)
            pairs += now_known - known
            largest = max(largest, step)
            known = now_known
            reached = grown
    return largest, total, pairs


def _step(graph: list[list[int]], reached: Sequence[int]) -> list[int]:
    """Return the sources that have reached each node one step later."""
    grown = []
    for node, peers in enumerate(graph):
        bits = reached[node]
        for peer in peers:
            bits |= reached[peer]
        grown.append(bits)
    return grown


def whole_diameter(overlay: Snapshot) -> int:
    """Return the largest distance between two nodes that share a topic, where a path may lead
    through any node. Pairs without a path do not count.

    The search is the one in `distances`. For each node, a mask holds the sources that share a
    topic with the node and have not reached it yet.
    """
    nodes = list(overlay.interests)
    graph = induced(overlay.links, nodes)
    largest = 0
    for base in range(0, len(nodes), BLOCK):
        block = nodes[base : base + BLOCK]
        on_topic: dict[str, int] = {}
        for i, node in enumerate(block):
            for topic in overlay.interests[node]:
                on_topic[topic] = on_topic.get(topic, 0) | 1 << i
        missing = []
        for node in nodes:
            sharing = 0
            for topic in overlay.interests[node]:
                sharing |= on_topic.get(topic, 0)
            missing.append(sharing)
        reached = [0] * len(nodes)
        for i in range(len(block)):
            reached[base + i] = 1 << i
            missing[base + i] &= ~(1 << i)
        step = 0
        while any(missing):
            step += 1
            grown = _step(graph, reached)
            for node, bits in enumerate(grown):
                if missing[node] & bits:
                    missing[node] &= ~bits
                    largest = max(largest, step)
            if grown == reached:
                break
            reached = grown
    return largest


def topic_shape(
    topic: str,
    links: Mapping[int, Iterable[int]],
    members: Sequence[int],
    with_distances: bool = True,
) -> TopicShape:
    """Return the shape of one topic. `links` holds at least all links of the topic's members; a
    link may lead to a node that is no member."""
    graph = induced(links, members)
    largest, total, pairs = distances(graph) if with_distances else (0, 0, 0)
    return TopicShape(topic, len(members), components(graph), largest, total, pairs)


def shapes(overlay: Snapshot, with_distances: bool = True) -> list[TopicShape]:
    """Return the shape of every topic that some node is interested in, in the order of first
    appearance."""
    return [
        topic_shape(topic, overlay.links, members, with_distances)
        for topic, members in overlay.on_topic().items()
    ]
