"""The identifier circle: who is next, where long links lead, how lookups go."""

from __future__ import annotations

import math
from random import Random
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.identifiers import HALF, PLACE_OF_NODE, PLACE_OF_TOPIC, SPACE, distance
from orbweaver.core.ids import NodeId
from orbweaver.core.topics import NOTHING
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.smallworld import Router, SmallWorld, lookup

PLACE = st.integers(0, SPACE - 1)
NODES = [NodeId(n) for n in range(400)]


def nearest(place: int, nodes: list[NodeId]) -> NodeId:
    return min(nodes, key=lambda node: distance(PLACE_OF_NODE[node], place))


@given(PLACE, PLACE, PLACE)
def test_distance_is_one(a: int, b: int, c: int) -> None:
    assert distance(a, b) == distance(b, a) <= HALF
    assert (distance(a, b) == 0) == (a == b)
    assert distance(a, c) <= distance(a, b) + distance(b, c)


def test_places_are_spread_evenly() -> None:
    shares = [PLACE_OF_NODE[node] / SPACE for node in NODES]
    assert fmean(shares) == pytest.approx(0.5, abs=0.05)
    assert len({int(10 * share) for share in shares}) == 10
    assert PLACE_OF_TOPIC["news"] != PLACE_OF_TOPIC["news/sport"]


@given(st.sets(st.sampled_from(NODES[1:]), min_size=3, max_size=40))
def test_successor_and_predecessor_come_first(candidates: set[NodeId]) -> None:
    me = NODES[0]
    chosen = SmallWorld(me, PLACE_OF_NODE, 2, Random(1)).choose(sorted(candidates))
    ahead = {node: (PLACE_OF_NODE[node] - PLACE_OF_NODE[me]) % SPACE for node in candidates}
    assert chosen[0] == min(candidates, key=ahead.__getitem__)
    assert chosen[1] == max(candidates, key=ahead.__getitem__)
    assert len(set(chosen)) == len(chosen) == min(4, len(candidates))


@pytest.mark.parametrize("few", [[], [5], [5, 6]])
def test_few_candidates_are_all_taken(few: list[int]) -> None:
    chosen = SmallWorld(NODES[0], PLACE_OF_NODE, 3, Random(1)).choose([NodeId(n) for n in few])
    assert sorted(chosen) == few


@settings(max_examples=1000)
@given(st.lists(st.sampled_from(NODES), min_size=2, max_size=30, unique=True), st.integers(0, 9))
def test_who_improves_is_who_would_be_chosen(nodes: list[NodeId], seed: int) -> None:
    """Wherever on the circle we are."""
    me, newcomer, *candidates = nodes
    world = SmallWorld(me, PLACE_OF_NODE, 3, Random(seed))
    world.choose(candidates)
    improves = bool(world.improving([Descriptor(newcomer, NOTHING, 0)]))
    assert improves == (newcomer in world.choose([*candidates, newcomer]))


def test_long_links_are_harmonic() -> None:
    """With density 1/x, every doubling of the distance has as many links."""
    me = NodeId(10**6)
    nodes = [NodeId(n) for n in range(3000)]
    links = [SmallWorld(me, PLACE_OF_NODE, 1, Random(i)).choose(nodes)[2] for i in range(600)]
    ahead = [((PLACE_OF_NODE[node] - PLACE_OF_NODE[me]) % SPACE) / SPACE for node in links]
    halves = [sum(2.0**-k <= x < 2.0 ** (1 - k) for x in ahead) for k in range(1, 6)]
    expected = 600 * math.log(2) / math.log(3000)
    assert all(0.6 * expected < half < 1.5 * expected for half in halves), halves


def test_the_same_candidates_give_the_same_links() -> None:
    world = SmallWorld(NODES[0], PLACE_OF_NODE, 3, Random(1))
    assert world.choose(NODES[1:]) == world.choose(NODES[1:])


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


@given(st.integers(0, 60))
def test_who_stands_beside_a_node(number: int) -> None:
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
