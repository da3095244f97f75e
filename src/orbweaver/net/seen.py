"""Which numbers of a stream have been seen, as the edges between seen and not seen.

A node that subscribes late never gets what was before: such a gap is two numbers, and going
on behind it is one assignment. `gossip.streams.Stream` counts the same way; it also knows
what is looked for, which the window does not, and this goes over the wire, which that does
not.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from orbweaver.core.errors import ProtocolError
from orbweaver.gossip.streams import GAPS_MAX, add_number

SEQ_MAX = 1 << 62
"""Beyond any honest count, and with room above it for who stores numbers in 64 bits."""


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
        add_number(edges, at, seq)
        if len(edges) > 2 * GAPS_MAX + 1:
            del edges[:2]
        return True
