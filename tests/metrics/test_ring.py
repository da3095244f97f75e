"""Whether nodes have the right neighbours on the ring."""

from __future__ import annotations

import math

import pytest

from orbweaver.core.identifiers import Places
from orbweaver.core.ids import NodeId
from orbweaver.metrics.ring import ring_right
from orbweaver.metrics.snapshot import from_graph

ORDER = (3, 0, 4, 1, 2)
"""The nodes in the order of their places."""
RING = [(3, 0), (0, 4), (4, 1), (1, 2), (2, 3)]


def places() -> Places[NodeId]:
    made: Places[NodeId] = Places("node")
    for place, node in enumerate(ORDER):
        made[NodeId(node)] = 1000 * place
    return made


@pytest.mark.parametrize(
    ("links", "share"),
    [
        (RING, 1.0),
        ([*RING, (0, 1), (3, 1)], 1.0),
        (RING[1:], 3 / 5),
        (RING[:-1], 3 / 5),
        ([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)], 1 / 5),
        ([], 0.0),
    ],
    ids=["whole", "with others", "one gap", "gap at the turn", "order of ids", "no links"],
)
def test_both_neighbours_have_to_be_there(links: list[tuple[int, int]], share: float) -> None:
    assert ring_right(from_graph(dict.fromkeys(ORDER, ()), links), places()) == share


def test_two_nodes_are_next_to_each_other_on_both_sides() -> None:
    assert ring_right(from_graph({0: (), 1: ()}, [(0, 1)]), places()) == 1.0


@pytest.mark.parametrize("nodes", [{}, {0: ()}])
def test_a_ring_takes_two(nodes: dict[int, tuple[str, ...]]) -> None:
    assert math.isnan(ring_right(from_graph(nodes, []), places()))
