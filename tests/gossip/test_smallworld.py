"""A small world: the ring neighbours, and where long links lead."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.identifiers import PLACE_OF_NODE, SPACE
from orbweaver.core.ids import NodeId
from orbweaver.core.topics import NOTHING
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.smallworld import SmallWorld

NODES = [NodeId(n) for n in range(400)]


@given(st.sets(st.sampled_from(NODES[1:]), min_size=3, max_size=40))
def test_successor_and_predecessor_come_first(candidates: set[NodeId]) -> None:
    me = NODES[0]
    world = SmallWorld(me, PLACE_OF_NODE, 2, Random(1))
    chosen = world.choose(sorted(candidates))
    ahead = {node: (PLACE_OF_NODE[node] - PLACE_OF_NODE[me]) % SPACE for node in candidates}
    assert chosen[0] == min(candidates, key=ahead.__getitem__)
    assert chosen[1] == max(candidates, key=ahead.__getitem__)
    assert tuple(chosen[:2]) == world.ring.nodes
    assert len(set(chosen)) == len(chosen) == min(4, len(candidates))


@pytest.mark.parametrize("few", [[], [5], [5, 6]])
def test_few_candidates_are_all_taken(few: list[int]) -> None:
    chosen = SmallWorld(NODES[0], PLACE_OF_NODE, 3, Random(1)).choose([NodeId(n) for n in few])
    assert sorted(chosen) == few


@settings(max_examples=1000)
@given(st.lists(st.sampled_from(NODES), min_size=2, max_size=30, unique=True), st.integers(0, 9))
def test_a_node_improves_if_it_would_be_chosen(nodes: list[NodeId], seed: int) -> None:
    """Wherever on the circle the node itself is."""
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
