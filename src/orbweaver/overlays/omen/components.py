"""What counts as connected when a repair chooses edges: E_cur of Algorithm 1.

With edges inside the shadow set only, as printed, degrees explode, because most shadow nodes are
connected through others. So the default is to find the components (`survey`). The rest is here
to compare with: `hop` knows the edges that have at least one end in the shadow set, and `oracle`
asks the directory of a simulation what is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from orbweaver.core.bitplanes import bits_of
from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Directory
from orbweaver.core.topics import TopicTable
from orbweaver.overlays.omen.messages import ShadowReport
from orbweaver.overlays.omen.repair import Joined

Reports = Iterable[tuple[NodeId, ShadowReport]]


def joined_by_probe(reports: Reports, topics: TopicTable) -> list[Joined]:
    """Join the shadow nodes that saw the same label."""
    return joined_alike(
        (topics.mask(label.topic), node, label.least)
        for node, report in reports
        for label in report.labels
    )


def joined_inside(reports: Reports, interests: Mapping[NodeId, int]) -> list[Joined]:
    """Join the ends of each edge inside the shadow set."""
    return [
        (node, tie.node, tie.topics.mask)
        for node, report in reports
        for tie in report.ties
        if tie.node in interests
    ]


def joined_by_hop(
    reports: Reports, interests: Mapping[NodeId, int], dead: Collection[NodeId]
) -> list[Joined]:
    """Join the ends of each edge inside the shadow set, and those that have a neighbour outside
    in common, unless that one has left."""
    return [
        *joined_inside(reports, interests),
        *joined_alike(
            (1 << topic, node, tie.node)
            for node, report in reports
            for tie in report.ties
            if tie.node not in interests and tie.node not in dead
            for topic in bits_of(tie.topics.mask)
        ),
    ]


def there_already(
    reports: Mapping[NodeId, ShadowReport], interests: Mapping[NodeId, int], joins: NodeId
) -> dict[NodeId, int]:
    """Return the topics for which each shadow node can link up one that joins. A node without a
    neighbour in a topic, besides the one that joins, may be joining itself: it counts only where no
    other is in the overlay of that topic."""
    tied = dict.fromkeys(interests, 0)
    for node in interests:
        for tie in reports[node].ties:
            if joins not in (node, tie.node):
                tied[node] |= tie.topics.mask
    there = 0
    for node, mask in interests.items():
        there |= mask & tied[node]
    return {
        node: mask if node == joins else mask & (tied[node] | ~there)
        for node, mask in interests.items()
    }


def joined_in_truth(
    interests: Mapping[NodeId, int], topics: int, directory: Directory
) -> list[Joined]:
    """Join the shadow nodes that are connected in the overlay as it is."""
    reached: dict[NodeId, int] = {}
    joined: list[Joined] = []
    for start, mask in interests.items():
        fresh = mask & topics & ~reached.get(start, 0)
        reached[start] = reached.get(start, 0) | fresh
        waiting = {start: fresh} if fresh else {}
        while waiting:
            node = next(iter(waiting))
            crossing = waiting.pop(node)
            for peer in directory.links_of(node):
                news = crossing & directory.mask_of(peer) & ~reached.get(peer, 0)
                if not news:
                    continue
                reached[peer] = reached.get(peer, 0) | news
                # What comes before its turn goes on together.
                waiting[peer] = waiting.get(peer, 0) | news
                if peer in interests:
                    joined.append((start, peer, news))
    return joined


def joined_alike(labels: Iterable[tuple[int, NodeId, int]]) -> list[Joined]:
    """Join the nodes that have the same label on a topic, given as a bit."""
    first: dict[tuple[int, int], NodeId] = {}
    joined: dict[tuple[NodeId, NodeId], int] = {}
    for bit, node, label in labels:
        start = first.setdefault((bit, label), node)
        if start != node:
            joined[start, node] = joined.get((start, node), 0) | bit
    return [(a, b, mask) for (a, b), mask in joined.items()]
