"""The subscription model: how many topics a node gets, and which."""

from collections import Counter
from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.errors import UsageError
from orbweaver.workload.popularity import weights
from orbweaver.workload.subscriptions import make_model, synthesise


def inclusion(probabilities: list[float], size: int) -> list[float]:
    """The chance of each topic to be among `size` drawn one by one without repetition."""
    found = [0.0] * len(probabilities)
    for order in permutations(range(len(probabilities)), size):
        chance, left = 1.0, 1.0
        for topic in order:
            chance *= probabilities[topic] / left
            left -= probabilities[topic]
        for topic in order:
            found[topic] += chance
    return found


@settings(deadline=None, max_examples=150)
@given(
    topics=st.integers(1, 30),
    sizes=st.tuples(st.integers(1, 30), st.integers(1, 30)),
    law=st.sampled_from(["uniform", "rss", "nyse", "zipf:1.5"]),
    seed=st.integers(0, 2**32),
)
def test_sizes_within_bounds_and_no_repetition(
    topics: int, sizes: tuple[int, int], law: str, seed: int
) -> None:
    low, high = sorted(min(size, topics) for size in sizes)
    model = make_model(topics, law, low, high)
    drawn = model.draw(Random(seed))
    assert low <= len(drawn) <= high
    assert len(set(drawn)) == len(drawn)
    assert set(drawn) <= set(model.topics)
    assert list(drawn) == sorted(drawn, key=model.topics.index)


# 2 of 6 is drawn one by one, 4 of 6 by exponential clocks; the distribution is the same.
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("law", ["uniform", "zipf:1", "nyse"])
def test_topics_come_as_often_as_their_popularity_says(size: int, law: str) -> None:
    model = make_model(6, law, size, size)
    rng = Random(7)
    draws = 6000
    counts = Counter(topic for _ in range(draws) for topic in model.draw(rng))
    found = [counts[topic] / draws for topic in model.topics]
    assert found == pytest.approx(inclusion(weights(law, 6), size), abs=0.025)


def test_popular_topics_have_more_subscribers() -> None:
    model = make_model(100, "nyse", 10, 10)
    counts = Counter(t for topics in synthesise(model, 2000, "test").of_node for t in topics)
    by_decile = [sum(counts[f"t{i}"] for i in range(k, k + 10)) for k in range(0, 100, 10)]
    assert by_decile == sorted(by_decile, reverse=True)
    assert by_decile[0] > 3 * by_decile[5]


def test_a_range_is_drawn_evenly() -> None:
    model = make_model(50, "uniform", 3, 6)
    sizes = Counter(len(topics) for topics in synthesise(model, 4000, "sizes").of_node)
    assert sorted(sizes) == [3, 4, 5, 6]
    assert all(count == pytest.approx(1000, rel=0.12) for count in sizes.values())


def test_synthesised_subscriptions_repeat_by_label() -> None:
    model = make_model(20, "rss", 4, 4)
    first = synthesise(model, 30, "w", 1)
    assert first == synthesise(model, 30, "w", 1)
    assert first.of_node != synthesise(model, 30, "w", 2).of_node
    assert first.labels == tuple(str(i) for i in range(30))
    assert first.topics == tuple(f"t{i}" for i in range(20))


def test_more_nodes_leave_the_first_ones_as_they_are() -> None:
    model = make_model(20, "rss", 4, 4)
    assert synthesise(model, 50, "w").of_node[:30] == synthesise(model, 30, "w").of_node


@pytest.mark.parametrize(
    ("topics", "law", "size", "message"),
    [
        (5, "uniform", 6, "cannot subscribe to 6 different topics out of 5"),
        (5, "zopf:1", 2, "unknown popularity"),
    ],
)
def test_what_cannot_be_drawn_is_refused(topics: int, law: str, size: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_model(topics, law, 1, size)


class Limited(Random):
    """Chance that runs out, so that a loop without an end is seen."""

    left = 200_000

    def random(self) -> float:
        self.left -= 1
        assert self.left, "drawing does not end"
        return super().random()


@pytest.mark.parametrize(
    ("topics", "law", "size"),
    [(100, "zipf:4", 10), (100, "zipf:10", 10), (2000, "zipf:100", 2000)],
)
def test_a_skewed_law_is_drawn(topics: int, law: str, size: int) -> None:
    assert len(make_model(topics, law, size, size).draw(Limited(1))) == size


def test_buckets_give_equally_from_a_few_groups() -> None:
    model = make_model(200, "buckets:10:2", 10, 10)
    rng = Random(5)
    drawn = [[int(t[1:]) for t in model.draw(rng)] for _ in range(500)]
    for topics in drawn:
        groups = Counter(t % 10 for t in topics)
        assert list(groups.values()) == [5, 5]
        assert len(set(topics)) == 10
    # Every topic is as popular as any other: 500 * 10 / 200 = 25 nodes each.
    popular = Counter(t for topics in drawn for t in topics)
    assert len(popular) == 200
    assert 8 < min(popular.values()) <= max(popular.values()) < 50


@pytest.mark.parametrize(
    ("topics", "law", "low", "high", "complaint"),
    [
        (200, "buckets:10", 10, 10, "should be buckets:GROUPS:TAKEN"),
        (200, "buckets:10:0", 10, 10, "should be buckets:GROUPS:TAKEN"),
        (200, "buckets:10:x", 10, 10, "should be buckets:GROUPS:TAKEN"),
        (200, "buckets:7:2", 10, 10, "does not divide 200 topics"),
        (200, "buckets:10:11", 11, 11, "does not divide 200 topics"),
        (200, "buckets:10:2", 11, 11, "does not add up to 11:11"),
        (200, "buckets:10:2", 42, 42, "does not add up to 42:42"),
        (200, "buckets:10:2", 4, 10, "does not add up to 4:10"),
    ],
)
def test_buckets_that_do_not_work(
    topics: int, law: str, low: int, high: int, complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        make_model(topics, law, low, high)


def test_sizes_follow_a_power_law() -> None:
    """1/s^2 for sizes from 1 to 4: 144 : 36 : 16 : 9."""
    model, rng = make_model(9, "uniform", 1, 4, 2.0), Random(5)
    counts = Counter(len(model.draw(rng)) for _ in range(6000))
    found = [counts[size] / 6000 for size in (1, 2, 3, 4)]
    assert found == pytest.approx([144 / 205, 36 / 205, 16 / 205, 9 / 205], abs=0.02)
