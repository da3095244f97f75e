"""Which numbers of a stream have been seen, as the edges between seen and not seen.

`gossip.streams.Stream` does the same with a set of what came early, and copies the set for
each number. That suits a simulation, where gaps close at once. On a network a node that
subscribes late never gets what was before, and would copy a growing set for each event it
will ever receive. Here such a gap is two numbers, and going on behind it is one assignment.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from orbweaver.core.errors import ProtocolError

SEQ_MAX = 1 << 62
"""Beyond any honest count, and with room above it for who stores numbers in 64 bits."""

GAPS_MAX = 128
"""Gaps remembered of one stream; with more, the oldest is taken as seen. Whoever publishes
only every second number thus costs 2 KiB and no more."""


def has(edges: Sequence[int], seq: int) -> bool:
    """Whether `seq` is among what the edges describe: all below the first, none from there
    to the second, all from there to the third, and so on."""
    return bisect_right(edges, seq) % 2 == 0


class Seen:
    __slots__ = ("edges",)

    def __init__(self, edges: Iterable[int] = (0,)) -> None:
        self.edges = array("q", edges)

    def settle(self, seq: int) -> bool:
        """Mark as seen; False if it was already."""
        edges = self.edges
        if seq == edges[-1]:
            edges[-1] = seq + 1
            return True
        at = bisect_right(edges, seq)
        if at % 2 == 0:
            return False
        if seq >= SEQ_MAX:
            raise ProtocolError(f"an event numbered {seq}")
        joins_before = edges[at - 1] == seq
        joins_after = at < len(edges) and edges[at] == seq + 1
        if joins_before and joins_after:
            del edges[at - 1 : at + 1]
        elif joins_before:
            edges[at - 1] = seq + 1
        elif joins_after:
            edges[at] = seq
        else:
            edges[at:at] = array("q", (seq, seq + 1))
            if len(edges) > 2 * GAPS_MAX + 1:
                del edges[:2]
        return True
