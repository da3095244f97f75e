from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.bitplanes import (
    at_count,
    bits_of,
    count_planes,
    covered_at_least,
    highest,
    nth_bit,
)

POSITIONS = 70  # more than a machine word
positions = st.sets(st.integers(0, POSITIONS - 1))
families = st.lists(positions, max_size=20)


def mask_of(members):
    return sum(1 << m for m in members)


def naive_counts(family):
    return [sum(p in members for members in family) for p in range(POSITIONS)]


@settings(deadline=None)
@given(positions)
def test_bits_of_lists_a_set_in_order(members):
    assert list(bits_of(mask_of(members))) == sorted(members)


@settings(deadline=None)
@given(families)
def test_planes_hold_the_bits_of_each_count(family):
    planes = count_planes(map(mask_of, family))
    counts = [
        sum((plane >> p & 1) << i for i, plane in enumerate(planes)) for p in range(POSITIONS)
    ]
    assert counts == naive_counts(family)


@settings(deadline=None)
@given(families)
def test_there_are_no_more_planes_than_the_largest_count_needs(family):
    planes = count_planes(map(mask_of, family))
    assert len(planes) == max(naive_counts(family)).bit_length()


@settings(deadline=None)
@given(families, positions)
def test_highest_is_the_naive_argmax(family, among):
    counts = naive_counts(family)
    best = max((counts[p] for p in among), default=0)
    found = highest(count_planes(map(mask_of, family)), mask_of(among))
    assert found == (best, mask_of(p for p in among if counts[p] == best))


@settings(deadline=None)
@given(families, positions, st.integers(0, 40))
def test_at_count_finds_exactly_the_positions_with_that_count(family, among, count):
    counts = naive_counts(family)
    found = at_count(count_planes(map(mask_of, family)), count, mask_of(among))
    assert found == mask_of(p for p in among if counts[p] == count)


@settings(deadline=None)
@given(st.sets(st.integers(0, 2000), min_size=1))
def test_nth_bit_counts_the_bits_that_are_on(members):
    mask = mask_of(members)
    assert [nth_bit(mask, n) for n in range(len(members))] == sorted(members)


@settings(deadline=None)
@given(families, st.integers(0, 8))
def test_covered_at_least_is_the_naive_threshold(family, k):
    counts = naive_counts(family)
    levels = covered_at_least(map(mask_of, family), k)
    assert levels == [mask_of(p for p in range(POSITIONS) if counts[p] > i) for i in range(k)]
