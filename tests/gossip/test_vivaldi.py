"""Vivaldi on made-up and on measured latencies."""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.seeds import below, generator
from orbweaver.gossip.vivaldi import (
    DISTANCE_MS_MIN,
    FAR_MS,
    PEERS_MAX,
    Coordinates,
    Vivaldi,
    distance_ms,
)

MATRICES = Path(__file__).parents[3] / "shared" / "data" / "latency"


def embed(
    nodes: int,
    rtt_ms: Callable[[int, int], float],
    samples: int = 300,
    height: bool = False,
    landmarks: int = 32,
) -> list[Vivaldi]:
    """Let every node take `samples` round trips, to fixed random peers, in turn."""
    chance = generator("embed", nodes)
    made = [Vivaldi(generator("vivaldi", n), height=height) for n in range(nodes)]
    peers = [
        [p for p in (below(chance, nodes) for _ in range(landmarks)) if p != n]
        for n in range(nodes)
    ]
    for _ in range(samples):
        for n, node in enumerate(made):
            peer = peers[n][below(chance, len(peers[n]))]
            other = made[peer]
            node.update(NodeId(peer), rtt_ms(n, peer), other.coordinates, other.error)
    return made


def errors(made: list[Vivaldi], rtt_ms: Callable[[int, int], float]) -> list[float]:
    """Return the relative error of every pair, sorted."""
    return sorted(
        abs(2 * distance_ms(a.coordinates, b.coordinates) - rtt_ms(i, j)) / rtt_ms(i, j)
        for i, a in enumerate(made)
        for j, b in enumerate(made[:i])
    )


def euclidean(nodes: int) -> Callable[[int, int], float]:
    chance = generator("points")
    points = [[200 * chance.random() for _ in range(3)] for _ in range(nodes)]
    return lambda a, b: max(0.5, 2 * math.dist(points[a], points[b]))


def test_a_euclidean_matrix_is_embedded_almost_exactly() -> None:
    rtt_ms = euclidean(60)
    made = embed(60, rtt_ms)
    found = errors(made, rtt_ms)
    assert median(found) < 0.02
    assert found[round(0.95 * len(found))] < 0.20
    assert max(node.error for node in made) < 0.10


def test_coordinates_come_to_rest() -> None:
    rtt_ms = euclidean(60)
    made = embed(60, rtt_ms)
    before = [node.coordinates for node in made]
    for n, node in enumerate(made):
        for step in range(1, 11):
            peer = (n + step) % 60
            node.update(NodeId(peer), rtt_ms(n, peer), made[peer].coordinates, made[peer].error)
    moved = [distance_ms(a, b.coordinates) for a, b in zip(before, made, strict=True)]
    assert median(moved) < 2.0


def read(name: str, unit_ms: float) -> list[list[float]]:
    path = MATRICES / name
    if not path.exists():
        pytest.skip(f"there is no {path}")
    with gzip.open(path, "rt") as file:
        return [[unit_ms * float(cell) for cell in line.split()] for line in file]


@pytest.mark.parametrize(
    ("name", "unit_ms", "nodes", "bound"),
    [("planetlab490_rtt_t01.txt.gz", 1.0, 150, 0.20), ("seattle99_rtt_t001.txt.gz", 1e3, 99, 0.60)],
)
def test_measured_latencies(name: str, unit_ms: float, nodes: int, bound: float) -> None:
    rows = read(name, unit_ms)

    def rtt_ms(a: int, b: int) -> float:
        return max(0.2, (rows[a][b] + rows[b][a]) / 2)

    found = median(errors(embed(nodes, rtt_ms), rtt_ms))
    assert found < bound, f"median relative error {found:.3f}"


def test_height_takes_up_what_is_common_to_all_ways() -> None:
    flat = euclidean(50)
    access = [20.0 + 60.0 * generator("access", n).random() for n in range(50)]

    def rtt_ms(a: int, b: int) -> float:
        return flat(a, b) / 4 + access[a] + access[b]

    without = median(errors(embed(50, rtt_ms), rtt_ms))
    with_height = median(errors(embed(50, rtt_ms, height=True), rtt_ms))
    assert with_height < 0.7 * without


def test_one_slow_sample_does_not_move_a_node() -> None:
    here, there = Vivaldi(generator(1)), Coordinates((50.0, 0.0, 0.0, 0.0, 0.0))
    for _ in range(200):
        here.update(NodeId(1), 100.0, there, 0.1)
    before = here.coordinates
    here.update(NodeId(1), 5000.0, there, 0.1)
    assert distance_ms(before, here.coordinates) < 1.0


def test_a_frozen_node_stays() -> None:
    node = Vivaldi(generator(1))
    node.freeze()
    before = node.coordinates
    node.update(NodeId(1), 100.0, Coordinates((9.0,) * 5), 0.1)
    assert node.coordinates is before
    assert node.samples == 0


@pytest.mark.parametrize(
    ("rtt_ms", "place", "error"),
    [
        (math.nan, Coordinates((0.0,) * 5), 0.5),
        (-1.0, Coordinates((0.0,) * 5), 0.5),
        (50.0, Coordinates((math.nan,) * 5), 0.5),
        (50.0, Coordinates((math.inf, 0.0, 0.0, 0.0, 0.0)), 0.5),
        (50.0, Coordinates((2 * FAR_MS, 0.0, 0.0, 0.0, 0.0)), 0.5),
        (50.0, Coordinates((0.0,) * 5, -1.0), 0.5),
        (50.0, Coordinates((0.0,) * 4), 0.5),
        (50.0, Coordinates((0.0,) * 5), math.nan),
        (50.0, Coordinates((0.0,) * 5), -1.0),
    ],
)
def test_lies_that_show_are_ignored(rtt_ms: float, place: Coordinates, error: float) -> None:
    node = Vivaldi(generator(1))
    before = node.coordinates
    node.update(NodeId(1), rtt_ms, place, error)
    assert node.coordinates is before


def test_distances_are_never_zero() -> None:
    here = Coordinates((1.0, 2.0))
    assert distance_ms(here, here) == DISTANCE_MS_MIN


def test_nodes_at_one_place_come_apart() -> None:
    node = Vivaldi(generator(1))
    node.update(NodeId(1), 100.0, node.coordinates, 0.5)
    assert math.isfinite(sum(node.coordinates.position))
    assert node.coordinates != Vivaldi(generator(1)).coordinates


def test_samples_of_many_peers_are_not_kept() -> None:
    node = Vivaldi(generator(1))
    for peer in range(2 * PEERS_MAX):
        node.update(NodeId(peer), 100.0, Coordinates((9.0,) * 5), 0.5)
    assert len(node._round_trips) == PEERS_MAX
