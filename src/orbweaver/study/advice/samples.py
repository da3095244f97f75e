"""The tables that runs are made on: samples of a planner's data, and what goes with them.

A table is written once and has the same content each time, so that a run on it is found again
among the results that are kept.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random

from orbweaver.core.seeds import derive, generator
from orbweaver.metrics.averages import mean
from orbweaver.records.files import whole_file
from orbweaver.workload.altered import dealt_again, level, without_largest
from orbweaver.workload.churn import read_churn
from orbweaver.workload.sampling import sampled
from orbweaver.workload.subscriptions import Subscriptions, write_subscriptions

ALTERED: Mapping[str, Callable[[Subscriptions, Random], Subscriptions]] = {
    "dealt again": dealt_again,
    "level": level,
    "without the largest topic": without_largest,
}
"""Ways to take a property out of the data, by name."""

AREA_MS = 130.0
"""Side of the square on which nodes of a wide area network are placed, as the one-way delay in ms
between its ends. Two random places are 68 ms apart in the mean, so that half of the round trips
take less than 133 ms; between PlanetLab's nodes half of them take less than 135 ms."""


class Samples:
    """Draws samples and writes them into a folder, each when it is first asked for."""

    def __init__(self, whole: Subscriptions, topics_are_nodes: bool, folder: Path) -> None:
        """Draw samples of `whole` into a folder in `folder` that is named by the data."""
        self.whole = whole
        self._topics_are_nodes = topics_are_nodes
        self._folder = folder / f"{derive(repr(whole), str(topics_are_nodes)):016x}"
        self.how = ""
        """How the last sample was drawn, in words; empty as long as the data was taken whole."""
        self.draw = cache(self._draw)

    def _draw(self, size: int, seed: int, altered: str = "") -> Subscriptions:
        """Return the sample of this size for a seed, or the whole data if it is no larger."""
        if altered:
            rng = generator("altered", altered, size, seed)
            return ALTERED[altered](self.draw(size, seed), rng)
        if size >= len(self.whole.labels):
            return self.whole
        part, self.how = sampled(self.whole, size, self._topics_are_nodes, seed)
        return part

    def wider(self, size: int, seeds: Sequence[int]) -> float:
        """Return how many times as many topics as in the samples a node wants in the data, in the
        mean or where it wants most, whichever ratio is larger."""
        parts = [self.draw(size, seed) for seed in seeds]
        of_mean = wants(self.whole) / mean([wants(part) for part in parts])
        return max(of_mean, _most_wanted(self.whole) / max(map(_most_wanted, parts)))

    def table(self, size: int, seed: int, altered: str = "") -> Path:
        file = self._file("subscriptions", size, seed, altered)
        if not file.exists():
            with whole_file(file) as temporary:
                write_subscriptions(self.draw(size, seed, altered), temporary)
        return file

    def places(self, size: int, seed: int, altered: str = "") -> Path:
        """Return a table of places in a wide area network, for the nodes of a sample. A node has
        the same place in every sample."""
        file = self._file("places", size, seed, altered)
        if not file.exists():
            rows = [(label, *_place(label)) for label in self.draw(size, seed, altered).labels]
            _write(file, ("node", "x", "y"), rows)
        return file

    def churn(self, source: Path, size: int, seed: int, altered: str = "") -> Path | None:
        """Return the rows of a table of churn that name nodes of a sample, or None if the table
        names none of the nodes of the data."""
        rows = [(time, node, kind) for time, node, kind, _ in read_churn(source)]
        known = set(self.whole.labels)
        if not any(node in known for _, node, _ in rows):
            return None
        there = set(self.draw(size, seed, altered).labels)
        file = self._file("churn", size, seed, altered)
        _write(file, ("time", "node", "kind"), [row for row in rows if row[1] in there])
        return file

    def _file(self, what: str, size: int, seed: int, altered: str) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        name = f"{what}-{size}-{seed}{'-' if altered else ''}{altered.replace(' ', '-')}.csv"
        return self._folder / name


def wants(these: Subscriptions) -> float:
    """Return how many topics a node wants in the mean."""
    return sum(map(len, these.of_node)) / len(these.labels)


def _most_wanted(these: Subscriptions) -> int:
    return max(map(len, these.of_node))


def _place(label: str) -> tuple[float, float]:
    rng = generator("place", label)
    return round(AREA_MS * rng.random(), 3), round(AREA_MS * rng.random(), 3)


def _write(file: Path, header: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> None:
    with whole_file(file) as temporary, temporary.open("w", newline="", encoding="utf-8") as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
