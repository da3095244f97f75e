"""Sums over windows: equal where windows are equal, and different where they differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweaver.core.ids import NodeId
from orbweaver.net.events.digests import (
    FANOUT,
    PLACES,
    WHOLE,
    parts_of,
    place_of,
    sound,
    sums_of,
    which,
)

numbers = st.integers(-(1 << 63), (1 << 64) - 1)
events = st.lists(
    st.tuples(st.tuples(numbers, numbers, st.just("t")), st.integers(0, 1 << 62)), unique=True
)


@given(events, st.randoms(), numbers)
def test_sums_do_not_depend_on_the_order(left, chance, salt):
    right = list(left)
    chance.shuffle(right)
    assert sums_of(salt, [WHOLE], left) == sums_of(salt, [WHOLE], right)


@given(events.filter(bool), numbers, st.data())
def test_a_missing_event_shows_in_the_part_of_its_stream_and_nowhere_else(full, salt, data):
    missing = data.draw(st.sampled_from(full))
    rest = [event for event in full if event != missing]
    publisher, epoch, _ = missing[0]
    place = place_of(salt, publisher, epoch)
    [ours], [theirs] = sums_of(salt, [WHOLE], full), sums_of(salt, [WHOLE], rest)
    differing = [part for part, a, b in zip(parts_of(WHOLE), ours, theirs, strict=True) if a != b]
    assert [first <= place < end for first, end in differing] == [True]


@given(st.integers(0, PLACES - 1), st.integers(1, PLACES))
def test_parts_follow_each_other_and_fill_the_range(first, size):
    end = min(first + size, PLACES)
    parts = parts_of((first, end))
    assert len(parts) <= FANOUT
    assert [at for at, _ in parts] == [first, *(to for _, to in parts[:-1])]
    assert parts[-1][1] == end


def test_only_what_is_in_the_ranges_counts():
    streams = [(NodeId(n), 0, "t") for n in range(100)]
    half = [(0, PLACES // 2)]
    inside = [s for s in streams if place_of(7, s[0], 0) < PLACES // 2]
    assert 0 < len(inside) < 100
    both = sums_of(7, half, [(s, 0) for s in streams]), sums_of(7, half, [(s, 0) for s in inside])
    assert both[0] == both[1]


def test_another_salt_is_another_place():
    assert place_of(1, NodeId(5), 6) != place_of(2, NodeId(5), 6) != place_of(2, NodeId(6), 5)


def test_which_finds_the_range_of_a_place():
    ranges = [(2, 4), (4, 5), (8, 9)]
    assert [which(ranges, place) for place in range(10)] == [
        None, None, 0, 0, 1, None, None, None, 2, None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ranges", "kept"),
    [
        ([(0, 5), (5, 9)], [(0, 5), (5, 9)]),
        ([(0, 5), (4, 9)], [(0, 5)]),
        ([(5, 5), (9, 3), (-1, 4)], []),
        ([(0, PLACES + 1), (0, PLACES)], [(0, PLACES)]),
    ],
)
def test_ranges_of_a_peer_are_in_order_or_left_out(ranges, kept):
    assert sound(ranges) == kept
