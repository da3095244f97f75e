"""Peers that were called in vain, and how long they are left alone.

A node that has gone stays in the books and views of others for a while. Who is not found is
called again later, and each time later than before; unless it has a new card, which says that
it is there, and where.
"""

from __future__ import annotations

from typing import NamedTuple

from orbweaver.core.ids import NodeId
from orbweaver.net.cards import AddressBook

FIRST_S, LONGEST_S = 2.0, 60.0
ABSENT_MAX = 1024


class Absence(NamedTuple):
    card: int | None
    """The version of its card; None if it had none."""
    pause_s: float
    until: float


class Absences:
    def __init__(self, book: AddressBook) -> None:
        self._book = book
        self._absent: dict[NodeId, Absence] = {}

    def avoids(self, node: NodeId, now: float) -> bool:
        gone = self._absent.get(node)
        return gone is not None and gone.until > now and gone.card == self._book.version(node)

    def add(self, node: NodeId, now: float) -> bool:
        """It was not found. Whether that is news."""
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
