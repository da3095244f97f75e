from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.seeds import generator
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.views import PartialView
from tests.gossip.fake_outbox import FakeDirectory

NAMES = list("abcdef")
topic_sets = st.sets(st.sampled_from(NAMES))
populations = st.dictionaries(st.integers(0, 30), topic_sets, max_size=12)


def full_partial_view(interests):
    """A partial view that has drawn all nodes but node 99."""
    table = TopicTable(NAMES)
    directory = FakeDirectory(table, {n: sorted(names) for n, names in interests.items()})
    view = PartialView(table, directory, 1.0)
    view.draw(generator("draw"), 99)
    return table, directory, view


def answers(ask, tries=200):
    return {ask(Random(seed)) for seed in range(tries)}


@settings(deadline=None, max_examples=50)
@given(populations, topic_sets, st.sets(st.integers(0, 30)))
def test_best_match_is_any_naive_argmax_and_in_time_each(interests, wanted, exclude):
    table, directory, view = full_partial_view(interests)
    overlaps = {n: len(t & wanted) for n, t in interests.items() if n not in exclude}
    best = max(overlaps.values(), default=0)
    expected = {n for n, overlap in overlaps.items() if overlap == best} if best else {None}
    mask = table.interest(wanted).mask
    assert answers(lambda rng: directory.best_match(mask, exclude, rng)) == expected
    assert answers(lambda rng: view.best_match(mask, exclude, rng)) == expected
    assert view.best_match(mask, exclude, None) == min(expected)


@settings(deadline=None, max_examples=50)
@given(populations, topic_sets, st.sets(st.integers(0, 30)))
def test_any_match_is_in_time_each_node_that_shares_a_topic(interests, wanted, exclude):
    table, directory, view = full_partial_view(interests)
    expected = {n for n, t in interests.items() if t & wanted and n not in exclude} or {None}
    mask = table.interest(wanted).mask
    assert answers(lambda rng: directory.any_match(mask, exclude, rng)) == expected
    assert answers(lambda rng: view.any_match(mask, exclude, rng)) == expected


@settings(deadline=None, max_examples=50)
@given(populations, st.sets(st.integers(0, 30)))
def test_any_peer_is_in_time_each_node(interests, exclude):
    _, directory, view = full_partial_view(interests)
    all_nodes = {n for n in interests if n not in exclude}
    interested = {n for n in all_nodes if interests[n]}
    assert answers(lambda rng: directory.any_peer(exclude, rng)) == (all_nodes or {None})
    # The directory does not tell an empty interest from a node that is down: both have mask 0.
    assert answers(lambda rng: view.any_peer(exclude, rng)) == (interested or {None})


@settings(deadline=None)
@given(populations, st.sampled_from(NAMES), st.integers(0, 30))
def test_the_successor_is_the_next_in_the_ring(interests, topic, node):
    _, _, view = full_partial_view(interests)
    on_topic = sorted(n for n, names in interests.items() if topic in names and n != node)
    ring = [n for n in on_topic if n > node] + on_topic
    assert view.successor(topic, node) == (ring[0] if ring else None)


def test_ties_are_broken_by_the_generator_that_is_given_and_evenly():
    table, _, view = full_partial_view(dict.fromkeys(range(4), "a"))
    rng = generator("ties")
    first = [view.best_match(table.bit("a"), (), rng) for _ in range(2000)]
    rng = generator("ties")
    assert [view.best_match(table.bit("a"), (), rng) for _ in range(2000)] == first
    # 500 expected; four standard deviations are 78
    assert all(abs(first.count(n) - 500) < 78 for n in range(4))


@pytest.mark.parametrize(("fraction", "size"), [(0.05, 5), (0.5, 50), (1.0, 99)])
def test_a_partial_view_has_its_share_and_never_the_node_itself(fraction, size):
    table = TopicTable("a")
    view = PartialView(table, FakeDirectory(table, dict.fromkeys(range(100), "a")), fraction)
    view.draw(generator("share"), 7)
    members = [node for node, _ in view.entries()]
    assert 7 not in members
    assert size - 1 <= len(members) == len(set(members)) <= size


def test_a_partial_view_sees_new_interests_and_loses_nodes_that_are_down():
    table, directory, view = full_partial_view({1: "a", 2: "a"})
    directory.interests[1] = table.interest("b")
    del directory.interests[2]
    assert view.interest_of(1) == table.interest("b")
    assert view.interest_of(2) is None
    assert view.entries() == [(1, table.bit("b"))]
    assert answers(lambda rng: view.any_peer((), rng)) == {1}


def test_a_partial_view_does_not_learn_of_newcomers():
    table, directory, view = full_partial_view({1: "a"})
    directory.interests[2] = table.interest("b")
    assert view.best_match(table.bit("b"), (), Random(0)) is None
