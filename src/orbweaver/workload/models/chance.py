"""Draw random numbers as a function: a hash of (seed, table, column, row, number).

No generator has a state that moves on, so a row is the same in any task and any batch, however many
rows come before it. The mixer is that of SplitMix64 (Steele, Lea & Flood 2014), which NumPy applies
to a whole batch at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbweaver.core.seeds import derive

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_ROW = np.uint64(0xD1342543DE82EF95)
_SPLIT = np.uint64(0xAEF17502108EF2D9)


def mix(words: Words) -> Words:
    """Apply SplitMix64's finaliser: a bijection in which every bit depends on every other."""
    z = words ^ (words >> np.uint64(30))
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def states(seed: int, table: str, column: str, rows: NDArray[Any]) -> Words:
    """Return a generator for each row of a column, to be given to the functions below."""
    key = np.uint64(derive(seed, table, column))
    return mix(mix(rows.astype(np.uint64) * _ROW + key) + _GAMMA)


def split(state: Words, count: int) -> Words:
    """Return `count` independent generators from each generator; shape (rows, count)."""
    numbers = np.arange(1, count + 1, dtype=np.uint64)
    return mix(state[:, None] ^ mix(numbers * _SPLIT)[None, :])


def uniforms(state: Words, count: int, first: int = 0) -> Floats:
    """Return draws first, first + 1, ... of each generator, in [0, 1); shape (rows, count)."""
    numbers = np.arange(first + 1, first + count + 1, dtype=np.uint64)
    return unit(mix(state[:, None] + (numbers * _GAMMA)[None, :]))


def unit(words: Words) -> Floats:
    """Return the upper 53 bits as a number in [0, 1)."""
    return np.asarray((words >> np.uint64(11)) * 2.0**-53, dtype=np.float64)


def exponentials(state: Words, count: int, first: int = 0) -> Floats:
    """Return exponential draws of mean 1."""
    return -np.log1p(-uniforms(state, count, first))


def permute(seed: int, column: str, size: int, numbers: NDArray[Any]) -> Ints:
    """Shuffle 0..size-1, looked up number by number and never stored.

    Four rounds of a Feistel network permute the next even number of bits. A result outside the
    range is permuted again until it is inside.
    """
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    shift, low = np.uint64(half), np.uint64((1 << half) - 1)
    keys = [np.uint64(derive(seed, "permutation", column, turn)) for turn in range(4)]
    found = numbers.astype(np.uint64)
    todo = np.arange(len(found))
    while len(todo):
        left, right = found[todo] >> shift, found[todo] & low
        for key in keys:
            left, right = right, left ^ (mix(mix(right + key) + _GAMMA) & low)
        found[todo] = (left << shift) | right
        todo = todo[found[todo] >= np.uint64(size)]
    return found.astype(np.int64)
