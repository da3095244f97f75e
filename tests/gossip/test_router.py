"""Greedy routing: which neighbour is next, which stand beside a node, and where lookups end."""

from __future__ import annotations

import math
from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweaver.core.identifiers import PLACE_OF_NODE, PLACE_OF_TOPIC, SPACE, Places, distance
from orbweaver.core.ids import NodeId
from orbweaver.gossip.router import Router, lookup
from orbweaver.gossip.smallworld import SmallWorld

PLACE = st.integers(0, SPACE - 1)
NODES = [NodeId(n) for n in range(400)]


def nearest(place: int, nodes: list[NodeId]) -> NodeId:
    return min(nodes, key=lambda node: distance(PLACE_OF_NODE[node], place))


def last_before(place: int, nodes: list[NodeId]) -> NodeId:
    """Return the node from which the way to a place, clockwise, is shortest."""
    return min(nodes, key=lambda node: (place - PLACE_OF_NODE[node]) % SPACE)


@given(PLACE)
def test_a_next_hop_is_nearer_or_none(place: int) -> None:
    me, neighbors = NODES[0], NODES[1:20]
    router = Router(me, PLACE_OF_NODE)
    assert router.next_hop(place) is None
    for neighbor in neighbors:
        router.add(neighbor)
    best = nearest(place, [me, *neighbors])
    assert router.next_hop(place) == (None if best == me else best)
    for neighbor in neighbors[::2]:
        router.remove(neighbor)
    best = nearest(place, [me, *neighbors[1::2]])
    assert router.next_hop(place) == (None if best == me else best)


CLOCK = Places[NodeId]("clock")
CLOCK.update({NodeId(hour): hour for hour in range(12)})


@pytest.mark.parametrize(
    ("place", "nearest", "clockwise"),
    [
        # The node is at 6, its neighbours at 2, 3 and 10.
        (2, 2, 2),
        (3, 3, 3),
        (4, 3, 3),
        (5, None, 3),  # 6 is nearer, but after the place
        (6, None, None),
        (7, None, None),
        (9, 10, None),
        (10, 10, 10),
        (11, 10, 10),
        (1, 2, 10),  # clockwise from 10 to 2, round the top
    ],
)
def test_a_lookup_goes_to_the_nearest_or_to_the_last_before_the_place(
    place: int, nearest: int | None, clockwise: int | None
) -> None:
    both, one = Router(NodeId(6), CLOCK), Router(NodeId(6), CLOCK, clockwise=True)
    for router in (both, one):
        for neighbor in (10, 3, 2):
            router.add(NodeId(neighbor))
    assert (both.next_hop(place), one.next_hop(place)) == (nearest, clockwise)


@given(PLACE)
def test_a_clockwise_hop_goes_to_the_last_node_before_the_place(place: int) -> None:
    me, neighbors = NODES[0], NODES[1:20]
    router = Router(me, PLACE_OF_NODE, clockwise=True)
    assert router.next_hop(place) is None
    for neighbor in neighbors:
        router.add(neighbor)
    best = last_before(place, [me, *neighbors])
    assert router.next_hop(place) == (None if best == me else best)
    for neighbor in neighbors[::2]:
        router.remove(neighbor)
    best = last_before(place, [me, *neighbors[1::2]])
    assert router.next_hop(place) == (None if best == me else best)


@given(PLACE, st.integers(0, 19))
def test_clockwise_hops_end_at_the_last_node_before_the_place(place: int, start: int) -> None:
    nodes = sorted(NODES[:20], key=PLACE_OF_NODE.__getitem__)
    path = [nodes[start]]
    while True:
        at = nodes.index(path[-1])
        router = Router(path[-1], PLACE_OF_NODE, clockwise=True)
        for steps in (1, 2, 4, 8):
            router.add(nodes[(at + steps) % 20])
        following = router.next_hop(place)
        if following is None:
            break
        path.append(following)
        assert len(path) <= 5, "no way is longer than 8 + 8 + 2 + 1"
    assert path[-1] == last_before(place, nodes)


@given(st.integers(0, 60))
def test_the_neighbours_beside_a_node_are_found(number: int) -> None:
    me, neighbors = NODES[0], NODES[1:40:2]
    router = Router(me, PLACE_OF_NODE)
    assert router.beside(NODES[number]) == []
    for neighbor in neighbors:
        router.add(neighbor)
    ring = sorted({me, *neighbors, NODES[number]}, key=PLACE_OF_NODE.__getitem__)
    at = ring.index(NODES[number])
    expected = {ring[at - 1], ring[(at + 1) % len(ring)]} - {me}
    assert set(router.beside(NODES[number])) == expected


def test_lookups_end_at_the_nearest_node_in_few_hops() -> None:
    tables = {
        node: SmallWorld(node, PLACE_OF_NODE, 3, Random(node)).choose(
            [n for n in NODES if n != node]
        )
        for node in NODES
    }
    hops = []
    for i in range(200):
        place = PLACE_OF_TOPIC[f"t{i}"]
        path = lookup(NODES[i % len(NODES)], place, PLACE_OF_NODE, tables.__getitem__)
        assert path[-1] == nearest(place, NODES)
        assert len(set(path)) == len(path)
        hops.append(len(path) - 1)
    # Symphony: log(N)^2 / k; a ring alone would take a hundred.
    assert fmean(hops) < math.log2(len(NODES)) ** 2 / 3


def row(node: NodeId) -> list[NodeId]:
    """Return the neighbours of a node in the row 0, 1, ..., 11."""
    return [NodeId(n) for n in (node - 1, node + 1) if 0 <= n < 12]


@pytest.mark.parametrize(
    ("start", "place", "limit", "path"),
    [
        (4, 4, 99, [4]),
        (4, 7, 99, [4, 5, 6, 7]),
        (4, 1, 99, [4, 3, 2, 1]),
        (4, SPACE - 1, 99, [4, 3, 2, 1, 0]),
        (0, 9, 3, [0, 1, 2, 3]),
    ],
    ids=["at the place", "ahead", "back", "round the top", "too far"],
)
def test_a_lookup_is_the_path_with_both_ends(
    start: int, place: int, limit: int, path: list[int]
) -> None:
    assert lookup(NodeId(start), place, CLOCK, row, limit) == path


def test_a_lookup_ends_where_no_neighbour_is_nearer() -> None:
    tables = {NodeId(0): [NodeId(5)], NodeId(5): [NodeId(0)], NodeId(6): []}
    assert lookup(NodeId(0), 7, CLOCK, tables.__getitem__) == [0, 5]


@pytest.mark.parametrize(
    ("after", "before", "between"),
    [(5, 25, [10, 20]), (10, 20, []), (10, 30, [20]), (25, 15, [30, 10]), (20, 20, [30, 10])],
)
def test_nodes_between_two_places(after: int, before: int, between: list[int]) -> None:
    places = {NodeId(place): place for place in (10, 20, 30)}
    router = Router(NodeId(10), places)
    router.add(NodeId(30))
    router.add(NodeId(20))
    assert router.between(after, before) == between
