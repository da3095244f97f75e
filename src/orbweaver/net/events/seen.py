"""The numbers of a stream that have been seen, as the edges between seen and not seen.

A node that subscribes late never gets earlier events: such a gap takes two numbers, and going on
behind it takes one assignment. `gossip.streams.Stream` counts in the same way. It also knows
which numbers are being fetched, which the window does not need; and unlike `Seen`, it is never
sent over the wire.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from orbweaver.core.errors import ProtocolError
from orbweaver.gossip.streams import GAPS_MAX, add_number

SEQ_MAX = 1 << 62
"""Sequence numbers are below this: it is beyond any honest count, and leaves room in 64 bits."""


def has(edges: Sequence[int], seq: int) -> bool:
    """Return whether the edges contain `seq`: all numbers below the first edge are seen, none from
    there to the second, all from there to the third, and so on."""
    return bisect_right(edges, seq) % 2 == 0


def has_all(edges: Sequence[int], seq: int, count: int) -> bool:
    """Return whether the edges contain these numbers, which follow each other."""
    at = bisect_right(edges, seq)
    return at % 2 == 0 and (at == len(edges) or edges[at] >= seq + count)


class Seen:
    """The numbers of one stream that have been seen."""

    __slots__ = ("edges",)

    def __init__(self, edges: Iterable[int] = (0,)) -> None:
        self.edges = array("q", edges)

    def settle(self, seq: int) -> bool:
        """Mark a number as seen. Return False if it was seen before."""
        edges = self.edges
        if seq == edges[-1]:
            edges[-1] = seq + 1
            return True
        at = bisect_right(edges, seq)
        if at % 2 == 0:
            return False
        if seq >= SEQ_MAX:
            raise ProtocolError(f"an event has number {seq}; it should be below {SEQ_MAX}")
        add_number(edges, at, seq)
        if len(edges) > 2 * GAPS_MAX + 1:
            del edges[:2]
        return True

    def go_on(self, seq: int, count: int) -> bool:
        """Mark numbers that follow each other as seen, if they are above all others that were seen.
        Return False without a change if they are not."""
        if seq <= self.edges[-1] or seq >= SEQ_MAX:
            return False
        self.edges.extend((seq, seq + count))
        if len(self.edges) > 2 * GAPS_MAX + 1:
            del self.edges[:2]
        return True
