"""This module counts over many sets at once with Python's big integers.

A set of small numbers is an integer in which the bits at those positions are on. To count, for
every position at once, in how many of several sets it occurs, the sets are added up
*vertically*: plane `i` holds bit `i` of every position's count. Adding ten sets over ten
thousand positions costs a few dozen operations on 1,250-byte integers instead of a hundred
thousand look-ups; a full membership view scales because of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def bits_of(mask: int) -> Iterator[int]:
    """Yield the positions that are on, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def count_planes(sets: Iterable[int]) -> list[int]:
    """Return the vertical sum of the sets: plane i has bit i of each position's count."""
    planes: list[int] = []
    for carry in sets:
        for i, plane in enumerate(planes):
            if not carry:
                break
            planes[i] = plane ^ carry
            carry &= plane
        else:
            if carry:
                planes.append(carry)
    return planes


def highest(planes: list[int], among: int) -> tuple[int, int]:
    """Return the largest count found among the given positions, and the positions that have it."""
    count = 0
    for plane in reversed(planes):
        count <<= 1
        here = among & plane
        if here:
            among = here
            count |= 1
    return count, among


def at_count(planes: list[int], count: int, among: int) -> int:
    """Return the positions in `among` whose count is exactly `count`."""
    if count >> len(planes):
        return 0
    for i, plane in enumerate(planes):
        among &= plane if count >> i & 1 else ~plane
    return among


def nth_bit(mask: int, n: int) -> int:
    """Return the position of the n-th bit that is on (n from 0), found by halving the mask."""
    base = 0
    width = mask.bit_length()
    while width > 1:
        half = width >> 1
        low = mask & ((1 << half) - 1)
        ones = low.bit_count()
        if n < ones:
            mask = low
            width = half
        else:
            n -= ones
            mask >>= half
            base += half
            width -= half
    return base


def covered_at_least(sets: Iterable[int], k: int) -> list[int]:
    """Return `k` masks: entry i (from 0) holds the positions that occur in more than i sets.

    For the small k of coverage, a count that stops at k is cheaper than full planes and can be
    read off directly.
    """
    levels = [0] * k
    for members in sets:
        for i, level in enumerate(levels):
            levels[i] = level | members
            members &= level
            if not members:
                break
    return levels
