"""The study of the stretch in coordinates: trees that are replayed without messages."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.seeds import generator
from orbweaver.gossip.vivaldi import Coordinates

SCRIPT = Path(__file__).parents[2] / "studies" / "rappel_stretch.py"


@pytest.fixture(scope="module")
def study() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rappel_stretch", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["rappel_stretch"] = module
    spec.loader.exec_module(module)
    return module


def plane(nodes: int) -> list[tuple[float, float]]:
    rng = generator("plane", nodes)
    return [(100 * rng.random(), 100 * rng.random()) for _ in range(nodes)]


def test_on_a_line_no_way_is_longer_than_the_direct_one(study: ModuleType) -> None:
    replay = study.Replay([Coordinates((float(x), 0.0)) for x in range(30)], NodeId(0))
    replay.settle(generator("line"))
    assert replay.stretches() == pytest.approx([1.0] * 29)


def test_all_nodes_find_a_parent_that_is_closer_to_the_publisher(study: ModuleType) -> None:
    places = [Coordinates(place) for place in plane(60)]
    replay = study.Replay(places, NodeId(7))
    replay.settle(generator("settle"))
    for node, tree in replay.trees.items():
        assert len(tree.children) <= study.CHILDREN
        if node != 7:
            assert replay.ancestors(node)[-1] == 7
            above = tree.distance(places[tree.parent], tree.parent)
            assert above < tree.distance(places[node], node)
    assert min(replay.stretches()) >= 1 - 1e-9


@pytest.mark.parametrize("landmarks", [False, True])
def test_coordinates_of_places_on_a_plane_are_right(study: ModuleType, landmarks: bool) -> None:
    points = plane(40)
    matrix = [[2 * max(0.1, ((a - x) ** 2 + (b - y) ** 2) ** 0.5) for x, y in points]
              for a, b in points]  # fmt: skip
    nodes = list(range(40))
    way = study.Way(landmarks, 2, 300)
    places = study.coordinates(way, nodes, matrix, generator("places", landmarks))
    assert study.relative_error(places, nodes, matrix) < 0.05
