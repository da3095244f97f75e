import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Carrier, Event
from orbweaver.gossip.plumtree.messages import PushRun
from orbweaver.net.events.ordering import Ordered

WAIT = 5000
FIRST = 500


def event(seq, publisher=1, epoch=0, topic="t"):
    return Carrier(Event(topic, publisher, epoch, seq), 1, 0)


def aged(seq, age_ms):
    return Carrier(Event("t", NodeId(1), 0, seq), 1, age_ms)


def seqs(messages):
    return [m.event.seq for m in messages]


def started(*offered, **limits):
    """With the stream of publisher 1 begun, and these events offered after the first."""
    order = Ordered(**limits)
    assert seqs(order.offer(event(0), 0)) == [0]
    for seq in offered:
        order.offer(event(seq), 0)
    return order


def test_what_comes_in_order_is_given_out_at_once():
    order = Ordered()
    assert [seqs(order.offer(event(seq), seq)) for seq in range(5)] == [[0], [1], [2], [3], [4]]
    assert order.due() is None


def run(first, count):
    return PushRun(Event("t", NodeId(1), 0, first), 1, 0, (b"",) * (count - 1))


def test_a_run_that_goes_on_is_given_out_whole():
    order = started()
    assert order.offer(run(1, 5), 0) == [run(1, 5)]
    assert seqs(order.offer(event(6), 0)) == [6]


def test_any_other_run_is_taken_apart():
    order = started()
    assert order.offer(run(3, 3), 0) == []
    assert seqs(order.offer(run(1, 2), 0)) == [1, 2, 3, 4, 5]
    assert seqs(order.offer(run(4, 4), 0)) == [6, 7]
    assert order.late == 2
    order.expect((1, 1, "t"), 0, [(2, 4)])
    new_life = PushRun(Event("t", NodeId(1), 1, 0), 1, 0, (b"", b"", b""))
    assert seqs(order.offer(new_life, 0)) == [0, 1]


def test_what_comes_early_waits_for_what_is_before():
    order = started()
    assert order.offer(event(2), 10) == order.offer(event(3), 20) == []
    assert order.due() == 10 + WAIT
    assert seqs(order.offer(event(1), 30)) == [1, 2, 3]
    assert (order.due(), order.skipped) == (None, 0)


def test_what_does_not_come_in_time_is_skipped():
    order = started()
    order.offer(event(3), 10)
    order.offer(event(4), 400)
    assert order.expire(9 + WAIT) == []
    assert seqs(order.expire(10 + WAIT)) == [3, 4]
    assert (order.skipped, order.due()) == (2, None)
    assert order.offer(event(1), 20 + WAIT) == []
    assert order.late == 1
    assert seqs(order.offer(event(5), 20 + WAIT)) == [5]


def test_each_gap_is_waited_for_since_it_showed():
    order = started()
    order.offer(event(2), 0)
    order.offer(event(4), 1000)
    order.offer(event(6), 2000)
    assert seqs(order.expire(WAIT)) == [2]
    assert order.due() == 1000 + WAIT
    assert seqs(order.expire(1000 + WAIT)) == [4]
    assert order.due() == 2000 + WAIT


def test_a_gap_that_is_being_filled_is_waited_for():
    """Somebody catches up with much, while news come as well."""
    order = started(100)
    given_out = []
    for seq in range(1, 100):
        now = seq * WAIT // 2
        given_out += seqs(order.expire(now)) + seqs(order.offer(event(seq), now))
    assert given_out == list(range(1, 101))
    assert (order.due(), order.skipped, order.late) == (None, 0, 0)


def test_what_is_filled_before_a_gap_does_not_prolong_it_for_ever():
    order = started(3, 5)
    assert seqs(order.offer(event(1), 1000)) == [1]
    assert order.due() == 1000 + WAIT
    assert order.expire(999 + WAIT) == []
    assert seqs(order.expire(1000 + WAIT)) == [3, 5]


def test_a_gap_shows_by_any_later_event():
    order = started()
    order.offer(event(9), 0)
    order.offer(event(5), 4000)
    assert seqs(order.expire(WAIT)) == [5, 9]
    assert order.skipped == 7


def test_publishers_and_topics_do_not_wait_for_each_other():
    order = started(2)
    for other in ({"publisher": 2}, {"topic": "u"}):
        assert seqs(order.offer(event(0, **other), 0)) == [0]
    assert seqs(order.offer(event(1), 0)) == [1, 2]


def test_all_that_is_due_is_given_out():
    order = started(2)
    order.offer(event(0, publisher=2), 0)
    order.offer(event(5, publisher=2), 1)
    order.offer(event(7, topic="u"), 2)
    given_out = order.expire(1 + WAIT)
    assert sorted((m.event.publisher, m.event.topic, m.event.seq) for m in given_out) == [
        (1, "t", 2),
        (1, "u", 7),
        (2, "t", 5),
    ]


