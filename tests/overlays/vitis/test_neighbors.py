"""Which neighbours a Vitis node chooses: ring, small world and friends (Algorithm 4)."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest

from orbweaver.core.identifiers import PLACE_OF_NODE
from orbweaver.core.ids import NodeId, Topic
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.similarity import overlap, weighted
from orbweaver.gossip.smallworld import SmallWorld
from orbweaver.overlays.vitis.neighbors import FriendsAndRing
from tests.gossip.fake_outbox import own_interest
from tests.overlays.vitis.vitis_node import TABLE, ahead, entries, entry


def choice(
    own: str, table_size: int, long_links: int = 1, rates: Mapping[Topic, float] | None = None
) -> tuple[FriendsAndRing, SmallWorld]:
    world = SmallWorld(NodeId(0), PLACE_OF_NODE, long_links, Random(1))
    interest = own_interest(TABLE, own)
    return FriendsAndRing(table_size, world, interest, TABLE, rates), world


MIXED = {NodeId(n): entry(n, "ABCDEFGH"[n % 4 : n % 4 + 3]) for n in range(1, 40)}


def test_a_table_has_ring_neighbours_a_long_link_and_the_best_friends() -> None:
    best, world = choice("ABCD", table_size=6)
    chosen = list(best.choose(MIXED, ()))
    assert len(set(chosen)) == 6
    assert chosen[:2] == [min(MIXED, key=ahead), max(MIXED, key=ahead)]
    assert tuple(chosen[:2]) == world.ring.nodes
    mine = TABLE.interest("ABCD")
    friends = [overlap(mine, MIXED[n].interest) for n in chosen[3:]]
    left = [overlap(mine, e.interest) for n, e in MIXED.items() if n not in chosen]
    assert min(friends) >= max(left)


def test_a_node_that_fits_the_small_world_improves_the_table_whatever_it_wants() -> None:
    best, world = choice("ABCD", table_size=6)
    best.choose(MIXED, ())
    told = [entry(n, "") for n in range(40, 400)]
    assert best.improving(told) == world.improving(told) != []


def test_friends_are_weighted_by_rates() -> None:
    candidates = entries(**{f"n{n}": "BCD" if n % 2 else "A" for n in range(1, 30)})
    for rates, topics in ((None, "BCD"), (dict.fromkeys("BCD", 0.1) | {"A": 9.0}, "A")):
        best, _ = choice("ABCD", table_size=8, rates=rates)
        friends = list(best.choose(candidates, ()))[3:]
        assert {candidates[n].interest for n in friends} == {TABLE.interest(topics)}


def test_among_equal_friends_those_of_the_table_stay_then_the_first_known() -> None:
    candidates = entries(**{f"n{n}": "AB" for n in range(1, 30)})
    best, _ = choice("AB", table_size=6)
    world, friends = (list(best.choose(candidates, ()))[i:j] for i, j in ((0, 3), (3, 6)))
    left = [n for n in candidates if n not in world]
    assert friends == left[:3], "in the order of the candidates"
    current = [left[9], left[1]]
    assert list(best.choose(candidates, current)) == [*world, left[1], left[9], left[0]]


@pytest.mark.parametrize("few", [0, 1, 2, 5])
def test_few_candidates_are_all_taken(few: int) -> None:
    best, _ = choice("AB", table_size=6)
    candidates = entries(**{f"n{n}": "H" for n in range(1, few + 1)})
    assert sorted(best.choose(candidates, ())) == list(range(1, few + 1))
    told = [entry(n, "H") for n in range(50, 90)]
    assert best.improving(told) == told, "there is room for any node"


def test_a_table_without_places_for_friends_is_improved_by_none() -> None:
    strangers = [entry(n, "H") for n in range(1, 30)]
    friends = [entry(n, "AB") for n in range(30, 200)]
    candidates = {e.node: e for e in strangers}
    full, world = choice("AB", table_size=4, long_links=2)
    full.choose(candidates, ())
    assert full.improving(friends) == world.improving(friends)
    other, _ = choice("AB", table_size=5, long_links=2)
    other.choose(candidates, ())
    assert len(other.improving(friends)) >= len(friends), "here there is one place"


@pytest.mark.parametrize("rates", [None, {**dict.fromkeys("ABCDEFGH", 1.0), "A": 5.0}])
@pytest.mark.parametrize("candidates", [MIXED, entries(**{f"n{n}": "BCD" for n in range(1, 40)})])
def test_a_friend_improves_the_table_if_it_exceeds_the_worst(
    candidates: dict[NodeId, Descriptor], rates: Mapping[Topic, float] | None
) -> None:
    """Equals change nothing: the table would never settle."""
    best, world = choice("ABCD", table_size=6, rates=rates)
    chosen = list(best.choose(candidates, ()))
    mine = TABLE.interest("ABCD")

    def utility(topics: str) -> float:
        other = TABLE.interest(topics)
        return overlap(mine, other) if rates is None else weighted(mine, other, TABLE, rates)

    worst = min(utility("".join(candidates[n].interest)) for n in chosen[3:])
    world.improving = lambda entries: []  # type: ignore[assignment,method-assign]
    for topics in ("ABCD", "ABC", "BCD", "AB", "A", "BE", "EFGH", ""):
        improves = best.improving([entry(77, topics)]) != []
        assert improves == (utility(topics) > worst), topics
