"""Algorithm 1: which place a node takes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orbweaver.core.identifiers import SPACE
from orbweaver.core.ids import NodeId
from orbweaver.core.seeds import generator
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.ring import KeptRing
from orbweaver.gossip.similarity import overlap
from orbweaver.overlays.magnet.identifier import (
    FIRST_NODES,
    GRANT_MS,
    Grants,
    Turns,
    bits_in_use,
    mean,
    most_similar,
    place_apart,
    place_beside,
)
from orbweaver.overlays.magnet.messages import Sample
from orbweaver.overlays.magnet.params import MagnetParams

TABLE = TopicTable("ABCDEF")
PLACE = st.integers(0, SPACE - 1)


def sample(node: int, topics: str) -> Sample:
    return Sample(NodeId(node), TABLE.interest(topics), (), (), node, True, 0)


def choose(view: list[Sample], seed: int = 0, excluded: tuple[int, ...] = ()) -> int | None:
    mine = TABLE.interest("AB")
    found = most_similar(
        view,
        lambda one: overlap(mine, one.interest),
        generator(seed),
        [NodeId(node) for node in excluded],
    )
    return found.node if found else None


def test_the_most_similar_is_chosen_and_one_that_failed_is_passed_over() -> None:
    view = [sample(1, "AC"), sample(2, "AB"), sample(3, "ABC")]
    assert choose(view) == 2
    assert choose(view, excluded=(2,)) == 3
    assert choose(view, excluded=(2, 3, 1)) is None
    assert choose([]) is None


def test_ties_are_broken_randomly() -> None:
    view = [sample(n, "AC") for n in range(1, 5)]
    assert {choose(view, seed) for seed in range(60)} == {1, 2, 3, 4}


def test_the_mean_is_halfway_clockwise() -> None:
    assert mean(10, 20) == 15
    assert mean(SPACE - 10, 10) == 0
    assert mean(10, 11) is None
    assert mean(10, 10) == 10 + SPACE // 2


def test_a_gap_that_is_too_narrow_sends_a_node_to_the_nearest_one_that_is_not() -> None:
    assert place_beside(10, [20, 30], [5, 0]) == 15
    assert place_beside(10, [11, 30], [0]) == 5, "the gap before comes before the one further on"
    assert place_beside(10, [11, 30], [9]) == 20
    assert place_beside(10, [11, 12], [9, 3]) == 6
    assert place_beside(10, [11, 12], [9, 8]) is None
    assert place_beside(10, [], []) == 10 + SPACE // 2


@given(PLACE, st.lists(PLACE, max_size=4), st.lists(PLACE, max_size=4))
def test_nobody_gets_a_place_that_is_taken(here: int, ahead: list[int], behind: list[int]) -> None:
    ahead = sorted({*ahead} - {here}, key=lambda p: (p - here) % SPACE)
    behind = sorted({*behind} - {here, *ahead}, key=lambda p: (here - p) % SPACE)
    found = place_beside(here, ahead, behind)
    assert found not in (here, *ahead)
    assert found is None or 0 <= found < SPACE


def test_midpoints_eat_one_bit_each() -> None:
    after = 1 << 63
    for bits in range(2, 60):
        assert bits_in_use(0, after) == bits - 1
        found = mean(0, after)
        assert found is not None
        after = found
    while (found := mean(0, after)) is not None:
        after = found
    assert after == 1
    assert bits_in_use(0, 1) == 64


def test_a_place_is_given_away_once_at_a_time() -> None:
    ring = KeptRing(NodeId(1), 0, 2, clockwise=True)
    ring.put(NodeId(2), 800)
    grants = Grants()
    assert [grants.give(ring, NodeId(n), 0) for n in (7, 8, 9)] == [400, 200, 100]
    assert grants.give(ring, NodeId(7), GRANT_MS + 1) == 400, "nobody has come"
    assert grants.give(ring, NodeId(2), 3 * GRANT_MS) == SPACE // 2, "it stands nowhere else"


def test_the_larger_id_moves_from_a_place_that_two_nodes_have() -> None:
    ring = KeptRing(NodeId(5), 100, 2, clockwise=True)
    ring.put(NodeId(4), 100)
    ring.put(NodeId(6), 200)
    assert place_apart(ring, NodeId(5)) == 150
    ring.drop(NodeId(4))
    ring.put(NodeId(7), 100)
    assert place_apart(ring, NodeId(5)) is None


def test_turns_double_and_a_few_begin() -> None:
    turns = Turns(MagnetParams(round_ms=2000, growth_ms=100))
    turns.begin(5000, generator(1))
    assert [turns.last_ms(n * FIRST_NODES) for n in (0.5, 1, 2, 4)] == [7000, 7000, 7100, 7200]
    assert 7000 <= turns.mine_ms(64.0) <= turns.last_ms(64.0)
