from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.errors import ProtocolError
from orbweaver.core.messages import Event, Seal
from orbweaver.net.events.shares import cuts
from orbweaver.net.events.window import EVENT_COST, SEAL_COST, EventLog
from orbweaver.net.wire.seals import BatchSeal

EVERYTHING = 1 << 60


def event(seq, topic="t", publisher=1, epoch=0, payload=b"", seal=None):
    return Event(topic, publisher, epoch, seq, payload, seal)


def filled(*events, **limits):
    log = EventLog(**limits)
    for each in events:
        assert log.put(each, 0, 0)
    return log


def kept(log, topic="t", now=0, age_ms_max=EVERYTHING, positions=None, limit=EVERYTHING):
    return [
        (e.publisher, e.seq)
        for e, _ in log.missing_of(topic, positions or {}, age_ms_max, limit, now)
    ]


# -- seen once


def test_a_stream_flows_while_events_come_by_themselves():
    log = EventLog()
    log.put(event(0, publisher=1), 0, 100)
    log.put(event(0, publisher=2), 0, 100)
    log.put(event(1, publisher=1), 0, 300, None, (), True)  # out of a window
    log.put(event(1, publisher=2), 0, 300)
    assert log.flowing("t", 200) == {(2, 0, "t")}
    assert log.flowing("t", 100) == {(1, 0, "t"), (2, 0, "t")}
    assert not log.flowing("other", 0)


def test_an_event_is_new_once():
    log = EventLog()
    assert not log.seen(event(0))
    assert log.put(event(0), 0, 0)
    assert log.seen(event(0))
    assert not log.put(event(0), 0, 1)
    assert log.sizes()["events"] == 1


@pytest.mark.parametrize("other", [{"topic": "u"}, {"publisher": 2}, {"epoch": 1}, {"seq": 1}])
def test_events_that_differ_in_any_part_of_their_name_are_different(other):
    log = filled(event(0))
    another = event(**{"seq": 0, **other})
    assert not log.seen(another)
    assert log.put(another, 0, 0)


def test_an_event_that_has_left_the_window_is_still_known():
    log = filled(event(0), event(1), events_max=1)
    assert kept(log) == [(1, 1)]
    assert not log.put(event(0), 0, 0)


def test_an_event_too_old_to_keep_is_known_too():
    log = EventLog(age_ms_max=100)
    assert log.put(event(0), 101, 0)
    assert log.put(event(1), 100, 0)
    assert kept(log) == [(1, 1)]
    assert not log.put(event(0), 0, 0)


def test_what_was_seen_of_a_dropped_topic_is_still_known():
    log = filled(event(0), event(0, "u"))
    log.drop_topic("t")
    log.drop_topic("unheard of")
    assert (kept(log), kept(log, "u")) == ([], [(1, 0)])
    assert not log.put(event(0), 0, 0)
    assert log.put(event(1), 0, 0)
    assert kept(log) == [(1, 1)]


@pytest.mark.parametrize(
    "impossible",
    [
        {"seq": 1 << 62},
        {"seq": -1},
        {"epoch": 1 << 63},
        {"publisher": 1 << 63},
        {"epoch": -1 << 64},
    ],
)
def test_numbers_that_cannot_be_leave_no_trace(impossible):
    log = EventLog()
    with pytest.raises(ProtocolError):
        log.put(event(**{"seq": 0, **impossible}), 0, 0)
    assert log.sizes() == {"events": 0, "bytes": 0, "streams": 0, "topics": 0}


# -- runs


def put_run(log, first, count, now=0, size=0, **fields):
    payloads = tuple(b"%d" % seq + bytes(size) for seq in range(first, first + count))
    return log.put(event(first, payload=payloads[0], **fields), 0, now, None, payloads[1:])


def test_a_run_that_goes_on_is_one_entry_of_many_events():
    log = EventLog()
    assert put_run(log, 0, 5)
    assert put_run(log, 5, 10)
    assert len(log._order) == 2
    assert log.sizes() | {"bytes": 0} == {"events": 15, "bytes": 0, "streams": 1, "topics": 1}
    assert kept(log) == [(1, seq) for seq in range(15)]
    assert [e.payload for e, _ in log.missing_of("t", {}, 1, EVERYTHING, 0)] == [
        b"%d" % seq for seq in range(15)
    ]
    assert list(log.kept("t", 0, 1, 0)) == [((1, 0, "t"), seq) for seq in range(15)]
    assert not log.put(event(7), 0, 0)


