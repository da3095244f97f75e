"""An interest is a set of topics as a bit mask, so that overlap is one AND and one popcount.

A mask has a meaning only together with the table that numbered its topics. One process has
one table; on the wire an interest travels as the list of its names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from orbweaver.core.bitplanes import bits_of
from orbweaver.core.ids import Topic


class Interest:
    """An immutable set of topics, in the order of their numbers."""

    __slots__ = ("mask", "topics")

    def __init__(self, mask: int, topics: tuple[Topic, ...]) -> None:
        self.mask = mask
        self.topics = topics

    def __iter__(self) -> Iterator[Topic]:
        return iter(self.topics)

    def __len__(self) -> int:
        return len(self.topics)

    def __contains__(self, topic: object) -> bool:
        return topic in self.topics

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Interest) and self.mask == other.mask

    def __hash__(self) -> int:
        return hash(self.mask)

    def __repr__(self) -> str:
        return f"Interest({', '.join(self.topics)})"


NOTHING = Interest(0, ())
"""The interest without topics."""

MANY = 64
"""Number of topics above which a mask is read in one pass over its digits. Below it, picking the
bits one by one is faster, although each step copies the mask. With thousands of topics the
single pass takes one millisecond in place of a hundred, which any peer could make this node
spend on each message."""


class TopicTable:
    """Number topics in the order in which they are first seen.

    `limit` is how many topics other nodes can make a process remember; topics of the process
    itself always have room.
    """

    def __init__(self, topics: Iterable[Topic] = (), limit: int = 1 << 20) -> None:
        self._numbers: dict[Topic, int] = {}
        self._names: list[Topic] = []
        self._limit = limit
        for topic in topics:
            self.number(topic)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, topic: object) -> bool:
        return topic in self._numbers

    def learn(self, topic: Topic) -> bool:
        """Number a topic that another node names. Return False if there is no room for it."""
        if topic not in self._numbers:
            if len(self._names) >= self._limit:
                return False
            self.number(topic)
        return True

    def number(self, topic: Topic) -> int:
        """Return the topic's number; a new topic gets the next one."""
        number = self._numbers.get(topic)
        if number is None:
            number = self._numbers[topic] = len(self._names)
            self._names.append(topic)
        return number

    def bit(self, topic: Topic) -> int:
        return 1 << self.number(topic)

    def mask(self, topic: Topic) -> int:
        """Return the topic's bit, or 0 if the topic has no number. Unlike `bit`, never number a
        topic."""
        number = self._numbers.get(topic)
        return 0 if number is None else 1 << number

    def name(self, number: int) -> Topic:
        return self._names[number]

    def interest(self, topics: Iterable[Topic]) -> Interest:
        numbers = [self.number(topic) for topic in topics]
        if len(numbers) > MANY:
            return self._large(sorted(set(numbers)))
        mask = 0
        for number in numbers:
            mask |= 1 << number
        return self.of_mask(mask)

    def of_mask(self, mask: int) -> Interest:
        if mask.bit_count() > MANY:
            digits = bin(mask)[:1:-1]
            return self._large([found.start() for found in re.finditer("1", digits)])
        names = self._names
        return Interest(mask, tuple([names[i] for i in bits_of(mask)]))

    def _large(self, numbers: list[int]) -> Interest:
        """Build an interest from numbers in ascending order, each once."""
        bits = bytearray(numbers[-1] // 8 + 1)
        for number in numbers:
            bits[number >> 3] |= 1 << (number & 7)
        names = self._names
        return Interest(int.from_bytes(bits, "little"), tuple([names[i] for i in numbers]))