def test_a_stream_that_began_before_starts_with_the_lowest_of_the_first_while():
    order = Ordered()
    assert order.offer(event(100), 0) == order.offer(event(98), 100) == []
    assert order.due() == FIRST
    assert seqs(order.expire(FIRST)) == [98]
    # That 99 is missing is known since 100 came.
    assert order.due() == WAIT
    assert seqs(order.expire(WAIT)) == [100]
    assert order.skipped == 1
    assert order.offer(event(97), WAIT) == []
    assert order.late == 1


def test_zero_ends_the_wait_for_the_start():
    order = Ordered()
    order.offer(event(1), 0)
    order.offer(event(3), 0)
    assert seqs(order.offer(event(0), 10)) == [0, 1]
    assert order.due() == 10 + WAIT


def test_nobody_has_to_wait_for_the_start():
    order = Ordered(first_ms=0)
    assert seqs(order.offer(event(100), 7)) == [100]
    assert seqs(order.offer(event(101), 7)) == [101]
    assert (order.due(), order.skipped) == (None, 0)


def test_a_host_that_knows_where_a_stream_goes_on_can_say_so():
    order = Ordered()
    order.expect((1, 0, "t"), 50)
    order.expect((1, 0, "t"), 60)
    assert order.offer(event(52), 0) == []
    assert order.offer(event(51), FIRST) == []
    assert seqs(order.offer(event(50), FIRST + 1)) == [50, 51, 52]
    order.expect((1, 0, "t"), 99)
    assert seqs(order.offer(event(53), FIRST + 1)) == [53]


def test_what_was_given_out_in_an_earlier_life_is_neither_waited_for_nor_missed():
    order = Ordered()
    order.expect((1, 0, "t"), 3, [(5, 9), (12, 14)])
    assert seqs(order.offer(event(3), 0)) == [3]
    assert seqs(order.offer(event(4), 0)) == [4]
    assert seqs(order.offer(event(9), 0)) == [9]
    assert order.offer(event(15), 0) == []
    assert seqs(order.expire(WAIT)) == [15]
    assert order.skipped == 3, "10, 11 and 14"


def test_given_numbers_count_where_the_start_is_not_known():
    order = Ordered()
    order.expect((1, 0, "t"), None, [(57, 60), (62, 64)])
    assert order.offer(event(60), 0) == []
    assert seqs(order.expire(FIRST)) == [60]
    assert seqs(order.offer(event(61), FIRST)) == [61]
    assert seqs(order.offer(event(64), FIRST)) == [64]
    assert (order.due(), order.skipped) == (None, 0)


def test_of_several_epochs_the_last_is_expected():
    order = Ordered()
    for epoch in (3, 8, 5):
        order.expect((1, epoch, "t"), 10 * epoch)
    assert seqs(order.offer(event(80, epoch=8), 0)) == [80]


def test_what_waits_is_not_lost_by_what_is_expected():
    order = started(2)
    order.expect((1, 9, "t"), 4)
    assert seqs(order.offer(event(1), 0)) == [1, 2]


def test_a_new_epoch_comes_after_all_of_the_old_one():
    order = started(2, 5)
    assert order.offer(event(0, epoch=9), 10) == [], "what is missing may still come"
    out = order.expire(WAIT)
    assert [(m.event.epoch, m.event.seq) for m in out] == [(0, 2), (0, 5), (9, 0)]
    assert order.skipped == 3
    assert order.offer(event(1), 1 + WAIT) == []
    assert (order.late, order.late_missed) == (1, 0), "counted as skipped before"
    assert seqs(order.offer(event(1, epoch=9), 1 + WAIT)) == [1]
    assert order.due() is None


def test_a_new_epoch_waits_until_the_old_one_is_whole():
    order = started(2)
    assert order.offer(event(1, epoch=9), 10) == order.offer(event(0, epoch=9), 20) == []
    out = order.offer(event(1), 30)
    assert [(m.event.epoch, m.event.seq) for m in out] == [(0, 1), (0, 2), (9, 0), (9, 1)]
    assert (order.due(), order.skipped, order._bytes) == (None, 0, 0)


def test_a_gap_is_waited_for_as_long_as_a_window_can_hold_what_is_missing():
    """What is missing is older than the event that shows it, so windows drop it first."""
    order = started(window_ms=300_000)
    order.offer(aged(3, 20_000), 100_000)
    assert order.due() == 100_000 - 20_000 + 300_000
    assert order.expire(379_999) == []
    assert seqs(order.offer(event(1), 379_999)) == [1]
    assert order.due() == 379_999 + WAIT, "it is being filled"
    assert seqs(order.offer(event(2), 380_500)) == [2, 3]
    assert (order.skipped, order.late) == (0, 0)