@pytest.mark.parametrize("first", [0, 3, 4])
def test_a_run_that_does_not_go_on_changes_nothing(first):
    log = filled(*(event(seq) for seq in range(5)))
    assert not put_run(log, first, 5)
    assert log.positions("t") == {(1, 0, "t"): (5,)}
    assert log.sizes()["events"] == 5


def test_a_run_may_come_after_a_gap():
    log = filled(*(event(seq) for seq in range(5)))
    assert put_run(log, 8, 5)
    assert put_run(log, 20, 2)
    assert log.positions("t") == {(1, 0, "t"): (5, 8, 13, 20, 22)}
    assert not put_run(log, 6, 3)
    assert log.put(event(6), 0, 0)
    assert [seq for _, seq in kept(log)] == [0, 1, 2, 3, 4, 6, *range(8, 13), 20, 21]


def test_a_neighbour_is_given_the_part_of_a_run_that_it_lacks():
    log = EventLog()
    put_run(log, 0, 10)
    assert kept(log, positions={(1, 0, "t"): (4, 6, 8)}) == [(1, 4), (1, 5), (1, 8), (1, 9)]
    assert kept(log, limit=3 * (EVENT_COST + 1)) == [(1, 0), (1, 1), (1, 2)]


@pytest.mark.parametrize("events_max", [10, 100, 1000])
def test_the_limit_on_events_counts_those_of_runs(events_max):
    log = EventLog(events_max=events_max)
    for first in range(0, 3000, 30):
        assert put_run(log, first, 30)
        assert log.sizes()["events"] <= events_max
        assert log._windows["t"].held == {(None, 1): log.sizes()["events"]}
    assert kept(log)[-1] == (1, 2999)
    entry = 30 if events_max == 1000 else 1
    assert log.sizes()["events"] >= events_max - events_max // 64 - entry


def test_the_limit_on_bytes_counts_all_payloads_of_runs():
    log = EventLog(bytes_max=100_000)
    for first in range(0, 300, 3):
        assert put_run(log, first, 3, size=1000)
        assert sum(log._held.values()) == log.sizes()["bytes"] <= 100_000
    assert log.sizes()["bytes"] > 90_000
    assert kept(log)[-1] == (1, 299)
    log.drop_topic("t")
    assert log.sizes() == {"events": 0, "bytes": 0, "streams": 1, "topics": 0}


# -- limits


def test_each_topic_has_room_for_so_many_events():
    log = filled(*(event(seq, topic) for topic in "tu" for seq in range(5)), events_max=3)
    assert kept(log, "t") == kept(log, "u") == [(1, 2), (1, 3), (1, 4)]
    size = 6 * EVENT_COST
    assert log.sizes() == {"events": 6, "bytes": size, "streams": 2, "topics": 2}


def test_a_log_may_keep_nothing():
    log = filled(event(0), event(1), events_max=0)
    assert log.sizes() == {"events": 0, "bytes": 0, "streams": 1, "topics": 0}


def test_bytes_are_limited_over_all_topics_and_the_oldest_go_first():
    big = b"x" * 1000
    limit = 3 * (1000 + EVENT_COST)
    log = filled(
        event(0, "t", payload=big),
        event(0, "u", payload=big),
        event(1, "t", payload=big),
        event(1, "u", payload=big),
        bytes_max=limit,
    )
    assert log.sizes()["bytes"] == limit
    assert (kept(log, "t"), kept(log, "u")) == ([(1, 1)], [(1, 0), (1, 1)])


def test_what_left_its_topic_earlier_does_not_make_others_leave():
    log = filled(
        event(0, "t"),
        event(0, "u"),
        event(1, "t"),
        event(2, "t"),
        events_max=2,
        bytes_max=EVENT_COST * 3,
    )
    log.put(event(0, "v"), 0, 0)
    assert [kept(log, topic) for topic in "tuv"] == [[(1, 1), (1, 2)], [], [(1, 0)]]


