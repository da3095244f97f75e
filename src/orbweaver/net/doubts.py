"""Addresses at which nobody was found, and how often they may be tried again.

A card says where a node is, and is believed until somebody calls. Whoever hands out cards of
nodes that do not exist could so make every node of a network call somebody else's machine.
Therefore calls are counted, for an address, for a host and in all, and beyond a small number
further ones are not made. Calls that succeed are taken off again, and who was found at an
address before is called there as if nothing had happened.
"""

from __future__ import annotations

from orbweaver.core.ids import NodeId
from orbweaver.net.cards import Card
from orbweaver.net.limits import Bucket

ADDRESS = (1 / 30, 6.0)
HOST = (1.0, 100.0)
EVERYWHERE = (20.0, 500.0)
"""Calls that may fail: in a second, and at once. It is so few since each node of a network
may be told the same, and so many for a host since all nodes of a test live on one."""
KNOWN_MAX = 4096


class Doubts:
    def __init__(self) -> None:
        self._addresses: dict[str, Bucket] = {}
        self._hosts: dict[str, Bucket] = {}
        self._everywhere = Bucket(*EVERYWHERE, 0.0)
        self._found: dict[NodeId, str] = {}

    def may_call(self, card: Card, now: float) -> bool:
        """If so, it counts as made."""
        if self.was_found(card):
            return True
        buckets = self._buckets(card, now)
        if any(bucket.left(now) < 1 for bucket in buckets):
            return False
        for bucket in buckets:
            bucket.take(1, now)
        return True

    def found(self, card: Card, now: float) -> None:
        """We have called, and the node of the card was there."""
        if not self.was_found(card):
            for bucket in self._buckets(card, now):
                bucket.give(1)
        self._found.pop(card.node, None)
        self._found[card.node] = card.address
        if len(self._found) > KNOWN_MAX:
            del self._found[next(iter(self._found))]

    def was_found(self, card: Card) -> bool:
        return self._found.get(card.node) == card.address

    def _buckets(self, card: Card, now: float) -> tuple[Bucket, Bucket, Bucket]:
        return (
            _bucket(self._addresses, card.address, ADDRESS, now),
            _bucket(self._hosts, card.host, HOST, now),
            self._everywhere,
        )


def _bucket(
    buckets: dict[str, Bucket], name: str, limit: tuple[float, float], now: float
) -> Bucket:
    bucket = buckets.get(name)
    if bucket is None:
        bucket = buckets[name] = Bucket(*limit, now)
        if len(buckets) > KNOWN_MAX:
            del buckets[next(iter(buckets))]
    return bucket
