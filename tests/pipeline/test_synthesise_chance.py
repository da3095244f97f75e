"""Chance as a function of the row, and draws without repetition."""

from __future__ import annotations

import numpy as np
import pytest

from orbweaver.core.seeds import generator
from orbweaver.workload.models.chance import mix, permute, split, states, uniforms
from orbweaver.workload.models.distinct import Distinct
from orbweaver.workload.popularity import weights
from orbweaver.workload.subscriptions import make_model

ROWS = np.arange(20_000)


def test_the_mixer_is_the_published_one() -> None:
    """SplitMix64 from seed 1234567: the outputs that Rosetta Code lists."""
    gamma = 0x9E3779B97F4A7C15
    words = np.array([(1234567 + k * gamma) % 2**64 for k in (1, 2, 3)], dtype=np.uint64)
    assert mix(words).tolist() == [
        6457827717110365317, 3203168211198807973, 9817491932198370423,
    ]  # fmt: skip


def test_draws_are_even_and_do_not_know_of_each_other() -> None:
    drawn = uniforms(states(1, "t", "c", ROWS), 8)
    # Means of 20,000 draws have a standard error of 0.002, correlations of 0.007: five each.
    assert np.abs(drawn.mean(axis=0) - 0.5).max() < 0.011
    both = np.hstack([drawn[:-1], drawn[1:], uniforms(states(1, "t", "d", ROWS), 4)[:-1]])
    correlation = np.corrcoef(both, rowvar=False) - np.eye(20)
    assert np.abs(correlation).max() < 0.036
    counts = np.histogram(drawn, bins=64, range=(0, 1))[0]
    # Chi-square with 63 degrees of freedom: below 120 but once in 10^5 seeds.
    expected = drawn.size / 64
    assert ((counts - expected) ** 2 / expected).sum() < 120


def test_a_draw_depends_on_each_label_and_on_nothing_else() -> None:
    there = uniforms(states(1, "t", "c", ROWS), 3)
    assert (uniforms(states(1, "t", "c", ROWS[500:600]), 3) == there[500:600]).all()
    assert (uniforms(states(1, "t", "c", ROWS), 2, first=1) == there[:, 1:]).all()
    for labels in ((2, "t", "c"), (1, "u", "c"), (1, "t", "d")):
        assert not (uniforms(states(*labels, ROWS), 3) == there).any()
    parts = split(states(1, "t", "c", ROWS), 3)
    assert len(np.unique(parts)) == parts.size


@pytest.mark.parametrize("size", [1, 2, 3, 10, 1000, 1024, 1025])
def test_a_permutation_meets_everyone_once(size: int) -> None:
    found = permute(7, "x", size, np.arange(size))
    assert sorted(found.tolist()) == list(range(size))
    if size >= 1000:
        # Fixed points of a shuffle are Poisson(1): more than 8 in one of a million.
        assert (found == np.arange(size)).sum() <= 8
        assert (found != permute(8, "x", size, np.arange(size))).any()


@pytest.mark.parametrize(
    ("law", "items", "size"),
    [("uniform", 100, 10), ("zipf:1", 100, 10), ("zipf:2", 50, 30), ("nyse", 40, 40)],
)
def test_distinct_draws_follow_the_one_by_one_model(law: str, items: int, size: int) -> None:
    """Each item is drawn as often as by `workload.subscriptions`, drawing one at a time."""
    count = 20_000
    drawn = Distinct(weights(law, items)).draw(
        states(3, "t", "c", np.arange(count)), np.full(count, size)
    )
    ours = np.bincount(drawn.items, minlength=items) / count
    model, rng = make_model(items, law, size, size), generator("distinct", law)
    theirs = np.zeros(items)
    for _ in range(count):
        theirs[[int(topic[1:]) for topic in model.draw(rng)]] += 1
    # Two shares of 20,000 differ by at most sqrt(2 / 4 / 20,000) = 0.005 (one sigma): five.
    assert np.abs(ours - theirs / count).max() < 0.025
    lists = np.array(drawn.rows())
    assert (np.diff(lists, axis=1) > 0).all()


@pytest.mark.parametrize("law", ["uniform", "zipf:1.2"])
def test_a_row_does_not_notice_its_neighbours(law: str) -> None:
    """Whatever their sizes, their order and the batch; both ways of drawing."""
    distinct = Distinct(weights(law, 200))
    rows = np.arange(3000)
    sizes = 1 + (rows * 7) % 150
    whole = distinct.draw(states(1, "t", "c", rows), sizes).rows()
    assert [len(row) for row in whole] == sizes.tolist()
    backwards = rows[::-1]
    turned = distinct.draw(states(1, "t", "c", backwards), sizes[backwards]).rows()
    assert turned[::-1] == whole
    few = np.array([17, 2000, 5])
    assert distinct.draw(states(1, "t", "c", few), sizes[few]).rows() == [whole[i] for i in few]


def test_a_hopeless_law_still_gives_different_items() -> None:
    """Zipf 100: all weight on one topic, and the others cannot be told from impossible."""
    distinct = Distinct(np.maximum(weights("zipf:100", 3000), 1e-305))
    lists = distinct.draw(states(1, "t", "c", np.arange(20)), np.full(20, 5)).rows()
    assert all(row[0] == 0 and len(set(row)) == 5 for row in lists)
