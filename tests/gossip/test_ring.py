"""The ring: the nearest on either side, L of them, and where a nearer one would be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweaver.core.identifiers import SPACE
from orbweaver.core.ids import NodeId
from orbweaver.gossip.ring import Ahead, KeptRing, Ring

SIZES = st.sampled_from([1, 3])


def at(*distances: int) -> list[Ahead]:
    """Return a candidate at each of these distances ahead, named after its distance."""
    return [(ahead, NodeId(ahead)) for ahead in sorted(distances)]


@pytest.mark.parametrize(
    ("size", "candidates", "successors", "predecessors", "left"),
    [
        (1, [], (), (), []),
        (1, [5], (5,), (), []),
        (1, [5, 6], (5,), (6,), []),
        (1, [5, 6, 7, 8], (5,), (8,), [6, 7]),
        (3, [], (), (), []),
        (3, [5, 6], (5, 6), (), []),
        (3, [1, 2, 3, 4], (1, 2, 3), (4,), []),
        (3, [1, 2, 3, 4, 5, 6], (1, 2, 3), (6, 5, 4), []),
        (3, [1, 2, 3, 4, 5, 6, 7, 8], (1, 2, 3), (8, 7, 6), [4, 5]),
    ],
)
def test_the_nearest_on_either_side_are_chosen(
    size: int,
    candidates: list[int],
    successors: tuple[int, ...],
    predecessors: tuple[int, ...],
    left: list[int],
) -> None:
    ring = Ring(size)
    assert ring.choose(at(*candidates)) == at(*left)
    assert (ring.successors, ring.predecessors) == (successors, predecessors)
    assert ring.nodes == successors + predecessors


def test_one_on_either_side_is_the_default() -> None:
    ring = Ring()
    assert ring.nodes == ()
    assert ring.choose(at(5, 6, 7)) == at(6)
    assert ring.nodes == (5, 7)


def test_each_choice_is_made_anew() -> None:
    ring = Ring(3)
    ring.choose(at(*range(1, 9)))
    ring.choose(at(4))
    assert (ring.successors, ring.predecessors) == ((4,), ())


@pytest.mark.parametrize(
    ("size", "candidates", "expected"),
    [
        (1, [], [(0, SPACE)]),
        (1, [5, 6], [(0, SPACE)]),
        (1, [10, 20, 30], [(0, 10), (31, SPACE)]),
        (3, [1, 2, 3, 4, 5, 6], [(0, SPACE)]),
        (3, [10, 20, 30, 40, 50, 60, 70], [(0, 30), (51, SPACE)]),
    ],
)
def test_open_is_what_is_nearer_than_the_last_on_either_side(
    size: int, candidates: list[int], expected: list[tuple[int, int]]
) -> None:
    ring = Ring(size)
    assert ring.open == [(0, SPACE)], "before any choice"
    ring.choose(at(*candidates))
    assert ring.open == expected


@given(SIZES, st.sets(st.integers(1, SPACE - 1), min_size=1, max_size=12), st.data())
def test_a_candidate_is_chosen_where_the_ring_was_open(
    size: int, distances: set[int], data: st.DataObject
) -> None:
    newcomer = data.draw(st.sampled_from(sorted(distances)))
    ring = Ring(size)
    ring.choose(at(*distances - {newcomer}))
    was_open = any(start <= newcomer < end for start, end in ring.open)
    ring.choose(at(*distances))
    chosen = newcomer in ring.nodes
    if len(distances) - 1 == 2 * size:
        # A ring that is just full counts as open all round.
        assert was_open
    else:
        assert was_open == chosen


# -- the ring that follows what is known


def kept(*places: int, me: int = 100, size: int = 2) -> KeptRing:
    """A node 0 at `me`, and nodes 1, 2, ... at these places."""
    ring = KeptRing(NodeId(0), me, size, clockwise=True)
    for node, place in enumerate(places, 1):
        ring.put(NodeId(node), place)
    return ring


def test_neighbours_follow_those_that_come_go_and_move() -> None:
    ring = kept(110, 120, 130, 90, 80, 70)
    assert ring.successors == (1, 2)
    assert ring.predecessors == (4, 5)
    ring.drop(NodeId(1))
    assert ring.successors == (2, 3)
    ring.put(NodeId(6), 105)
    assert ring.successors == (6, 2)
    assert ring.predecessors == (4, 5)
    ring.put(NodeId(0), 75)
    assert (ring.successors, ring.predecessors) == ((5, 4), (3, 2))


def test_only_a_nearer_node_improves_a_ring() -> None:
    ring = kept(110, 120, 130, 90, 80, 70)
    assert [ring.improves(place) for place in (101, 119, 121, 1000, 79, 81, 99)] == [
        True, True, False, False, False, True, True,
    ]  # fmt: skip


def test_a_ring_that_is_just_full_takes_no_node_in_between() -> None:
    ring = kept(110, 120, 80, 90)
    assert not ring.improves(1000)
    assert ring.improves(119)
    assert ring.improves(81)


def test_a_ring_with_few_nodes_takes_any() -> None:
    assert kept(110, 90).improves(1 << 63)


def test_around_a_place_are_the_nearest_on_either_side() -> None:
    ring = kept(110, 120, 130, 90, 80, 70)
    assert sorted(ring.around(95, 1)) == [0, 4]
    assert sorted(ring.around(125, 2)) == [1, 2, 3, 6]
    assert sorted(ring.around(125, 9)) == list(range(7))


def test_the_next_one_after_the_last_is_the_first() -> None:
    ring = kept(110, 120, 90)
    assert [ring.after(NodeId(n)) for n in (0, 1, 2, 3)] == [110, 120, 90, 100]


def test_greedy_routing_is_clockwise_and_stops_before_the_place() -> None:
    ring = kept(110, 120, 90)
    hop = ring.router.next_hop
    assert [hop(p) for p in (105, 110, 115, 125, 90, 99)] == [None, 1, 1, 2, 3, 3]


@given(st.lists(st.tuples(st.integers(0, 12), st.none() | st.integers(0, 40)), max_size=60))
def test_a_kept_ring_is_the_same_as_one_made_at_once(steps: list[tuple[int, int | None]]) -> None:
    """A place of None: the node goes. Node 0 is the one whose ring it is."""
    kept = KeptRing(NodeId(0), 1000, 2)
    places = {0: 1000}
    for node, place in steps:
        if place is not None:
            places[node] = 41 * place + node
            kept.put(NodeId(node), places[node])
        elif node:
            places.pop(node, None)
            kept.drop(NodeId(node))
        ring = Ring(2)
        others = [((p - places[0]) % SPACE, NodeId(n)) for n, p in places.items() if n]
        ring.choose(sorted(others))
        assert (kept.successors, kept.predecessors) == (ring.successors, ring.predecessors)
        asked = range(0, 3000, 37)
        assert kept.improving(asked) == [at for at, p in enumerate(asked) if kept.improves(p)]
