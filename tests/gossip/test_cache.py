"""What a node keeps for peers that ask."""

import pytest

from orbweaver.core.messages import Event
from orbweaver.gossip.cache import EventCache, Held


def put(cache, entry):
    cache.put(entry, entry.event.stream)


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


def test_a_run_is_one_entry_that_is_found_by_each_of_its_numbers():
    cache = EventCache(size=3)
    stream = (7, 0, "t")
    put(cache, held(publisher=7, seq=0))
    put(cache, Held(Event("t", 7, 0, 1, b"1"), 1, 0, 100, (b"2", b"3", b"4")))
    put(cache, held(publisher=7, seq=6))
    found = [cache.get(stream, seq) for seq in range(1, 5)]
    assert len({id(entry) for entry in found}) == 1
    assert [found[0].part(seq, 1)[0].payload for seq in range(1, 5)] == [b"1", b"2", b"3", b"4"]
    assert cache.get(stream, 5) is None
    assert cache.newest("t")[stream].last_seq == 6


def test_limits_count_the_events_of_runs(monkeypatch):
    monkeypatch.setattr(EventCache, "EVENTS_MAX", 20)
    cache = EventCache(size=64)
    for number in range(0, 100, 5):
        put(cache, Held(Event("t", 7, 0, number, b"x"), 1, 0, 100, (b"y",) * 4))
        assert cache._events == 5 * len(cache._held["t"].order) <= 20
    assert [cache.get((7, 0, "t"), seq) is None for seq in (79, 80)] == [True, False]
    cache.drop_topic("t")
    assert (cache._events, cache._bytes, cache._starts) == (0, 0, {})
