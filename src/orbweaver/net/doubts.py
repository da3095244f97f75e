"""Addresses at which nobody was found, and how often they may be tried again.

A card says where a node is, and is believed until somebody calls. Whoever hands out cards of
nodes that do not exist could so make every node of a network call somebody else's machine.
Therefore calls that fail are counted, for an address, for a host and in all, and beyond a
small number further ones are not made. Calls that succeed cost nothing, and who was found at
an address before is called there as if nothing had happened.
"""

from __future__ import annotations

from orbweaver.core.ids import NodeId
from orbweaver.net.cards import Card
from orbweaver.net.limits import Bucket

ADDRESS = (0.5, 6.0)
HOST = (5.0, 100.0)
EVERYWHERE = (50.0, 500.0)
"""Calls that may fail: in a second, and at once. Many nodes of a test live on one host."""
KNOWN_MAX = 4096


class Doubts:
    def __init__(self) -> None:
        self._addresses: dict[str, Bucket] = {}
        self._hosts: dict[str, Bucket] = {}
        self._everywhere = Bucket(*EVERYWHERE, 0.0)
        self._found: dict[NodeId, str] = {}

    def may_call(self, card: Card, now: float) -> bool:
        return self.was_found(card) or all(
            bucket is None or bucket.left(now) >= 1
            for bucket in (
                self._addresses.get(card.address), self._hosts.get(card.host), self._everywhere,
            )
        )  # fmt: skip

    def failed(self, card: Card, now: float) -> None:
        self._everywhere.allow(1, now)
        for buckets, name, limit in (
            (self._addresses, card.address, ADDRESS), (self._hosts, card.host, HOST),
        ):  # fmt: skip
            bucket = buckets.get(name)
            if bucket is None:
                bucket = buckets[name] = Bucket(*limit, now)
                if len(buckets) > KNOWN_MAX:
                    del buckets[next(iter(buckets))]
            bucket.allow(1, now)

    def found(self, card: Card) -> None:
        """We have called, and the node of the card was there."""
        self._found.pop(card.node, None)
        self._found[card.node] = card.address
        if len(self._found) > KNOWN_MAX:
            del self._found[next(iter(self._found))]

    def was_found(self, card: Card) -> bool:
        return self._found.get(card.node) == card.address
