"""Find where two windows differ in a topic, by comparing sums over their events.

Two nodes that compare windows stream by stream would tell each other of every stream, although
they nearly always hold the same events. So each stream is given a place, by a hash of its name
and of a salt, and the places are cut into parts. The sum of a part is over the hashes of all its
events: where two nodes have the same sum, neither lacks an event. A part that differs is cut
again, until it has few streams. So a comparison costs in proportion to what is missing, and only
to the logarithm of the number of streams.

The salt is new in each comparison, so that no publisher can choose events whose hashes cancel
each other out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import StreamId

PLACES = 1 << 60
"""How many places there are; a stream's place is from 0 to below this number."""
FANOUT = 16
"""How many parts a range of places is cut into at a time."""

_MASK = (1 << 64) - 1
_STEP, _MIX = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9
"""Odd numbers that spread sequence numbers over 64 bits, as in SplitMix64."""

Range = tuple[int, int]
"""(first place, first place after the range)"""
WHOLE: Range = (0, PLACES)
"""The range of all places."""


def place_of(salt: int, publisher: NodeId, epoch: int) -> int:
    """Return the place of a stream. Only the lowest 64 bits of each number count."""
    name = b"".join((number & _MASK).to_bytes(8, "big") for number in (salt, publisher, epoch))
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "big") % PLACES


def sound(ranges: Iterable[Range]) -> list[Range]:
    """Return a peer's ranges without the invalid ones: a range must not be empty, and must begin
    at or behind the end of the one before."""
    kept: list[Range] = []
    at = 0
    for first, end in ranges:
        if at <= first < end <= PLACES:
            kept.append((first, end))
            at = end
    return kept


def which(ranges: Sequence[Range], place: int) -> int | None:
    """Return the index of the range that holds a place, or None if no range does."""
    at = bisect_right(ranges, (place, PLACES)) - 1
    return at if at >= 0 and place < ranges[at][1] else None


def parts_of(whole: Range) -> list[Range]:
    """Cut a range into at most `FANOUT` parts of about the same size."""
    first, end = whole
    size = _part_size(whole)
    return [(at, min(at + size, end)) for at in range(first, end, size)]


def sums_of(
    salt: int, ranges: Sequence[Range], events: Iterable[tuple[StreamId, int]]
) -> list[list[int]]:
    """Return, for each range, the sum of each of its parts.

    `events` are (stream, sequence number). The ranges must be in order and must not overlap.
    """
    sums = [[0] * len(parts_of(whole)) for whole in ranges]
    sizes = [_part_size(whole) for whole in ranges]
    places: dict[StreamId, tuple[int, int | None]] = {}
    for stream, seq in events:
        known = places.get(stream)
        if known is None:
            publisher, epoch, _ = stream
            place = place_of(salt, publisher, epoch)
            known = places[stream] = (place, which(ranges, place))
        place, number = known
        if number is not None:
            mixed = (place + seq * _STEP) & _MASK
            mixed = ((mixed ^ (mixed >> 30)) * _MIX) & _MASK
            at = (place - ranges[number][0]) // sizes[number]
            own = sums[number]
            own[at] = (own[at] + (mixed ^ (mixed >> 27))) & _MASK
    return sums


def _part_size(whole: Range) -> int:
    first, end = whole
    return -(-(end - first) // FANOUT)
