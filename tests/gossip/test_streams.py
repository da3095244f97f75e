from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.gossip.streams import GAPS_MAX, Stream

seqs = st.lists(st.integers(0, 40))


def stream_of(settled):
    stream = Stream()
    for seq in settled:
        stream.settle(seq)
    return stream


@settings(deadline=None)
@given(seqs)
def test_a_stream_remembers_like_a_set(settled):
    stream = stream_of(settled)
    assert {seq for seq in range(50) if stream.seen(seq)} == set(settled)
    assert stream.next_seq == min(set(range(50)) - set(settled))
    assert stream.highest() == max(settled, default=-1)
    edges = list(stream.ahead)
    assert edges == sorted(set(edges))
    assert all(edge > stream.next_seq for edge in edges)


@settings(deadline=None)
@given(st.permutations(range(20)))
def test_a_complete_stream_takes_no_space(order):
    stream = stream_of(order)
    assert (stream.next_seq, len(stream.ahead)) == (20, 0)


@settings(deadline=None)
@given(seqs, st.integers(-5, 60), st.integers(1, 50))
def test_a_number_that_may_be_made_up_settles_nothing(settled, upto, window):
    stream = stream_of(settled)
    first = max(0, upto - window + 1)
    missing = [seq for seq in range(first, upto + 1) if seq not in settled]
    assert stream.gaps_up_to(upto, window) == missing
    assert {seq for seq in range(50) if stream.seen(seq)} == set(settled)


@settings(deadline=None)
@given(seqs, st.integers(-5, 60), seqs)
def test_what_is_given_up_counts_as_seen(settled, below, later):
    stream = stream_of(settled)
    stream.give_up_below(below)
    for seq in later:
        stream.settle(seq)
    assert {s for s in range(70) if stream.seen(s)} == {*settled, *later, *range(below)}


def test_a_gap_costs_the_same_however_long_ago_it_was():
    stream = stream_of(range(100_000, 200_000))
    assert (stream.next_seq, list(stream.ahead)) == (0, [100_000, 200_000])


def test_a_stream_full_of_gaps_stays_small():
    stream = stream_of(range(1, 100_000, 2))
    assert len(stream.ahead) == 2 * GAPS_MAX
    assert stream.seen(99_999)
    assert not stream.seen(99_998), "the newest gaps are those that may still be filled"
    assert stream.seen(2), "the oldest are given up"


def test_what_is_late_among_many_is_still_new():
    """Half of 2000 events come after the other half."""
    stream = stream_of(range(1, 2000, 2))
    late = [seq for seq in range(0, 2000, 2) if not stream.seen(seq)]
    assert late == list(range(0, 2000, 2))
    for seq in late:
        stream.settle(seq)
    assert stream.next_seq == 2000
    assert not stream.skipped


def test_a_peer_cannot_keep_us_busy_by_naming_a_huge_number():
    stream = Stream()
    assert stream.gaps_up_to(10**12, 2) == [10**12 - 1, 10**12]
    stream.skip_below(10**12)
    assert stream.gaps_up_to(10**12, 2) == [10**12]
    assert not stream.seen(10**12 - 1)


@settings(deadline=None)
@given(seqs, st.lists(st.integers(-5, 60)), seqs)
def test_what_is_skipped_is_not_looked_for_but_has_not_been_seen(settled, skips, later):
    stream = stream_of(settled)
    reached = 0
    for below in skips:
        stream.skip_below(below)
        reached = max(reached, below)
        gaps = [seq for seq in range(reached, 71) if seq not in settled]
        assert stream.gaps_up_to(70, 200) == gaps
    for seq in later:
        stream.settle(seq)
    assert {s for s in range(70) if stream.seen(s)} == {*settled, *later}
    edges = list(stream.skipped)
    assert edges == sorted(set(edges))
    assert all(edge <= stream.next_seq for edge in edges)


def test_skipping_every_second_number_stays_small():
    stream = Stream()
    for seq in range(1, 10_000, 2):
        stream.settle(seq)
        stream.skip_below(seq)
    assert len(stream.skipped) == 2 * GAPS_MAX
    assert stream.seen(0), "the oldest are given up"
    assert not stream.seen(9_998)
    for seq in range(0, 10_000, 2):
        stream.settle(seq)
    assert (stream.next_seq, len(stream.skipped)) == (10_000, 0)


def test_filling_a_long_gap_from_the_middle_stays_small():
    stream = Stream()
    stream.settle(10_000)
    stream.skip_below(10_000)
    for seq in range(1, 10_000, 2):
        stream.settle(seq)
    assert len(stream.skipped) <= 2 * GAPS_MAX
    assert not stream.seen(9_998)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=20))
def test_a_run_of_numbers_is_marked_as_they_would_be_one_by_one(runs):
    together, apart = Stream(), Stream()
    for seq, count in runs:
        together.settle_run(seq, count)
        for number in range(seq, seq + count):
            apart.settle(number)
        assert [together.seen(n) for n in range(80)] == [apart.seen(n) for n in range(80)]
        assert (together.next_seq, list(together.ahead)) == (apart.next_seq, list(apart.ahead))
        if together.seen_all(seq, 2):
            assert all(map(together.seen, (seq, seq + 1)))