def test_a_seal_is_counted_once_however_many_streams_are_under_it():
    first, second = Seal(b"first"), Seal(b"second")
    log = EventLog(seal_to_bytes=lambda seal: b"x" * 100)
    for seq, seal in enumerate([first, first, Seal(b"first"), second, None]):
        log.put(event(seq, "tu"[seq % 2], seal=seal, epoch=seq), 0, 0)
    assert log.sizes()["bytes"] == 5 * EVENT_COST + 2 * 100 * SEAL_COST
    log.drop_topic("u")
    assert log.sizes()["bytes"] == 3 * EVENT_COST + 100 * SEAL_COST
    log.drop_topic("t")
    assert log.sizes()["bytes"] == 0
    assert log._sealed == {}


def test_what_is_too_old_goes_with_what_comes():
    log = EventLog(age_ms_max=1000)
    log.put(event(0), 0, 0)
    log.put(event(1), 400, 500)
    log.put(event(0, "u"), 0, 1200)
    # The first is too old; the second is as well, but is found only behind the first.
    assert log.sizes()["events"] == 1
    assert log.sizes()["topics"] == 1


def test_ages_are_from_publication():
    log = EventLog(age_ms_max=1000)
    log.put(event(0), 300, 5000)
    log.put(event(1), -70, 5000)  # no honest neighbour says so
    assert [age for _, age in log.missing_of("t", {}, 1000, EVERYTHING, 5600)] == [900, 600]
    assert kept(log, now=5700) == [(1, 0), (1, 1)]
    assert kept(log, now=5701) == [(1, 1)]


def test_an_idle_log_can_be_told_to_let_go():
    log = filled(*(event(seq, f"t{seq % 7}") for seq in range(500)), age_ms_max=1000)
    log.expire(1000)
    assert log.sizes()["events"] == 500
    log.expire(1001)
    assert log.sizes() == {"events": 0, "bytes": 0, "streams": 7, "topics": 0}


def test_a_busy_topic_leaves_nothing_behind_a_quiet_one():
    log = filled(event(0, "quiet"), *(event(seq) for seq in range(20_000)), events_max=10)
    assert log.sizes()["events"] == 11
    assert len(log._order) < 2000


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("tuv"),
            st.integers(1, 3),
            st.integers(0, 30),
            st.integers(0, 120),
            st.integers(0, 40),
        ),
        max_size=60,
    )
)
def test_it_keeps_what_a_simple_log_would_keep(arrivals):
    """5 of each topic, the publishers with most of them giving way; of these the younger ones."""
    log = EventLog(5, age_ms_max=100, forget_ms=EVERYTHING)
    now, names, model = 0, set(), []
    for topic, publisher, seq, age, pause in arrivals:
        now += pause
        new = (topic, publisher, seq) not in names
        names.add((topic, publisher, seq))
        assert log.put(event(seq, topic, publisher), age, now) == new
        if new and age <= 100:
            model.append((topic, publisher, seq, now - age))
            own = [m for m in model if m[0] == topic]
            if len(own) > 5:
                counts = Counter(m[1] for m in own)
                most = max(counts.values())
                model.remove(next(m for m in own if counts[m[1]] == most))
        model = [m for m in model if m[3] >= now - 100]
        # What is too old may have left, or may be waiting to; nobody is given it.
        for each in "tuv":
            young = {m[1:3] for m in model if m[0] == each and m[3] >= now - 100}
            assert set(kept(log, each, now)) >= young
            assert len(kept(log, each, now)) <= 5
        assert log.sizes()["bytes"] == EVENT_COST * log.sizes()["events"]


# -- shares


@pytest.mark.parametrize("many", ["keys", "topics", "epochs"])
def test_one_peer_cannot_push_out_what_others_brought(many):
    log = EventLog(bytes_max=100 * EVENT_COST)
    for seq in range(40):
        log.put(event(seq, "news", 1), 0, 0, source=10)
    for n in range(2000):
        of = {"keys": (100 + n, "x", 0), "topics": (100, f"x{n}", 0), "epochs": (100, "x", n)}
        publisher, topic, epoch = of[many]
        log.put(event(0, topic, publisher, epoch), 0, 1, source=66)
        assert log.sizes()["bytes"] <= 100 * EVENT_COST
    assert kept(log, "news") == [(1, seq) for seq in range(40)]
    assert log._held[10, 1] == 40 * EVENT_COST


