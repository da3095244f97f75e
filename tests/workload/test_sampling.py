"""Samples of tables in memory, by the papers' methods."""

from __future__ import annotations

from random import Random

import pytest

from orbweaver.workload.sampling import are_nodes, breadth_first, sampled, seed_universe
from orbweaver.workload.subscriptions import Subscriptions


def table(pairs: dict[str, tuple[str, ...]]) -> Subscriptions:
    topics = dict.fromkeys(topic for wanted in pairs.values() for topic in wanted)
    once = tuple(tuple(dict.fromkeys(wanted)) for wanted in pairs.values())
    return Subscriptions(tuple(topics), once, tuple(pairs))


RING = table({f"u{i}": (f"u{(i + 1) % 300}", f"u{(i + 7) % 300}") for i in range(300)})
GROUPS = table({f"u{i}": tuple(f"g{i % k}" for k in (2, 150, 200)) for i in range(1000)})


def test_whether_topics_are_nodes() -> None:
    assert are_nodes(RING)
    assert not are_nodes(GROUPS)


@pytest.mark.parametrize("nodes", [1, 40, 299])
def test_a_search_keeps_relations_among_its_nodes(nodes: int) -> None:
    part = breadth_first(RING, nodes, Random(1))
    assert len(part.labels) <= nodes
    if nodes > 1:
        assert len(part.labels) > nodes / 3, "a search finds neighbours of what it has"
    whole = dict(zip(RING.labels, RING.of_node, strict=True))
    chosen = {*part.labels, *part.topics}
    assert len(chosen) <= nodes
    for label, wanted in zip(part.labels, part.of_node, strict=True):
        assert wanted == tuple(topic for topic in whole[label] if topic in chosen)
        assert wanted, "a node that is left with nothing is no row of the table"


def test_a_search_for_more_than_there_are_takes_all() -> None:
    assert breadth_first(RING, 1000, Random(1)) == RING


def test_a_universe_has_its_most_wanted_topics() -> None:
    part = seed_universe(GROUPS, 200, Random(1))
    assert len(part.labels) == 200
    assert len(part.topics) == 100
    assert {"g0", "g1"} <= set(part.topics), "half of the nodes want each"
    whole = dict(zip(GROUPS.labels, GROUPS.of_node, strict=True))
    for label, wanted in zip(part.labels, part.of_node, strict=True):
        assert wanted == tuple(t for t in whole[label] if t in set(part.topics))


def test_samples_grow_into_the_data() -> None:
    parts = [seed_universe(GROUPS, nodes, Random(1)) for nodes in (500, 900, 1000)]
    assert [len(part.topics) for part in parts] == [100, 180, 200]
    wants = [sum(map(len, part.of_node)) / len(part.labels) for part in parts]
    assert wants[0] < wants[1] < wants[2]
    assert parts[2] == GROUPS


MANY = table({f"u{i}": (f"g{i % 290}", f"g{i % 7}") for i in range(900)})
FEW = table({f"u{i}": (f"g{i % 7}", f"g{i % 5}") for i in range(90)})


@pytest.mark.parametrize(
    ("whole", "how"),
    [
        (FEW, "random nodes with all topics"),
        (GROUPS, "random nodes with the 100 topics that they want most (Rappel 6.1.2)"),
        (MANY, "subscribers of 250 random topics with the 81 topics that they want most "
         "(Rappel 6.1.2)"),
    ],
)  # fmt: skip
def test_how_a_sample_was_drawn_is_told_as_it_was(whole: Subscriptions, how: str) -> None:
    assert sampled(whole, 80, topics_are_nodes=False)[1] == how


@pytest.mark.parametrize("whole", [RING, GROUPS])
def test_a_sample_is_the_same_each_time(whole: Subscriptions) -> None:
    one = sampled(whole, 50, are_nodes(whole))
    assert one == sampled(whole, 50, are_nodes(whole))
    assert ("Vitis" if whole is RING else "Rappel") in one[1]
