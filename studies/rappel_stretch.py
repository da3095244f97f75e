"""Asks what the stretch in coordinates of Rappel's trees depends on (claim R3, Fig. 7c).

No messages are sent: nodes get coordinates from a matrix of round trips, all join the tree of one
publisher by Algorithm 2, and rejoin higher up until little changes. The stretch is the way down
the tree over the direct way, both in coordinates. It is measured for several publishers, and with
coordinates that were found in several ways:

- from each other: all nodes measure 32 others, again and again, until they have converged;
- from landmarks: 18 nodes have converged among themselves, and each other node measures these and
  nothing else (section 6.1.4), for some 25 samples as in the authors' simulator, or for many.

    python studies/rappel_stretch.py planetlab490_rtt_t01.txt.gz
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from orbweaver.core.ids import NodeId
from orbweaver.core.seeds import generator, pick, sample, shuffled
from orbweaver.gossip.vivaldi import Coordinates, Vivaldi, distance_ms
from orbweaver.metrics.delays import percentile
from orbweaver.overlays.rappel.trees import FeedTree
from orbweaver.sim.latency import read_matrix

Matrix = Sequence[Sequence[float]]
NODES = 251
PUBLISHERS = 12
PEERS = 32
"""Others that a node measures where nodes find coordinates from each other."""
LANDMARKS = 18
LANDMARK_SAMPLES = 1000
"""Samples of each landmark among the others."""
CHILDREN = 5
CACHE = 10
REJOINS = 12
"""Rejoins of each node."""


class Way(NamedTuple):
    """How nodes find their coordinates."""

    landmarks: bool
    dimensions: int
    samples: int


WAYS = (
    Way(False, 5, 300), Way(False, 3, 300), Way(False, 2, 300),
    Way(True, 5, 25), Way(True, 5, 300),
)  # fmt: skip


def from_each_other(
    nodes: Sequence[int], matrix: Matrix, dimensions: int, samples: int, rng: Random
) -> list[Vivaldi]:
    found = [Vivaldi(rng, dimensions) for _ in nodes]
    everyone = range(len(nodes))
    peers = [sample(rng, [j for j in everyone if j != i], PEERS) for i in everyone]
    for _ in range(samples):
        for i, own in enumerate(found):
            j = pick(rng, peers[i])
            round_trip_ms = matrix[nodes[i]][nodes[j]]
            own.update(NodeId(j), round_trip_ms, found[j].coordinates, found[j].error)
    return found


def from_landmarks(
    nodes: Sequence[int], matrix: Matrix, dimensions: int, samples: int, rng: Random
) -> list[Vivaldi]:
    places = sample(rng, range(len(matrix)), LANDMARKS)
    landmarks = from_each_other(places, matrix, dimensions, LANDMARK_SAMPLES, rng)
    found = [Vivaldi(rng, dimensions) for _ in nodes]
    for node, own in zip(nodes, found, strict=True):
        for n in range(samples):
            at = n % LANDMARKS
            landmark = landmarks[at]
            round_trip_ms = matrix[node][places[at]]
            own.update(NodeId(at), round_trip_ms, landmark.coordinates, landmark.error)
    return found


def coordinates(way: Way, nodes: Sequence[int], matrix: Matrix, rng: Random) -> list[Coordinates]:
    find = from_landmarks if way.landmarks else from_each_other
    return [one.coordinates for one in find(nodes, matrix, way.dimensions, way.samples, rng)]


def relative_error(places: Sequence[Coordinates], nodes: Sequence[int], matrix: Matrix) -> float:
    """Return the median relative error over all pairs."""
    errors = []
    for i, a in enumerate(nodes):
        for j in range(i):
            one_way_ms = matrix[a][nodes[j]] / 2
            errors.append(abs(distance_ms(places[i], places[j]) - one_way_ms) / one_way_ms)
    return median(errors)


class Replay:
    """The tree of one publisher, without time and messages."""

    def __init__(self, places: Sequence[Coordinates], publisher: NodeId) -> None:
        self._places = places
        self._publisher = publisher
        self.trees = {
            NodeId(n): FeedTree("feed", NodeId(n), CHILDREN, CACHE) for n in range(len(places))
        }
        for tree in self.trees.values():
            tree.root, tree.root_place = publisher, places[publisher]

    def settle(self, rng: Random) -> None:
        """Let all nodes join at the publisher, and rejoin at ancestors."""
        others = [node for node in self.trees if node != self._publisher]
        for node in shuffled(rng, others):
            self.join(node, self._publisher)
        for _ in range(REJOINS):
            for node in shuffled(rng, others):
                self.trees[node].ancestors = self.ancestors(node)
                at = self.trees[node].rejoin_at(rng)
                if at is not None:
                    self.join(node, at)

    def join(self, node: NodeId, at: NodeId) -> None:
        """Pass a join request on until it is accepted, and then those of evicted children."""
        requests = [(node, at)]
        while requests:
            node, at = requests.pop()
            above, tree = self.trees[at], self.trees[node]
            if tree.parent == at:
                continue
            above.ancestors = self.ancestors(at)
            found = above.receive_join(self._places[at], node, self._places[node])
            if found.forward_to is not None:
                requests.append((node, found.forward_to))
                continue
            assert found.answer == "ok", "each request begins at the root or at an ancestor"
            if tree.parent is not None:
                del self.trees[tree.parent].children[node]
            above.children[node], tree.parent = self._places[node], at
            if found.evicted is not None and found.evicted_to is not None:
                del above.children[found.evicted]
                self.trees[found.evicted].parent = None
                requests.append((found.evicted, found.evicted_to))

    def ancestors(self, node: NodeId) -> tuple[NodeId, ...]:
        found: list[NodeId] = []
        above = self.trees[node].parent
        while above is not None:
            found.append(above)
            above = self.trees[above].parent
        return tuple(found)

    def stretches(self) -> list[float]:
        """Return the stretch of each node but the publisher."""
        places, root = self._places, self._publisher
        stretches = []
        for node in self.trees:
            if node != root:
                way = [node, *self.ancestors(node)]
                way_ms = sum(distance_ms(places[a], places[b]) for a, b in pairwise(way))
                stretches.append(way_ms / distance_ms(places[node], places[root]))
        return stretches


class Row(NamedTuple):
    """What is found for one way at one seed."""

    error: float
    medians: list[float]
    """The median over the nodes, for each publisher."""
    slow: list[float]
    """The 95th percentile over the nodes, for each publisher."""
    central: float
    """The median for the publisher from which the others are nearest."""


def measure(way: Way, matrix: Matrix, count: int, publishers: int, seed: int) -> Row:
    rng = generator("rappel-stretch", *way, seed)
    nodes = sample(generator("rappel-stretch nodes", seed), range(len(matrix)), count)
    places = coordinates(way, nodes, matrix, rng)
    middle = min(range(count), key=lambda i: median(matrix[nodes[i]][other] for other in nodes))
    found = []
    for publisher in [middle, *sample(rng, range(count), publishers)]:
        replay = Replay(places, NodeId(publisher))
        replay.settle(rng)
        stretches = replay.stretches()
        found.append((percentile(stretches, 0.5), percentile(stretches, 0.95)))
    (central, _), *others = found
    medians, slow = [one for one, _ in others], [one for _, one in others]
    return Row(relative_error(places, nodes, matrix), medians, slow, central)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("matrix", type=Path, help="round trips in milliseconds")
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--publishers", type=int, default=PUBLISHERS, help="at each seed")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    args = parser.parse_args()
    matrix = read_matrix(args.matrix)
    table = Table(title=f"{args.nodes} nodes, {len(args.seeds)} x {args.publishers} publishers")
    for column in ("coordinates from", "dimensions", "samples", "error", "stretch", "from, to",
                   "95th percentile", "central publisher"):  # fmt: skip
        table.add_column(column, justify="right")
    for way in WAYS:
        rows = [measure(way, matrix, args.nodes, args.publishers, seed) for seed in args.seeds]
        medians = [one for row in rows for one in row.medians]
        table.add_row(
            f"{LANDMARKS} landmarks" if way.landmarks else "each other",
            str(way.dimensions),
            str(way.samples),
            f"{100 * mean(row.error for row in rows):.0f} %",
            f"{median(medians):.2f}",
            f"{min(medians):.2f}, {max(medians):.2f}",
            f"{median(one for row in rows for one in row.slow):.2f}",
            ", ".join(f"{row.central:.2f}" for row in rows),
        )
    Console(width=None if sys.stdout.isatty() else 120).print(table)


if __name__ == "__main__":
    main()
