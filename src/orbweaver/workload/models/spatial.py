"""Draws topics as Magnet 4.3 does: users on a unit square want the topics nearby.

User i publishes on topic i and subscribes to the topics of all users within radius r, its own
included. r is the radius at which the mean is t, with a correction for the border of the square.

A user's place is a hash of its number, so every worker finds out by itself which users are in which
cell of a grid: about 5 bytes of memory and 0.3 us for each user, once.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from orbweaver.core.errors import UsageError
from orbweaver.workload.models.chance import Floats, Ints, states, uniforms
from orbweaver.workload.models.distinct import CELLS_MAX, Ragged

NODES_MAX = 1 << 31


class Spatial:
    def __init__(self, nodes: int, mean: float, seed: int) -> None:
        if not 1 <= mean <= nodes:
            raise UsageError(f"{nodes} users cannot have {mean:g} neighbours on average")
        if nodes >= NODES_MAX:
            raise UsageError(f"the spatial model numbers at most {NODES_MAX - 1} nodes")
        self.radius = radius(nodes, mean)
        self._nodes = nodes
        self._seed = seed

    def draw(self, rows: Ints) -> Ragged:
        grid = _grid(self._nodes, self.radius, self._seed)
        step = max(1, int(CELLS_MAX / (9 * self._nodes / grid.cells**2 + 1)))
        parts = [grid.near(rows[start : start + step]) for start in range(0, len(rows), step)]
        return Ragged(
            np.concatenate([part.counts for part in parts]),
            np.concatenate([part.items for part in parts]),
        )


def radius(nodes: int, mean: float) -> float:
    """Return r with (nodes - 1) P(distance <= r) + 1 = mean."""
    if nodes == 1:
        return 0.0
    wanted = (mean - 1) / (nodes - 1)
    low, high = 0.0, math.sqrt(2)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle) < wanted else (low, middle)
    return high


def within(r: float) -> float:
    """Return the probability that two points of the unit square are at most r apart."""
    if r <= 1:
        return math.pi * r * r - 8 / 3 * r**3 + r**4 / 2
    if r >= math.sqrt(2):
        return 1.0
    s = math.sqrt(r * r - 1)
    return (
        1 / 3 - 2 * r * r - r**4 / 2 + 4 / 3 * s * (2 * r * r + 1)
        + 2 * r * r * (math.asin(1 / r) - math.acos(1 / r))
    )  # fmt: skip


def places(seed: int, rows: Ints) -> Floats:
    """Return x and y of each row."""
    return uniforms(states(seed, "subscriptions", "place", rows), 2)


class Grid:
    """A grid has square cells at least r wide, and the users in the order of their cells."""

    def __init__(self, nodes: int, r: float, seed: int) -> None:
        # Cells narrower than the users are dense would only cost memory.
        self.cells = int(max(1, min(1 / r if r > 0 else 1, math.sqrt(nodes))))
        cell = np.empty(nodes, dtype=np.int32)
        for start in range(0, nodes, CELLS_MAX):
            rows = np.arange(start, min(start + CELLS_MAX, nodes))
            column, line = self._cell(places(seed, rows))
            cell[rows] = line * self.cells + column
        self._users = np.argsort(cell, kind="stable").astype(np.int32)
        counts = np.bincount(cell, minlength=self.cells**2)
        self._starts = np.concatenate(([0], np.cumsum(counts)))
        self._r = r
        self._seed = seed

    def _cell(self, place: Floats) -> tuple[Ints, Ints]:
        found = np.minimum((place * self.cells).astype(np.int64), self.cells - 1)
        return found[:, 0], found[:, 1]

    def near(self, rows: Ints) -> Ragged:
        """Return all users within r of each row."""
        here = places(self._seed, rows)
        column, line = self._cell(here)
        left = np.maximum(column - 1, 0)
        right = np.minimum(column + 1, self.cells - 1)
        asked, users = [], []
        for offset in (-1, 0, 1):
            ok = np.flatnonzero((line + offset >= 0) & (line + offset < self.cells))
            # Three cells of a line are neighbours in the order of the cells, too.
            base = (line[ok] + offset) * self.cells
            start = self._starts[base + left[ok]]
            count = self._starts[base + right[ok] + 1] - start
            inner = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
            asked.append(np.repeat(ok, count))
            users.append(self._users[np.repeat(start, count) + inner].astype(np.int64))
        who, whom = np.concatenate(asked), np.concatenate(users)
        apart = here[who] - places(self._seed, whom)
        inside = np.flatnonzero((apart**2).sum(axis=1) <= self._r**2)
        who, whom = who[inside], whom[inside]
        order = np.lexsort((whom, who))
        return Ragged(np.bincount(who, minlength=len(rows)).astype(np.int64), whom[order])


@lru_cache(maxsize=1)
def _grid(nodes: int, r: float, seed: int) -> Grid:
    """Return the grid of this worker, made once for all its batches."""
    return Grid(nodes, r, seed)
