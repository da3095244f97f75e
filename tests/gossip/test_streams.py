import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.messages import Event
from orbweaver.gossip.streams import EventCache, Held, Stream

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
    assert all(seq > stream.next_seq for seq in stream.ahead)


@settings(deadline=None)
@given(st.permutations(range(20)))
def test_a_complete_stream_takes_no_space(order):
    stream = stream_of(order)
    assert (stream.next_seq, stream.ahead) == (20, set())


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
    cache.put(entry, entry.event.stream)


def held(topic="t", publisher=1, seq=0, epoch=0):
    return Held(Event(topic, publisher, epoch, seq), hops=2, age_ms=30, since=100)


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
