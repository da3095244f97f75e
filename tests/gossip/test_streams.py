import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.messages import Event
from orbweaver.gossip.cache import EventCache, Held
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
@given(seqs, st.integers(-1, 45), st.integers(1, 50))
def test_missing_is_what_is_not_settled_within_the_window(settled, upto, window):
    stream = stream_of(settled)
    missing = stream.missing_up_to(upto, window)
    assert missing == [
        seq for seq in range(max(0, upto - window + 1), upto + 1) if seq not in settled
    ]
    # What is before the window has been given up, and is not asked for again.
    assert all(stream.seen(seq) for seq in range(upto - window + 1))
    assert stream.missing_up_to(upto, 1000) == missing


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


class Patient(Stream):
    """Loses its patience when it has to settle too many numbers one by one."""

    __slots__ = ("calls",)

    def __init__(self):
        super().__init__()
        self.calls = 0

    def settle(self, seq):
        self.calls += 1
        assert self.calls < 1000, "work grows with the sequence number"
        super().settle(seq)


def test_a_peer_cannot_keep_us_busy_by_naming_a_huge_number():
    assert Patient().missing_up_to(10**12, 2) == [10**12 - 1, 10**12]


def put(cache, entry):
    cache.put([entry], entry.event.stream)


def held(topic="t", publisher=1, seq=0, epoch=0):
    return Held(Event(topic, publisher, epoch, seq), hops=2, age_ms=30, since=100)


def test_all_topics_together_are_bounded_and_give_way_in_turn(monkeypatch):
    monkeypatch.setattr(EventCache, "EVENTS_MAX", 10)
    cache = EventCache(size=4)
    for seq in range(4):
        put(cache, held("honest", seq=seq))
    for number in range(100):
        put(cache, held(f"spam {number}"))
        put(cache, held("honest", seq=4 + number))
        kept = [h for topic in cache.topics() for h in cache._held[topic].values()]
        assert cache._events == len(kept) <= 10
    assert cache.get((1, 0, "honest"), 103), "many topics do not push out another's newest"


def test_payload_is_bounded_too(monkeypatch):
    monkeypatch.setattr(EventCache, "BYTES_MAX", 1000)
    cache = EventCache(size=64)
    for number in range(50):
        put(cache, Held(Event(f"t{number % 7}", 1, 0, number, bytes(100)), 1, 0, 0))
        assert cache._bytes <= 1000
    for number in range(7):
        cache.drop_topic(f"t{number}")
    assert (cache._bytes, cache._events) == (0, 0)


def test_the_same_event_twice_counts_once():
    cache = EventCache(size=3)
    for _ in range(5):
        put(cache, held("t"))
    assert cache._events == 1


def test_an_event_grows_older_while_it_is_held():
    assert [held().age_at(now) for now in (100, 101, 250)] == [30, 31, 180]


def test_a_cache_has_the_last_events_of_each_topic():
    cache = EventCache(size=3)
    for seq in range(5):
        put(cache, held("t", seq=seq))
    put(cache, held("u", seq=0))
    kept = [seq for seq in range(5) if cache.get((1, 0, "t"), seq)]
    assert kept == [2, 3, 4]
    assert cache.get((1, 0, "u"), 0).event.topic == "u"
    assert cache.topics() == ["t", "u"]


@pytest.mark.parametrize("stream", [(2, 0, "t"), (1, 9, "t"), (1, 0, "u"), (1, 0, "none")])
def test_events_of_other_publishers_epochs_and_topics_are_others(stream):
    cache = EventCache(size=3)
    put(cache, held("t", publisher=1, epoch=0))
    put(cache, held("u", publisher=2, epoch=0))
    assert cache.get(stream, 0) is None


def test_newest_is_the_highest_number_of_each_stream_in_whatever_order_they_came():
    cache = EventCache(size=9)
    for publisher, seq in [(1, 0), (1, 2), (1, 1), (2, 7), (2, 5)]:
        put(cache, held("t", publisher, seq))
    newest = cache.newest("t")
    assert {stream: h.event.seq for stream, h in newest.items()} == {
        (1, 0, "t"): 2,
        (2, 0, "t"): 7,
    }
    assert cache.newest("u") == {}


def test_a_dropped_topic_is_gone():
    cache = EventCache(size=3)
    put(cache, held("t"))
    cache.drop_topic("t")
    cache.drop_topic("u")
    assert (cache.topics(), cache.get((1, 0, "t"), 0)) == ([], None)


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
