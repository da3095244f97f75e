"""Random generators are derived, not drawn: each one comes from a seed and labels.

`random.Random` promises a stable sequence only for `random()`, so the draws below use
`random()` alone: a run then repeats on any version of Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from random import Random
from typing import TypeVar

T = TypeVar("T")


def derive(*labels: int | str) -> int:
    """Return a 64-bit seed that depends on every label and on their order."""
    text = "\x1f".join(f"{type(label).__name__}:{label}" for label in labels)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def generator(*labels: int | str) -> Random:
    """Return a generator whose seed is derived from the labels."""
    return Random(derive(*labels))


def below(rng: Random, bound: int) -> int:
    """Draw a whole number in [0, bound)."""
    return int(rng.random() * bound)


def pick(rng: Random, items: Sequence[T]) -> T:
    return items[int(rng.random() * len(items))]


def shuffled(rng: Random, items: Sequence[T]) -> list[T]:
    return sample(rng, items, len(items))


def sample(rng: Random, items: Sequence[T], count: int) -> list[T]:
    """Draw `count` different items in random order (all of them when there are fewer)."""
    # Fisher-Yates, keeping only the places that were swapped: drawing five hundred out of a
    # hundred thousand must not cost a list of a hundred thousand.
    size = len(items)
    moved: dict[int, int] = {}
    drawn = []
    for i in range(min(count, size)):
        j = i + int(rng.random() * (size - i))
        drawn.append(items[moved.get(j, j)])
        moved[j] = moved.get(i, i)
    return drawn