def test_one_peer_cannot_push_others_out_of_a_topic():
    log = EventLog(events_max=100)
    for seq in range(40):
        log.put(event(seq, publisher=1), 0, 0, source=10)
    for n in range(2000):
        log.put(event(0, publisher=100 + n), 0, 1, source=66)
    assert kept(log)[:40] == [(1, seq) for seq in range(40)]
    assert 95 <= log.sizes()["events"] <= 100


def test_one_publisher_cannot_push_out_others_that_come_by_the_same_peer():
    log = EventLog(bytes_max=100 * EVENT_COST)
    for seq in range(20):
        log.put(event(seq, "news", 1), 0, 0, source=10)
    for seq in range(500):
        log.put(event(seq, "x", 2), 0, 1, source=10)
    assert len(kept(log, "news")) == 20
    assert kept(log, "x")[-1] == (2, 499)


def test_an_otherwise_empty_window_may_be_filled_by_one():
    log = EventLog(bytes_max=100 * EVENT_COST)
    for seq in range(100):
        log.put(event(seq), 0, 0, source=10)
    assert log.sizes()["events"] == 100
    # Somebody else comes: who has all makes room, until both have half.
    for seq in range(100):
        log.put(event(seq, "u", 2), 0, 1, source=11)
    held = [len(kept(log, topic)) for topic in "tu"]
    assert 48 <= min(held) <= max(held) <= 51


