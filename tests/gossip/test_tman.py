"""T-Man: what is sent in an exchange, and what is kept of what comes."""

from __future__ import annotations

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.topics import NOTHING
from orbweaver.gossip import tman
from orbweaver.gossip.descriptor import Aged, Descriptor

AGE_MAX = 4000
ME = NodeId(5)


def entry(node: int, version: int = 0) -> Descriptor:
    return Descriptor(NodeId(node), NOTHING, version)


def aged(*entries: tuple[Descriptor, int]) -> Aged:
    return [e for e, _ in entries], [age for _, age in entries]


@pytest.mark.parametrize(
    ("neighbors", "sample", "expected"),
    [
        ([], [], []),
        ([(entry(1), 70)], [(entry(3), 9)], [(entry(1), 70), (entry(3), 9)]),
        ([(entry(2), 70)], [(entry(2, version=7), 9)], [(entry(2), 70)]),
        ([], [(entry(3), AGE_MAX), (entry(4), AGE_MAX + 1)], [(entry(3), AGE_MAX)]),
        ([(entry(4), AGE_MAX + 1)], [], [(entry(4), AGE_MAX + 1)]),
    ],
    ids=["alone", "both", "known as a neighbour", "old sample", "old neighbour"],
)
def test_the_buffer_is_the_node_its_neighbours_and_the_sample(
    neighbors: list[tuple[Descriptor, int]],
    sample: list[tuple[Descriptor, int]],
    expected: list[tuple[Descriptor, int]],
) -> None:
    entries, ages = tman.buffer(entry(ME), aged(*neighbors), aged(*sample), AGE_MAX)
    assert list(zip(entries, ages, strict=True)) == [(entry(ME), 0), *expected]


def freshest(*entries: tuple[Descriptor, int]) -> list[tuple[Descriptor, int]]:
    """Return what is kept where every entry is wanted."""
    told, ages = aged(*entries)
    return tman.freshest(ME, told, ages, told, AGE_MAX)


def test_old_entries_and_the_node_itself_are_no_candidates() -> None:
    found = freshest((entry(1), 0), (entry(ME), 0), (entry(2), AGE_MAX + 1), (entry(4), AGE_MAX))
    assert [e.node for e, _ in found] == [1, 4]


def test_the_newest_word_of_a_node_counts() -> None:
    found = freshest(
        (entry(1, version=2), 0), (entry(2, version=3), 50), (entry(3, version=1), 9),
        (entry(1, version=3), 50), (entry(2, version=3), 10), (entry(3, version=1), 60),
    )  # fmt: skip
    assert [(int(e.node), e.version, age) for e, age in found] == [
        (1, 3, 50),
        (2, 3, 10),
        (3, 1, 9),
    ]


def test_only_what_is_wanted_is_kept() -> None:
    told = [entry(1, version=1), entry(1, version=2), entry(6)]
    assert tman.freshest(ME, told, [0, 0, 0], [], AGE_MAX) == []
    assert tman.freshest(ME, told, [8, 0, 9], [told[0], told[2]], AGE_MAX) == [
        (entry(1, version=1), 8),
        (entry(6), 9),
    ]


def test_an_entry_without_an_age_is_overlooked() -> None:
    told = [entry(1), entry(2)]
    assert tman.freshest(ME, told, [4], told, AGE_MAX) == [(entry(1), 4)]
