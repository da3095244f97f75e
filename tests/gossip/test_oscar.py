"""OSCAR: fingers by sampled medians keep greedy routing short on any spread of places."""

from __future__ import annotations

import math
from bisect import bisect_left
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweaver.core.identifiers import SPACE
from orbweaver.core.seeds import generator, pick
from orbweaver.gossip.oscar import LEVELS_MAX, Medians, draw_finger, halves

NODES, FINGERS = 2000, 7


def skewed_places(rng: Random) -> list[int]:
    """Places u^20: nearly all nodes stand at the beginning of the ring."""
    return sorted({int(rng.random() ** 20 * SPACE) for _ in range(NODES)})


def mean_hops(places: list[int], fingers: list[list[int]], rng: Random) -> float:
    """Route greedily, clockwise only, between random nodes given by their ranks."""
    count, hops, lookups = len(places), 0, 200
    for _ in range(lookups):
        at, goal = pick(rng, range(count)), pick(rng, range(count))
        while at != goal:
            left = (goal - at) % count
            steps = [1, *((f - at) % count for f in fingers[at])]
            at = (at + max(step for step in steps if step <= left)) % count
            hops += 1
    return hops / lookups


def sampled_fingers(places: list[int], rng: Random) -> list[list[int]]:
    count = len(places)
    found = []
    for me, here in enumerate(places):
        medians: Medians[int] = Medians()
        more = True
        while more:
            reach = count - 1
            if medians.span < SPACE:
                reach = (bisect_left(places, (here + medians.span) % SPACE) - me - 1) % count
            for _ in range(5 - medians.sampled if reach else 0):
                node = (me + 1 + int(rng.random() * reach)) % count
                medians.take((places[node] - here) % SPACE, node)
            more = medians.close()
        drawn = [draw_finger(medians.partitions, rng) for _ in range(FINGERS)]
        found.append([node for node in drawn if node is not None])
    return found


def fingers_by_distance(places: list[int], rng: Random) -> list[list[int]]:
    """Harmonic in the distance between places, as where places are hashes."""
    count = len(places)

    def finger(here: int) -> int:
        length = math.exp(math.log(count) * (rng.random() - 1)) * (SPACE - 1)
        return bisect_left(places, (here + int(length)) % SPACE) % count

    return [[finger(here) for _ in range(FINGERS)] for here in places]


def test_hops_stay_few_on_skewed_places_and_collapse_with_fingers_by_distance() -> None:
    rng = generator("oscar test")
    places = skewed_places(rng)
    bound = math.log2(NODES) ** 2 / FINGERS
    assert mean_hops(places, sampled_fingers(places, rng), rng) < bound
    assert mean_hops(places, fingers_by_distance(places, rng), rng) > 10 * bound


def test_exact_medians_do_no_better_than_twice_as_well() -> None:
    rng = generator("oscar exact")
    places = skewed_places(rng)
    count = len(places)
    exact = []
    for me in range(count):
        order = [(me + i) % count for i in range(1, count)]
        drawn = [draw_finger(halves(order), rng) for _ in range(FINGERS)]
        exact.append([node for node in drawn if node is not None])
    sampled = mean_hops(places, sampled_fingers(places, rng), rng)
    assert sampled < 2 * mean_hops(places, exact, rng)


@given(st.lists(st.integers(), max_size=70, unique=True))
def test_halves_are_all_nodes_the_farther_half_first(order: list[int]) -> None:
    partitions = halves(order)
    assert [node for nodes in reversed(partitions) for node in nodes] == order
    left = len(order)
    for nodes in partitions:
        assert len(nodes) == left - left // 2
        left -= len(nodes)


def test_two_choices_take_the_more_similar() -> None:
    rng = generator("two choices")
    alone = [draw_finger([[0, 1]], rng) for _ in range(400)]
    biased = [draw_finger([[0, 1]], rng, likeness=float) for _ in range(400)]
    assert 150 < sum(one == 1 for one in alone) < 250
    assert sum(one == 1 for one in biased) > 260


def test_no_partition_has_no_finger() -> None:
    assert draw_finger([], generator("none")) is None
    assert draw_finger([[], []], generator("none")) is None


@pytest.mark.parametrize("ahead", [0, SPACE, -1])
def test_a_sample_outside_the_span_does_not_count(ahead: int) -> None:
    medians: Medians[str] = Medians()
    assert not medians.take(ahead, "liar")
    assert not medians.close()


def test_a_liar_cannot_make_levels_without_end() -> None:
    medians: Medians[str] = Medians()
    levels = 0
    while True:
        medians.take(medians.span - 1, "a")
        medians.take(medians.span - 1, "b")
        levels += 1
        if not medians.close():
            break
    assert levels <= LEVELS_MAX + 1


def test_what_was_found_nearer_than_the_median_counts_for_the_next_level() -> None:
    medians: Medians[str] = Medians()
    for ahead, node in [(40, "d"), (10, "a"), (30, "c"), (20, "b"), (50, "e")]:
        medians.take(ahead, node)
    assert medians.close()
    assert (medians.span, medians.partitions, medians.sampled) == (30, [["c", "d", "e"]], 2)
    assert medians.close()
    assert (medians.span, medians.partitions[1:], medians.sampled) == (20, [["b"]], 1)
