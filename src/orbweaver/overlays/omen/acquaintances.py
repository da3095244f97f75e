"""The nodes that a node has lately been told of: candidates for its ring and backup sets."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from random import Random

from orbweaver.core.ids import NodeId
from orbweaver.core.seeds import sample
from orbweaver.gossip.descriptor import AHEAD_MS, Aged, Descriptor

SIZE_MAX = 400
"""How many nodes are remembered at most, besides those in use."""


class Acquaintances:
    def __init__(self, me: NodeId, age_max_ms: int) -> None:
        self._me = me
        self._age_max_ms = age_max_ms
        self.known: dict[NodeId, Descriptor] = {}
        self._born: dict[NodeId, int] = {}
        """When each node itself was heard from, in this node's time."""
        self._gone: dict[NodeId, int] = {}
        """Nodes that left, and the version up to which news of them is old."""

    def __contains__(self, node: NodeId) -> bool:
        return node in self.known

    def take(self, entries: Iterable[Descriptor], ages: Iterable[int], now: int) -> None:
        """Take note of descriptors, which are `ages` milliseconds old."""
        for entry, age in zip(entries, ages, strict=False):
            node = entry.node
            if node == self._me or age > self._age_max_ms or entry.version < 0:
                continue
            if not self._gone.get(node, -1) < entry.version <= now + AHEAD_MS:
                continue
            known = self.known.get(node)
            if known is None or entry.version > known.version:
                self.known[node] = entry
            self._born[node] = max(self._born.get(node, now - age), now - age)

    def heard(self, node: NodeId, now: int) -> None:
        """Note that a node has spoken itself, so it has not left."""
        self._gone.pop(node, None)
        if node in self.known:
            self._born[node] = now

    def left(self, node: NodeId) -> None:
        """Note that a node has left. Later news counts only if it is of a newer version."""
        known = self.known.pop(node, None)
        self._born.pop(node, None)
        self._gone.pop(node, None)
        self._gone[node] = known.version if known is not None else 0
        if len(self._gone) > SIZE_MAX:
            del self._gone[next(iter(self._gone))]

    def gone(self) -> Collection[NodeId]:
        return self._gone.keys()

    def expire(self, used: Collection[NodeId], now: int) -> None:
        """Forget nodes that were not heard from for long, and the oldest of too many. `used` are
        nodes that a failure detector watches."""
        for node in used:
            if node in self.known:
                self._born[node] = now
        oldest = now - self._age_max_ms
        for node in [n for n, born in self._born.items() if born < oldest]:
            self._forget(node)
        if len(self.known) > SIZE_MAX:
            order = sorted(self.known, key=lambda node: (self._born[node], node))
            for node in order[: len(order) - SIZE_MAX]:
                self._forget(node)

    def masks(self) -> list[tuple[NodeId, int]]:
        """Return all candidates with the masks of their topics."""
        return [(node, entry.interest.mask) for node, entry in self.known.items()]

    def aged(self, nodes: Iterable[NodeId], now: int) -> Aged:
        found = [node for node in dict.fromkeys(nodes) if node in self.known]
        return [self.known[n] for n in found], [now - self._born[n] for n in found]

    def sample(self, count: int, rng: Random, now: int) -> Aged:
        return self.aged(sample(rng, list(self.known), count), now)

    def _forget(self, node: NodeId) -> None:
        del self.known[node]
        del self._born[node]
