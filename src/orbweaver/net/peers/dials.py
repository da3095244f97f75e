"""Limit the calls to nodes that were not found, and to addresses at which none was.

A node that has gone stays in the address books and views of other nodes for a while. A peer that
is not found is called again later, with a pause that doubles each time. A new card ends the
pause, since it says that the peer is up, and where.

A card says where a node is, and is believed until the first call. A peer that hands out cards of
nodes that do not exist could so make every node of a network call a machine that is no node.
Therefore calls are counted for each address, for each host and in all, and beyond a small number
no further calls are made. A call that succeeds does not count, and neither do calls to a node at
an address where it was found before.
"""

from __future__ import annotations

from typing import NamedTuple

from orbweaver.core.ids import NodeId
from orbweaver.net.gate.limits import Bucket
from orbweaver.net.peers.cards import AddressBook, Card

FIRST_S, LONGEST_S = 2.0, 60.0
"""Seconds of the first and of the longest pause."""
ABSENT_MAX = 1024
"""How many absent peers are remembered."""

ADDRESS = (1 / 30, 6.0)
HOST = (1.0, 100.0)
EVERYWHERE = (20.0, 500.0)
"""How many calls may fail, per second and at once: to one address, to one host, and to all. The
limits are low since every node of a network may be told the same false cards, and higher for a
host since all nodes of a test run on one."""
KNOWN_MAX = 4096
"""How many addresses, hosts and nodes are remembered, of each."""


class Absence(NamedTuple):
    """A peer that was not found."""

    card: int | None
    """The version of the peer's card; None if the peer had none."""
    pause_s: float
    until: float


class Absences:
    """The peers that were not found at their last call."""

    def __init__(self, book: AddressBook) -> None:
        self._book = book
        self._absent: dict[NodeId, Absence] = {}

    def avoids(self, node: NodeId, now: float) -> bool:
        """Return whether the peer's pause still lasts."""
        gone = self._absent.get(node)
        return gone is not None and gone.until > now and gone.card == self._book.version(node)

    def add(self, node: NodeId, now: float) -> bool:
        """Record a failed call. Return True if it is the first in a row."""
        card = self._book.version(node)
        before = self._absent.pop(node, None)
        pause_s = FIRST_S
        if before is not None and card is not None and before.card == card:
            pause_s = min(2 * before.pause_s, LONGEST_S)
        self._absent[node] = Absence(card, pause_s, now + pause_s)
        if len(self._absent) > ABSENT_MAX:
            del self._absent[next(iter(self._absent))]
        return before is None

    def end(self, node: NodeId) -> None:
        self._absent.pop(node, None)


class Doubts:
    """The calls of this node to addresses that are not proven."""

    def __init__(self) -> None:
        self._addresses: dict[str, Bucket] = {}
        self._hosts: dict[str, Bucket] = {}
        self._everywhere = Bucket(*EVERYWHERE, 0.0)
        self._found: dict[NodeId, str] = {}

    def may_call(self, card: Card, now: float) -> bool:
        """Return whether the card's address may be called. If it may, the call counts as made."""
        if self.was_found(card):
            return True
        buckets = self._buckets(card, now)
        if any(bucket.left(now) < 1 for bucket in buckets):
            return False
        for bucket in buckets:
            bucket.take(1, now)
        return True

    def found(self, card: Card, now: float) -> None:
        """Note that a call found the node of the card at its address."""
        if not self.was_found(card):
            for bucket in self._buckets(card, now):
                bucket.give(1)
        self._found.pop(card.node, None)
        self._found[card.node] = card.address
        if len(self._found) > KNOWN_MAX:
            del self._found[next(iter(self._found))]

    def was_found(self, card: Card) -> bool:
        """Return whether the node of the card was found at its address before."""
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
