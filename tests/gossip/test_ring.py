"""The ring: the nearest on either side, L of them, and where a nearer one would be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweaver.core.identifiers import SPACE
from orbweaver.core.ids import NodeId
from orbweaver.gossip.ring import Ahead, Ring

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