def test_what_no_window_can_hold_any_more_is_waited_for_a_short_while():
    order = started(window_ms=300_000)
    order.offer(aged(3, 299_000), 400_000)
    assert order.due() == 400_000 + WAIT
    given_out = order.expire(400_000 + WAIT)
    assert seqs(given_out) == [3]
    assert order.take_gaps() == [(given_out[0], 2)]
    assert order.take_gaps() == []


def test_what_is_late_is_missed_once():
    order = started(3)
    order.expire(WAIT)
    assert order.skipped == 2
    order.offer(event(1), WAIT)
    assert (order.late, order.late_missed) == (1, 0)
    order.offer(event(-5), WAIT)
    assert (order.late, order.late_missed) == (2, 1)


def test_the_start_of_a_new_epoch_is_waited_for():
    order = started()
    assert order.offer(event(1, epoch=9), 10) == []
    assert order.due() == 10 + WAIT
    assert seqs(order.offer(event(0, epoch=9), FIRST + 11)) == [0, 1]


def test_repeats_are_not_given_out():
    order = started(2, 2)
    assert seqs(order.offer(event(1), 0)) == [1, 2]
    assert order.offer(event(2), 0) == order.offer(event(0), 0) == []


def test_repeats_do_not_prolong_the_wait():
    order = started(2)
    order.offer(event(2), 1000)
    assert order.due() == WAIT
    assert seqs(order.expire(WAIT)) == [2]


def test_one_gap_is_one_timer():
    order = started(*range(2, 500))
    assert len(order._timers) == 1


def test_a_full_stream_gives_up_the_oldest_gap():
    order = started(2, 3, 6, events_max=3)
    assert seqs(order.offer(event(9), 1)) == [2, 3]
    assert order.skipped == 1
    assert seqs(order.offer(event(4), 1)) == [4]


def test_beyond_so_many_streams_the_most_silent_is_forgotten_and_loses_nothing():
    order = Ordered(streams_max=2)
    for publisher, seq in [(2, 0), (1, 0), (1, 2), (2, 1)]:
        order.offer(event(seq, publisher), 0)
    out = order.offer(event(0, publisher=3), 0)
    assert [(m.event.publisher, m.event.seq) for m in out] == [(1, 2), (3, 0)]
    assert order.due() is None
    assert order.expire(10 * WAIT) == []


arrivals = st.lists(
    st.tuples(
        st.integers(1, 2),
        st.integers(0, 2),
        st.integers(0, 25),
        st.sampled_from([0, 0, 1, 40, 300]),
    ),
    max_size=80,
)


@settings(deadline=None, max_examples=300)
@given(arrivals, st.integers(1, 8), st.integers(0, 60), st.booleans())
def test_it_never_reorders_never_repeats_and_never_waits_too_long(offers, room, first_ms, prompt):
    order = Ordered(wait_ms=100, first_ms=first_ms, events_max=room)
    now, out, came = 0, [], {}
    for publisher, epoch, seq, pause in offers:
        now += pause
        if prompt:
            out += order.expire(now)
        new = order.offer(event(seq, publisher, epoch), now)
        out += new
        came.setdefault((publisher, epoch, seq), now)
        if prompt:
            assert order.due() is None or now < order.due() <= now + 100
    out += order.expire(now + 100)
    assert order.due() is None
    out = [message.event for message in out]
    for publisher in (1, 2):
        given_out = [(e.epoch, e.seq) for e in out if e.publisher == publisher]
        assert given_out == sorted(set(given_out))
    # Whatever was offered was given out, or is counted.
    assert {(e.publisher, e.epoch, e.seq) for e in out} <= set(came)
    assert len(came) <= len(out) + order.late


@settings(deadline=None)
@given(st.permutations(range(12)))
def test_all_that_comes_in_time_is_given_out_in_whatever_order_it_comes(order_of_arrival):
    order = Ordered()
    order.expect((1, 0, "t"), 0)
    out = [e for seq in order_of_arrival for e in order.offer(event(seq), 0)]
    assert seqs(out) == list(range(12))
    assert (order.due(), order.skipped, order.late) == (None, 0, 0)


def test_a_long_wait_for_the_first_is_no_longer_than_for_others():
    order = Ordered(wait_ms=10, first_ms=500)
    order.offer(event(5), 0)
    assert order.due() == 10


@pytest.mark.parametrize("seq", [-1, -(10**20)])
def test_negative_numbers_are_late(seq):
    order = Ordered()
    assert order.offer(event(seq), 0) == []
    assert order.late == 1


def test_what_waits_is_bounded_in_bytes():
    order = Ordered(wait_ms=1000, first_ms=500, bytes_max=10_000)
    out = []
    for publisher in range(20):
        for seq in range(1, 5):
            out += order.offer(Carrier(Event("t", NodeId(publisher), 0, seq, bytes(1000)), 1, 0), 0)
            assert order._bytes <= 10_000
    out += order.expire(10_000)
    assert len(out) == 80, "nothing is lost by it"
    assert order._bytes == 0