def test_seals_without_events_are_paid_for_too():
    """The payer's own event may be gone while those of others keep its seal."""
    log = EventLog(bytes_max=10_000, seal_to_bytes=lambda seal: bytes(500))
    for n in range(200):
        seal = Seal(b"%d" % (n // 2))
        log.put(event(n, "t", 1, seal=seal), 0, n, source=10 + n % 2)
        assert log.sizes()["bytes"] <= 10_000
        assert sum(log._held.values()) == log.sizes()["bytes"]
    log.drop_topic("t")
    assert (log._held, log._sealed) == ({}, {})


amounts = st.dictionaries(
    st.tuples(st.integers(0, 3), st.integers(0, 5)), st.integers(1, 50), min_size=1
)


@given(amounts, st.integers(1, 200))
def test_only_those_above_an_equal_share_are_cut(held, excess):
    give = cuts(held, excess)
    assert sum(give.values()) >= min(excess, sum(held.values()))
    assert all(0 < cut <= held[holder] for holder, cut in give.items())
    peers = Counter()
    for (peer, _), amount in held.items():
        peers[peer] += amount
    left = sum(held.values()) - excess
    for peer, publisher in give:
        assert peers[peer] * len(peers) >= left
        own = [amount for (of, _), amount in held.items() if of == peer]
        assert held[peer, publisher] == max(own) or held[peer, publisher] * len(own) >= sum(
            own
        ) - sum(cut for (of, _), cut in give.items() if of == peer)


# -- streams


def test_a_silent_stream_is_forgotten_after_twice_the_age():
    log = EventLog(age_ms_max=1000)
    log.put(event(0), 0, 0)
    log.put(event(0, publisher=2), 0, 2000)
    assert log.seen(event(0))
    log.put(event(1, publisher=2), 0, 4001)
    assert log.sizes()["streams"] == 1
    assert not log.seen(event(0))
    assert log.positions("t") == {(2, 0, "t"): (2,)}


def test_repeats_do_not_keep_a_stream_known():
    log = EventLog(age_ms_max=1000)
    log.put(event(0), 0, 0)
    log.put(event(0), 0, 1900)
    log.expire(2001)
    assert log.sizes() == {"events": 0, "bytes": 0, "streams": 0, "topics": 0}
    assert log._windows == {}


def test_how_long_streams_are_known_can_be_set():
    log = EventLog(age_ms_max=1000, forget_ms=9000)
    log.put(event(0), 0, 0)
    log.expire(9000)
    assert log.seen(event(0))
    log.expire(9001)
    assert not log.seen(event(0))


def test_a_stream_is_forgotten_when_its_last_seal_is_too_old_to_be_let_in():
    log = EventLog(age_ms_max=1000, forget_ms=9000, sealed_ms_max=4000)
    events = [
        event(0, publisher=1, seal=sealed(100_000, 1)),
        event(0, publisher=2, seal=sealed(102_000, 2)),  # its clock is ahead of ours
        event(0, publisher=3),  # without a seal, nobody knows for how long it can be brought
    ]
    for each in events:
        log.put(each, 0, 100_000)
    forgotten = []
    for now in (104_000, 104_001, 106_000, 106_001, 109_000, 109_001):
        log.expire(now)
        forgotten.append([e.publisher for e in events if not log.seen(e)])
    assert forgotten == [[], [1], [1], [1, 2], [1, 2], [1, 2, 3]]


def test_no_event_in_anybodys_window_is_taken_for_new_again():
    """A holds an event for as long as it may; B has seen it at once, and nothing since."""
    a, b = EventLog(age_ms_max=1000), EventLog(age_ms_max=1000)
    a.put(event(0), 0, 0)
    b.put(event(0), 0, 0)
    for now in range(0, 4000, 50):
        a.expire(now)
        b.expire(now)
        assert not [e for e, age in a.missing_of("t", {}, 1000, 99, now) if b.put(e, age, now)]


def test_strangers_cannot_make_it_remember_more_than_so_many_streams():
    log = EventLog(streams_max=10)
    for publisher in range(50):
        log.put(event(0, f"t{publisher}", publisher), 0, publisher)
        log.put(event(publisher, "own", 99), 0, publisher)
    assert log.sizes()["streams"] == 10
    # The one that goes on is not the one to forget.
    assert log.positions("own") == {(99, 0, "own"): (50,)}
    assert log.positions("t0") == {}
    assert log.sizes()["topics"] == 51  # events are kept by limits of their own
    log.expire(10**6)
    assert log._windows == {}


def sealed(time_ms, publisher):
    seal = BatchSeal(b"%d" % time_ms, bytes(32), time_ms, b"")
    seal.publisher = publisher
    return seal


def test_the_streams_of_one_publisher_do_not_push_out_those_of_others():
    log = filled(event(0, publisher=2), streams_max=100, streams_of_publisher=10)
    for epoch in range(1000):
        assert log.put(event(0, epoch=epoch), 0, 1)
        assert log._of_publisher[1] <= 10
    assert not log.put(event(0, publisher=2), 0, 2)
    assert len(log._streams) <= 11


@pytest.mark.parametrize("publishers", [1, 40, 200])
def test_what_was_forgotten_early_is_not_new_again(publishers):
    """However many keys it takes to make the log forget, up to more than it knows by name."""
    log = EventLog(streams_max=50, streams_of_publisher=10)
    victims = [event(n, "news", 999, seal=sealed(1000 + n, 999)) for n in range(20)]
    assert all(log.put(each, 0, 1100) for each in victims)
    for n in range(1000):
        of = 1 + n % publishers
        assert log.put(event(0, "x", of, n, seal=sealed(2000 + n, of)), 0, 2000 + n)
    assert publishers == 1 or not log.seen(victims[0])
    assert not any(log.put(each, 0, 4000) for each in victims)
    # It goes on with what its publisher seals from now on.
    assert log.put(event(20, "news", 999, seal=sealed(5000, 999)), 0, 5000)
    assert log.put(event(21, "news", 999, seal=sealed(5000, 999)), 0, 5000)


def test_a_clock_that_is_ahead_shuts_out_nobody_else():
    log = EventLog(streams_max=5)
    for n in range(100):
        assert log.put(event(0, "x", n, seal=sealed(10**9, n)), 0, 1000)
    assert log.put(event(0, "news", 999, seal=sealed(1001, 999)), 0, 1001)


# -- for neighbours


def test_positions_tell_what_was_seen_of_each_stream():
    log = filled(event(0), event(1), event(4), event(0, publisher=2), event(0, "u"))
    assert log.positions("t") == {(1, 0, "t"): (2, 4, 5), (2, 0, "t"): (1,)}
    assert log.positions("unheard of") == {}


def test_only_what_the_other_lacks_is_sent():
    log = filled(*(event(seq) for seq in range(6)), event(0, publisher=2))
    have = {(1, 0, "t"): (2, 4, 5)}
    assert kept(log, positions=have) == [(1, 2), (1, 3), (1, 5), (2, 0)]
    assert kept(log, positions=log.positions("t")) == []
    assert kept(log, "unheard of") == []


@pytest.mark.parametrize(
    "odd", [(), (5, 1), (0, 0, 0), (-3,), (1 << 70,), tuple(range(100, 0, -1))]
)
def test_odd_positions_do_no_harm(odd):
    log = filled(*(event(seq) for seq in range(6)))
    assert len(kept(log, positions={(1, 0, "t"): odd, (1, 0, "u"): (0,)})) <= 6


def test_the_oldest_come_first_and_each_stream_in_its_order():
    log = EventLog()
    log.put(event(1, publisher=1), 300, 1000)
    log.put(event(0, publisher=1), 100, 1000)  # by a worse estimate it is the younger one
    log.put(event(7, publisher=2), 200, 1000)
    log.put(event(5, publisher=3), 400, 1000)
    assert kept(log, now=1000) == [(3, 5), (1, 0), (2, 7), (1, 1)]


def test_an_answer_is_bounded_in_age_and_bytes():
    log = EventLog()
    for seq in range(5):
        log.put(event(seq, payload=b"x" * 100), 0, 100 * seq)
    assert kept(log, now=400, age_ms_max=250) == [(1, 2), (1, 3), (1, 4)]
    assert kept(log, now=400, age_ms_max=-1) == []
    two = 2 * (100 + EVENT_COST)
    assert kept(log, now=400, limit=two) == [(1, 0), (1, 1)]
    assert kept(log, now=400, limit=two - 1) == [(1, 0)]
    assert kept(log, now=400, limit=0) == [(1, 0)]  # else a large event could never be had


def test_seals_count_in_an_answer_once_each():
    log = EventLog(seal_to_bytes=lambda seal: bytes(1000))
    for seq in range(8):
        log.put(event(seq, seal=Seal(b"%d" % (seq // 2))), 0, 0)
    assert len(kept(log, limit=2 * (1000 + 2 * EVENT_COST))) == 4


names = st.tuples(st.integers(1, 3), st.integers(0, 1), st.integers(0, 25))


@settings(deadline=None)
@given(st.lists(names, max_size=60), st.lists(names, max_size=60), st.integers(0, 6 * EVENT_COST))
def test_two_that_send_each_other_what_the_other_lacks_end_equal(left, right, limit):
    logs = EventLog(), EventLog()
    for log, each in zip(logs, (left, right), strict=True):
        for publisher, epoch, seq in each:
            log.put(event(seq, "t", publisher, epoch), 10, 100)
    a, b = logs
    for _ in range(200):
        to_b = a.missing_of("t", b.positions("t"), 1000, limit, 100)
        to_a = b.missing_of("t", a.positions("t"), 1000, limit, 100)
        # Nothing is sent in vain, and whoever lacks something is sent something.
        assert all(b.put(e, age, 100) for e, age in to_b)
        assert all(a.put(e, age, 100) for e, age in to_a)
        if not to_a and not to_b:
            break
    everything = {(p, e, s) for p, e, s in left + right}
    for log in logs:
        held = log.missing_of("t", {}, 1000, EVERYTHING, 100)
        assert {(e.publisher, e.epoch, e.seq) for e, _ in held} == everything
        assert all(age == 10 for _, age in held)
    assert a.positions("t") == b.positions("t")


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 2), st.integers(0, 40), st.integers(0, 50)), max_size=50))
def test_whatever_the_ages_say_each_stream_comes_in_order(arrivals):
    log = EventLog()
    for publisher, seq, age in arrivals:
        log.put(event(seq, publisher=publisher), age, 100)
    for publisher in (1, 2):
        seqs = [s for p, s in kept(log, now=100) if p == publisher]
        assert seqs == sorted({s for p, s, _ in arrivals if p == publisher})


# -- what only a durable log does


def test_a_log_in_memory_can_be_used_like_a_durable_one():
    log = filled(event(0))
    log.flush()
    log.remember_subscription("t", 5)
    log.forget_subscription("t")
    log.remember_peers([(1, b"card")])
    assert (log.subscriptions(), log.peers(), log.unwritten) == ({}, [], 0)
    log.close()
