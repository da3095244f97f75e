"""Draw different items by weight, for a whole batch of rows at once.

Drawing again until there are enough different items is quick for a few of many. For a row with so
many items that most of them would be drawn repeatedly, exponential clocks give the same
distribution: the items with clocks that ring first, each running at its weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orbweaver.workload.models.chance import Floats, Ints, Words, exponentials, uniforms

CELLS_MAX = 1 << 21
"""Most draws held at once: 16 MB for each array, near the caches and far from the limits."""


class Ragged(NamedTuple):
    """Lists of different lengths, one after the other."""

    counts: Ints
    items: Ints
    """The items, ascending within each row."""

    def rows(self) -> list[list[int]]:
        return [part.tolist() for part in np.split(self.items, np.cumsum(self.counts)[:-1])]


class Distinct:
    """Draws different items 0..n-1 with the probabilities `weights`."""

    def __init__(self, weights: ArrayLike) -> None:
        self._weights: Floats = np.asarray(weights, dtype=np.float64)
        self._cumulative: Floats = np.cumsum(self._weights) / np.sum(self._weights)
        self._cumulative[-1] = 1.0
        # How many different items n/4 draws give on average. A clock for each item costs
        # about as much as that many draws (measured).
        share = self._weights / np.sum(self._weights)
        self._few = int(np.sum(-np.expm1(np.log1p(-np.minimum(share, 1 - 1e-16)) * len(share) / 4)))

    def draw(self, state: Words, sizes: Ints) -> Ragged:
        """Draw sizes[i] items for row i from the generator state[i], independently of other
        rows."""
        counts = sizes.astype(np.int64)
        ends = np.cumsum(counts)
        items = np.empty(int(counts.sum()), dtype=np.int64)
        for rows, found in self._draw_groups(state, counts):
            places = np.repeat(ends[rows] - counts[rows], counts[rows])
            inner = np.arange(len(found)) - np.repeat(
                np.cumsum(counts[rows]) - counts[rows], counts[rows]
            )
            items[places + inner] = found
        return Ragged(counts, items)

    def _draw_groups(self, state: Words, sizes: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Draw rows of about the same size together, so that a matrix has little padding."""
        octave = np.where(sizes > self._few, -1, np.log2(np.maximum(sizes, 1)).astype(np.int64))
        for group in np.unique(octave):
            rows = np.flatnonzero(octave == group)
            if group < 0:
                for part in _parts(rows, len(self._weights)):
                    yield part, self._by_clocks(state[part], sizes[part])
            else:
                yield from self._by_drawing(state, sizes, rows)

    def _by_clocks(self, state: Words, sizes: Ints) -> Ints:
        clocks = exponentials(state, len(self._weights)) / self._weights
        last = int(sizes.max()) - 1
        if last + 1 < clocks.shape[1]:
            nearest = np.argpartition(clocks, last, axis=1)[:, : last + 1]
        else:
            nearest = np.broadcast_to(np.arange(clocks.shape[1]), clocks.shape)
        order = np.argsort(np.take_along_axis(clocks, nearest, axis=1), axis=1)
        ringing = np.take_along_axis(nearest, order, axis=1)
        ringing = np.where(np.arange(last + 1) < sizes[:, None], ringing, len(self._weights))
        ringing.sort(axis=1)
        found: Ints = ringing[ringing < len(self._weights)]
        return found

    def _by_drawing(self, state: Words, sizes: Ints, rows: Ints) -> Iterator[tuple[Ints, Ints]]:
        draws = int(1.25 * sizes[rows].max()) + 6
        while len(rows):
            short = []
            for part in _parts(rows, draws):
                enough, found = self._first_distinct(state[part], sizes[part], draws)
                yield part[enough], found
                short.append(part[~enough])
            # The same draws again and as many more: what a row gets does not depend on
            # where it was first cut off.
            rows, draws = np.concatenate(short), 2 * draws

    def _first_distinct(
        self, state: Words, sizes: Ints, draws: int
    ) -> tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], Ints]:
        """Return which rows have enough items, and the items of these rows."""
        drawn = np.searchsorted(self._cumulative, uniforms(state, draws), side="right")
        coded = np.sort(drawn * draws + np.arange(draws), axis=1)
        item, when = np.divmod(coded, draws)
        new = np.ones(item.shape, dtype=np.bool_)
        new[:, 1:] = item[:, 1:] != item[:, :-1]
        by_time = np.zeros_like(new)
        np.put_along_axis(by_time, when, new, axis=1)
        so_far = np.cumsum(by_time, axis=1)
        by_time &= so_far <= sizes[:, None]
        enough = so_far[:, -1] >= sizes
        kept = new & np.take_along_axis(by_time, when, axis=1) & enough[:, None]
        return enough, item[kept]


def _parts(rows: Ints, width: int) -> Iterator[Ints]:
    step = max(1, CELLS_MAX // max(1, width))
    for start in range(0, len(rows), step):
        yield rows[start : start + step]
