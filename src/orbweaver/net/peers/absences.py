"""Remember peers that could not be reached, and how long they are not called again.

A node that has gone stays in the address books and views of other nodes for a while. A peer that
is not found is called again later, with a pause that doubles each time. A new card ends the
pause, since it says that the peer is up, and where.
"""

from __future__ import annotations

from typing import NamedTuple

from orbweaver.core.ids import NodeId
from orbweaver.net.peers.cards import AddressBook

FIRST_S, LONGEST_S = 2.0, 60.0
"""Seconds of the first and of the longest pause."""
ABSENT_MAX = 1024
"""How many absent peers are remembered."""


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
