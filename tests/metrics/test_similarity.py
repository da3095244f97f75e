"""tdi(d) against the definition, written out; and how alike linked nodes are."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.metrics.similarity import link_utility, top_intersection
from orbweaver.metrics.snapshot import from_graph


def naive(interests: list[set[str]], d: int) -> float:
    nodes = [topics for topics in interests if topics]
    if not nodes:
        return math.nan
    values = []
    for i, mine in enumerate(nodes):
        shares = [
            100 * len(mine & other) / min(len(mine), len(other))
            for j, other in enumerate(nodes)
            if i != j
        ]
        values.append(sum(sorted(shares, reverse=True)[:d]) / d)
    return sum(values) / len(values)


interest = st.sets(st.sampled_from([f"t{i}" for i in range(9)]))


@settings(deadline=None, max_examples=200)
@given(interests=st.lists(interest, max_size=18), d=st.integers(1, 8))
def test_tdi_is_the_naive_one(interests: list[set[str]], d: int) -> None:
    found, expected = top_intersection(interests, d), naive(interests, d)
    assert found == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("interests", "d", "percent"),
    [
        ([{"a", "b"}, {"a", "b"}], 1, 100),
        ([{"a", "b"}, {"c"}], 1, 0),
        # The smaller of the two decides: {a} lies within {a, b, c} altogether.
        ([{"a"}, {"a", "b", "c"}], 1, 100),
        ([{"a", "b"}, {"b", "c"}], 1, 50),
        # Two partners are asked for and there is one.
        ([{"a"}, {"a"}], 2, 50),
        ([{"a"}, set(), {"a"}], 1, 100),
    ],
)
def test_tdi_by_hand(interests: list[set[str]], d: int, percent: float) -> None:
    assert top_intersection(interests, d) == pytest.approx(percent)


def test_the_utility_of_links_is_the_papers() -> None:
    """Vitis III-A2: 1/4 for {A, B, C} and {C, D}, and 1/3 for {C, D} and {C, ..., H}."""
    interests = {0: set("ABC"), 1: set("CD"), 2: set("CDEFGH"), 3: set()}
    assert link_utility(from_graph(interests, [(0, 1)])) == 1 / 4
    assert link_utility(from_graph(interests, [(0, 1), (1, 2)])) == pytest.approx(7 / 24)
    assert link_utility(from_graph(interests, [(0, 1), (2, 3)])) == 1 / 8
    assert math.isnan(link_utility(from_graph(interests, [])))
