"""Backup sets: coverage, commitment, and the balance of the two methods (claim O1)."""

from __future__ import annotations

from functools import partial
from statistics import mean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweaver.core.seeds import generator, sample
from orbweaver.overlays.omen.backups import (
    BackupsReady,
    build_backups_greedy,
    build_backups_primal_dual,
    coverage,
)

MASKS = st.lists(st.integers(0, 255), max_size=14)


def primal_dual(choice: str, seed: int = 0) -> Any:
    return partial(build_backups_primal_dual, rng=generator("backups", seed), choice=choice)


BUILDERS = {
    "greedy": lambda: build_backups_greedy,
    "random": lambda: primal_dual("random"),
    "most": lambda: primal_dual("most"),
}


@pytest.mark.parametrize("builder", BUILDERS)
@given(wanted=st.integers(0, 255), masks=MASKS, factor=st.integers(0, 4))
def test_topic_coverage_and_individual_commitment(
    builder: str, wanted: int, masks: list[int], factor: int
) -> None:
    candidates = list(enumerate(masks))
    backups = BUILDERS[builder]()(wanted, candidates, factor)
    assert len(set(backups)) == len(backups)
    assert set(backups) <= set(candidates)
    assert all(mask & wanted for _, mask in backups)  # Eq. 2
    # Eq. 1 and 3: each topic as often as there are subscribers, up to lambda times
    assert coverage(wanted, backups, factor).total() == coverage(wanted, candidates, factor).total()


def test_greedy_is_the_textbook_choice() -> None:
    candidates = [(1, 0b0011), (2, 0b1110), (3, 0b0001), (4, 0b1111)]
    assert build_backups_greedy(0b1111, candidates, 1) == [(4, 0b1111)]
    assert build_backups_greedy(0b1111, candidates[:3], 1) == [(2, 0b1110), (1, 0b0011)]
    assert build_backups_greedy(0b1111, candidates, 2) == [(4, 0b1111), (2, 0b1110), (1, 0b0011)]


def test_the_printed_rule_prefers_the_subscriber_with_most_uncovered_topics() -> None:
    candidates = [(1, 0b0001), (2, 0b1110), (3, 0b1111)]
    for seed in range(10):
        assert primal_dual("most", seed)(0b1111, candidates, 1) == [(3, 0b1111)]
    picked = {primal_dual("random", seed)(0b0001, candidates, 1)[0][0] for seed in range(30)}
    assert picked == {1, 3}


def uniform(nodes: int, topics: int = 200, seed: int = 1) -> list[tuple[int, int]]:
    """The uniform workload of Sec. 6.1: 10 to 90 topics of 200, sizes by a power law of 2."""
    rng = generator("uniform", seed)
    made = []
    for node in range(nodes):
        size = int(10 / (1 - rng.random() * (1 - 10 / 90)))
        numbers = sample(rng, range(topics), size)
        made.append((node, sum(1 << number for number in numbers)))
    return made


def in_degrees(nodes: list[tuple[int, int]], build: Any) -> list[int]:
    counts = dict.fromkeys((node for node, _ in nodes), 0)
    for node, wanted in nodes:
        for backup, _ in build(wanted, [other for other in nodes if other[0] != node], 3):
            counts[backup] += 1
    return list(counts.values())


def test_claim_o1_primal_dual_is_balanced_and_greedy_is_not() -> None:
    nodes = uniform(500)
    balanced = in_degrees(nodes, primal_dual("random"))
    assert min(balanced) > 0
    assert max(balanced) < 4 * mean(balanced)
    greedy = in_degrees(nodes, build_backups_greedy)
    assert sum(count < 5 for count in greedy) > 0.4 * len(greedy)
    assert max(greedy) > 10 * mean(greedy)


def test_a_set_is_ready_when_full_or_when_rounds_bring_no_gain() -> None:
    ready = BackupsReady(3)
    full = coverage(0b11, [(1, 0b11), (2, 0b11)], 2)
    half = coverage(0b11, [(1, 0b11), (2, 0b01)], 2)
    assert (full.factor(), half.factor()) == (2, 1)
    assert [ready.round(0b11, half) for _ in range(4)] == [False, False, False, True]
    assert ready.round(0b11, full)
    assert not ready.round(0b111, coverage(0b111, [(1, 0b11)], 2)), "the node wants more now"


def test_the_same_seed_gives_the_same_set() -> None:
    nodes = uniform(60)
    first, again = (primal_dual("random", 7)(nodes[0][1], nodes[1:], 5) for _ in range(2))
    assert first == again
    assert first != primal_dual("random", 8)(nodes[0][1], nodes[1:], 5)
