"""Bloom filters (Bloom, CACM 13(7), 1970), which tell a set of topics in 128 bytes.

A filter is a plain int, so that overlap is one AND and one popcount. It may claim a topic that
is not in the set, never the other way round: with 1024 bits and 3 hashes, for 0.25 % of other
topics when it holds 50, for 1.6 % at 100 and 8.7 % at 200 (Rappel, section 2.2).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

from orbweaver.core.ids import Topic

BITS = 1024
"""Size of a filter, in bits (Rappel, section 2.2)."""
HASHES = 3
"""How many bits each topic sets (Rappel, section 2.2)."""
BYTES = BITS // 8
"""Size of a filter on the wire, in bytes."""


@lru_cache(maxsize=1 << 16)
def bits_of_topic(topic: Topic) -> int:
    """Return the filter that holds this topic alone."""
    digest = blake2b(topic.encode(), digest_size=2 * HASHES, person=b"bloom").digest()
    mask = 0
    for at in range(0, 2 * HASHES, 2):
        mask |= 1 << (int.from_bytes(digest[at : at + 2], "big") % BITS)
    return mask


def make_filter(topics: Iterable[Topic]) -> int:
    """Return the filter of a set of topics."""
    mask = 0
    for topic in topics:
        mask |= bits_of_topic(topic)
    return mask


def may_hold(bloom: int, topic: Topic) -> bool:
    """Return False if the topic is certainly not in the set."""
    bits = bits_of_topic(topic)
    return bloom & bits == bits


@lru_cache(maxsize=1 << 12)
def to_bytes(bloom: int) -> bytes:
    return bloom.to_bytes(BYTES, "big")


@lru_cache(maxsize=1 << 12)
def from_bytes(data: bytes) -> int:
    """Read a filter as `to_bytes` wrote it. Raise a `ValueError` if it has another size.

    Equal filters are one object: many nodes know the same peer, and many have the same interest.
    """
    if len(data) != BYTES:
        raise ValueError(f"a Bloom filter has {BYTES} bytes; this one has {len(data)}")
    return int.from_bytes(data, "big")
