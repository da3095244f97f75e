"""A snapshot is the overlay at one moment, folded out of the records."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from orbweaver.records import Records


@dataclasses.dataclass(frozen=True)
class Snapshot:
    time_ms: int
    interests: dict[int, frozenset[str]]
    """Every node that is up, with its topics (also those it only publishes on)."""
    links: dict[int, list[int]]
    """Every node that is up, with its neighbours in ascending order. Each link stands at both
    of its ends."""

    def on_topic(self) -> dict[str, list[int]]:
        """Return the nodes of each topic that has any."""
        nodes: dict[str, list[int]] = {}
        for node, topics in self.interests.items():
            for topic in sorted(topics):
                nodes.setdefault(topic, []).append(node)
        return nodes

    def edges(self) -> list[tuple[int, int]]:
        """Return each link once, the smaller end first."""
        return [(a, b) for a, peers in self.links.items() for b in peers if a < b]


def snapshot(records: Records, time_ms: int, young_ms: int = 0) -> Snapshot:
    """Return the state just after everything that happened at `time_ms`.

    A link counts if both ends hold it. Nodes that joined within the last `young_ms` are left
    out.
    """
    joined: dict[int, int] = {}
    for time, node, kind in records["nodes"].rows():
        if time > time_ms:
            break
        if kind == "join":
            joined[node] = time
        else:
            joined.pop(node, None)
    up = {node for node, time in joined.items() if time <= time_ms - young_ms}
    wanted: dict[int, set[str]] = {node: set() for node in sorted(up)}
    for time, node, topic, kind in records["interests"].rows():
        if time > time_ms:
            break
        if node in up:
            if kind == "unsubscribe":
                wanted[node].discard(topic)
            else:
                wanted[node].add(topic)
    held: dict[int, set[int]] = {node: set() for node in wanted}
    for time, node, peer, kind in records["links"].rows():
        if time > time_ms:
            break
        # Only links of a node's present life: a crash records nothing about the links it ends.
        if node in up and time >= joined[node]:
            if kind == "up":
                held[node].add(peer)
            else:
                held[node].discard(peer)
    links = {
        node: sorted(peer for peer in peers if node in held.get(peer, ()))
        for node, peers in held.items()
    }
    return Snapshot(time_ms, {n: frozenset(topics) for n, topics in wanted.items()}, links)


def from_graph(
    interests: dict[int, Collection[str]], edges: Collection[tuple[int, int]]
) -> Snapshot:
    """Make a snapshot from plain data, for overlays designed elsewhere and for tests."""
    links: dict[int, set[int]] = {node: set() for node in sorted(interests)}
    for a, b in edges:
        links[a].add(b)
        links[b].add(a)
    return Snapshot(
        0,
        {node: frozenset(interests[node]) for node in links},
        {node: sorted(peers) for node, peers in links.items()},
    )
