"""The friendship overlay: utility, votes, audits and fans (Rappel, section 3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweaver.core.ids import NodeId
from orbweaver.gossip.bloom import make_filter
from orbweaver.gossip.vivaldi import Coordinates
from orbweaver.overlays.rappel.friends import (
    Friends,
    Portrait,
    overlap,
    swapped,
    utility,
    worth,
)
from orbweaver.overlays.rappel.params import RappelParams


def at(ms: float, *feeds: int, version: int = 1) -> Portrait:
    """A node this far from the origin whose filter has one bit for each feed."""
    return Portrait(Coordinates((ms, 0.0)), sum(1 << feed for feed in feeds), version)


ME = at(0.0, 1, 2, 3, 4, 5)


def make(size: int = 2, fans: int = 4, candidates: int = 10) -> Friends:
    friends = Friends(NodeId(0), size, fans, candidates, 0.01)
    friends.own = ME
    return friends


def test_the_utility_is_the_papers_example() -> None:
    """R12: A = {1..5} and B = {1, 3, 5, 7} overlap by half."""
    assert overlap(ME.bloom, at(0, 1, 3, 5, 7).bloom) == 0.5
    for ms, base in ((1.0, 500.0), (100.0, 5.0)):
        one = utility(ME, [at(ms, 1, 3, 5, 7)])
        bonus = 3 / 5 / (ms / 1000)
        assert one - bonus == pytest.approx(base)


def test_the_bonus_is_for_bits_that_no_other_friend_has() -> None:
    b, c = at(10.0, 1, 3, 5, 7), at(10.0, 2, 4, 6)
    assert utility(ME, [b, c]) == pytest.approx(100 * (3 / 6 + 3 / 5) + 100 * (2 / 6 + 2 / 5))
    assert utility(ME, [b, b]) == pytest.approx(2 * 100 * 3 / 6)
    d = at(10.0, 1, 2)
    with_shared_bit = 100 * (3 / 6 + 2 / 5) + 100 * (2 / 5 + 1 / 5)
    assert utility(ME, [b, d]) == pytest.approx(with_shared_bit)


@given(st.lists(st.tuples(st.floats(0.1, 900), st.sets(st.integers(1, 8))), min_size=1, max_size=7))
def test_a_swap_is_worth_what_the_set_after_it_is_worth(
    others: list[tuple[float, set[int]]],
) -> None:
    *friends, new = [at(ms, *feeds) for ms, feeds in others]
    worths = [worth(ME, one, True) for one in (*friends, new)]
    after = [[*friends[:out], *friends[out + 1 :], new] for out in range(len(friends))]
    assert swapped(ME, worths[:-1], worths[-1]) == [utility(ME, one) for one in after]


def test_a_portrait_that_changes_changes_the_choice() -> None:
    friends = make(size=1)
    friends.add(NodeId(1), at(10.0, 1, 2))
    assert friends.victim(at(20.0, 1, 2)) is None
    friends.friends[NodeId(1)] = at(90.0, 1, 2)
    assert friends.victim(at(20.0, 1, 2)) == 1
    friends.own = at(90.0, 1, 2)
    assert friends.victim(at(20.0, 1, 2)) is None


def test_without_proximity_a_far_friend_is_worth_as_much_as_a_near_one() -> None:
    near, far = at(1.0, 1, 3), at(100.0, 1, 3)
    assert utility(ME, [near], False) == utility(ME, [far], False) == 2 / 5 + 2 / 5
    for proximity, victim in ((True, 2), (False, None)):
        friends = Friends(NodeId(0), 1, 4, 10, 0.01, proximity)
        friends.own = ME
        friends.friends[NodeId(2)] = far
        assert friends.victim(near) == victim


def test_nothing_in_common_is_worth_nothing() -> None:
    assert utility(ME, [at(1.0, 9)]) == 0.0
    assert utility(at(0.0), [at(1.0)]) == 0.0
    assert utility(ME, []) == 0.0


def test_votes_choose_whom_to_audit() -> None:
    friends = make()
    friends.vote([NodeId(1), NodeId(2), NodeId(3)])
    friends.vote([NodeId(2)])
    assert [friends.next_audit() for _ in range(4)] == [2, 1, 3, None]


def test_the_least_recently_heard_candidate_gives_way() -> None:
    friends = make(candidates=3)
    friends.vote(map(NodeId, (1, 2, 3)))
    friends.vote([NodeId(1)])
    friends.vote([NodeId(4)])
    assert list(friends.candidates) == [3, 1, 4]


def test_neither_itself_nor_a_friend_is_a_candidate() -> None:
    friends = make()
    friends.add(NodeId(5), at(1.0, 1))
    friends.vote([NodeId(0), NodeId(5)])
    assert not friends.candidates


def test_the_swap_with_the_highest_utility_is_made() -> None:
    friends = make()
    friends.add(NodeId(1), at(50.0, 1, 2))
    friends.add(NodeId(2), at(90.0, 1, 2))
    better = at(10.0, 1, 2, 3)
    assert friends.victim(better) == 2
    assert friends.add(NodeId(3), better) == (True, 2)
    assert sorted(friends.friends) == [1, 3]


def test_a_gain_within_delta_changes_nothing() -> None:
    friends = make(size=1)
    friends.add(NodeId(1), at(100.0, 1, 2))
    assert friends.victim(at(99.5, 1, 2)) is None
    assert friends.victim(at(98.5, 1, 2)) == 1
    assert friends.add(NodeId(2), at(99.5, 1, 2)) == (False, None)


def test_a_change_opens_all_candidates_again() -> None:
    friends = make()
    friends.vote(map(NodeId, (1, 2)))
    friends.next_audit()
    friends.add(NodeId(3), at(1.0, 1))
    assert list(friends.candidates.values()) == [0, 0]


def test_fans_are_served_first_come_first_served() -> None:
    friends = make(fans=2)
    assert [friends.approve(NodeId(n)) for n in (1, 2, 3, 1)] == [True, True, False, True]
    friends.forget(NodeId(1))
    assert friends.approve(NodeId(3))
    assert not friends.approve(NodeId(0))


def test_the_closest_friend_that_covers_a_feed_comes_first() -> None:
    friends = make(size=3)
    for node, ms, feeds in ((1, 9.0, ["a"]), (2, 3.0, ["a", "b"]), (3, 1.0, ["c"])):
        known = Portrait(Coordinates((ms, 0.0)), make_filter(feeds), 1)
        friends.add(NodeId(node), known)
    assert friends.covering("a") == [2, 1]
    assert friends.covering("zzz") == []


def test_sizes_are_the_papers() -> None:
    params = RappelParams()
    assert (params.friends, params.fans, params.candidates) == (6, 12, 120)
