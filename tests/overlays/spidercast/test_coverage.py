from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.topics import TopicTable
from orbweaver.overlays.spidercast.coverage import (
    CoverageAudit,
    GreedyCoverage,
    RandomCoverage,
)
from orbweaver.overlays.spidercast.maintenance import Neighbor
from tests.gossip.fake_outbox import FakeDirectory, own_interest

NAMES = list("abcdef")
TABLE = TopicTable(NAMES)
topic_sets = st.sets(st.sampled_from(NAMES))


def neighbors_with(interests):
    return [Neighbor(1, 1, TABLE.interest(topics)) for topics in interests]


def uncovered(k, interest, neighbor_topics):
    """Fig. 3, lines 1-7, word by word."""
    return {t for t in interest if sum(t in topics for topics in neighbor_topics) < k}


@settings(deadline=None)
@given(st.integers(1, 4), topic_sets, st.lists(topic_sets, max_size=8))
def test_an_audit_counts_like_the_paper_with_and_without_each_neighbour(k, interest, others):
    neighbors = neighbors_with(others)
    audit = CoverageAudit(k, TABLE.interest(interest).mask, neighbors)
    assert set(TABLE.of_mask(audit.uncovered)) == uncovered(k, interest, others)
    assert audit.under == len(uncovered(k, interest, others))
    for i, neighbor in enumerate(neighbors):
        rest = others[:i] + others[i + 1 :]
        assert audit.under_without(neighbor) == len(uncovered(k, interest, rest))


def test_with_k_0_nothing_is_ever_uncovered():
    [neighbor] = neighbors = neighbors_with(["a"])
    audit = CoverageAudit(0, TABLE.interest("ab").mask, neighbors)
    assert (audit.under, audit.under_without(neighbor)) == (0, 0)


def aim(kind, k, own, view):
    return kind(k, own_interest(TABLE, own), FakeDirectory(TABLE, view), Random(1))


@pytest.mark.parametrize("kind", [GreedyCoverage, RandomCoverage])
@pytest.mark.parametrize(("k", "own", "limit"), [(3, "abc", 9), (0, "abc", 0), (3, "", 0)])
def test_the_limit_is_k_for_each_topic(kind, k, own, limit):
    assert aim(kind, k, own, {}).limit() == limit


VIEW = {1: "a", 2: "ab", 3: "abc", 4: "def", 5: "abcdef", 6: "b"}


@pytest.mark.parametrize(
    ("k", "neighbors", "exclude", "greedy", "random"),
    [
        # The node wants abc.
        (1, [], set(), {3, 5}, {1, 2, 3, 5, 6}),
        (1, [], {5}, {3}, {1, 2, 3, 6}),
        (1, [], {3, 5}, {2}, {1, 2, 6}),
        (1, ["c"], {3, 5}, {2}, {1, 2, 6}),
        (1, ["ac"], {3, 5}, {2, 6}, {2, 6}),  # only b is left, and 2 covers no more of it
        (1, ["abc"], set(), {None}, {None}),
        (2, ["abc"], {3, 5}, {2}, {1, 2, 6}),
        (2, ["abc", "b"], {3, 5}, {1, 2}, {1, 2}),
        (1, ["ab"], {3, 5}, {None}, {None}),  # no node that is left has c
    ],
)
def test_greedy_takes_the_best_node_and_random_takes_any_that_helps(
    k, neighbors, exclude, greedy, random
):
    for kind, expected in [(GreedyCoverage, greedy), (RandomCoverage, random)]:
        chooser = aim(kind, k, "abc", VIEW)
        neighborhood = neighbors_with(neighbors)
        chosen = {chooser.next_node(neighborhood, exclude) for _ in range(200)}
        assert chosen == expected
