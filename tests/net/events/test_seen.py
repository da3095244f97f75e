import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.errors import ProtocolError
from orbweaver.gossip.streams import GAPS_MAX
from orbweaver.net.events.seen import SEQ_MAX, Seen, has, has_all


@settings(deadline=None)
@given(st.lists(st.integers(0, 40)))
def test_it_remembers_like_a_set(seqs):
    seen, known = Seen(), set()
    for seq in seqs:
        assert seen.settle(seq) == (seq not in known)
        known.add(seq)
        assert {s for s in range(50) if has(seen.edges, s)} == known
        assert len(seen.edges) % 2 == 1
        assert list(seen.edges) == sorted(set(seen.edges))


@given(st.lists(st.integers(0, 30)), st.integers(0, 40), st.integers(1, 12))
def test_numbers_that_follow_each_other_are_looked_up_together(seqs, first, count):
    seen = Seen()
    for seq in seqs:
        seen.settle(seq)
    each = [has(seen.edges, seq) for seq in range(first, first + count)]
    assert has_all(seen.edges, first, count) == all(each)


@settings(deadline=None)
@given(st.permutations(range(20)))
def test_a_complete_stream_is_one_number(order):
    seen = Seen()
    for seq in order:
        seen.settle(seq)
    assert list(seen.edges) == [20]


def test_who_comes_late_remembers_where_it_began_and_where_it_is():
    seen = Seen()
    for seq in range(1000, 5000):
        seen.settle(seq)
    assert list(seen.edges) == [0, 1000, 5000]


def test_with_too_many_gaps_the_oldest_count_as_seen():
    seen = Seen()
    for seq in range(1, 4000, 2):
        seen.settle(seq)
    assert len(seen.edges) == 2 * GAPS_MAX + 1
    gaps = [seq for seq in range(4000) if not has(seen.edges, seq)]
    assert gaps == list(range(4000 - 2 * GAPS_MAX, 4000, 2))
    assert not seen.settle(0)


def test_negative_numbers_are_no_news():
    assert not Seen().settle(-1)


def test_no_number_is_too_large_for_where_it_is_kept():
    seen = Seen()
    for seq in (SEQ_MAX, 1 << 63, 1 << 64):
        with pytest.raises(ProtocolError):
            seen.settle(seq)
    assert list(seen.edges) == [0]
    assert seen.settle(SEQ_MAX - 1)
    assert seen.settle(SEQ_MAX)  # by counting, which nobody lives to see go further
