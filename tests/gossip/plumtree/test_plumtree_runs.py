"""A run is taken as one, and what it brings is what its events would bring one by one."""

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.messages import Event
from orbweaver.gossip.plumtree.messages import Graft, IHave, Newest, Prune, Push, PushRun, push
from tests.gossip.plumtree.plumtree_net import Net

ME, FEEDER = 1, 0

drawn_runs = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 0, 2, 3]),  # sender
        st.sampled_from([5, 5, 5, 6, ME]),  # publisher
        st.sampled_from("tttu"),
        st.sampled_from([0, 0, 1, 4, -3]),  # numbers skipped, or repeated
        st.integers(1, 6),  # how many follow each other
        st.sampled_from([0, 0, 50, 10_000]),  # how old they are
        st.sampled_from([0, 0, 30, 150]),  # time until the next
    ),
    max_size=25,
)


def messages(drawn):
    """(pause before, sender, its run)"""
    following = defaultdict(int)
    pause = 0
    for sender, publisher, topic, skipped, count, age_ms, after in drawn:
        first = max(0, following[publisher, topic] + skipped)
        following[publisher, topic] = first + count
        payloads = [b"%d" % seq for seq in range(first, first + count)]
        event = Event(topic, publisher, 0, first, payloads[0])
        yield pause, sender, push(event, 1, age_ms, tuple(payloads[1:]))
        pause = after


def play(drawn, receive):
    """What is delivered, and what is pushed to each neighbour, as single events. When to prune and
    to graft is decided once for a run, so that may differ."""
    net = Net(4, (1, 0), (1, 2), (1, 3), topics="t")
    node = net.nodes[ME]
    delivered = []
    node.outbox.deliver = delivered.append
    seen = []
    for pause, sender, run in messages(drawn):
        net.pump.clock.now += pause
        if pause:
            for timer in list(node.outbox.timers):
                if node.outbox.timers[timer] <= net.pump.clock.now:
                    del node.outbox.timers[timer]
                    node.wake(timer)
        receive(node, sender, run)
        pushed = defaultdict(list)
        for to, message in node.outbox.take():
            if isinstance(message, Push):
                pushed[to] += message.singles()
        got = [single for message in delivered for single in message.singles()]
        seen.append((dict(pushed), got))
    return seen


def one_by_one(node, sender, run):
    for single in run.singles():
        node.receive(sender, single)


def together(node, sender, run):
    node.receive(sender, run)


@settings(deadline=None, max_examples=300)
@given(drawn_runs)
def test_together_is_the_same_as_one_by_one(drawn):
    assert play(drawn, together) == play(drawn, one_by_one)


def run(first, count, publisher=5, topic="t"):
    return PushRun(Event(topic, publisher, 0, first), 1, 0, (b"",) * (count - 1))


def fed():
    """A node between two others, which gets stream 5 from its feeder: number 0 has come."""
    net = Net(3, (1, 0), (1, 2))
    node = net.nodes[ME]
    node.on_push(FEEDER, Push(Event("t", 5, 0, 0), 1, 0))
    node.outbox.take()
    return net, node


@pytest.mark.parametrize(
    ("sender", "coming"),
    [(FEEDER, run(1, 99)), (FEEDER, run(3, 4)), (2, run(1, 4)), (FEEDER, run(0, 4, publisher=6))],
    ids=["the next", "after a gap", "from another neighbour", "of another stream"],
)
def test_a_run_of_new_events_is_taken_and_passed_on_as_one(sender, coming):
    _, node = fed()
    delivered = []
    node.outbox.deliver = delivered.append
    node.on_run(sender, coming)
    assert delivered == [coming]
    [(to, message)] = [sent for sent in node.outbox.take() if isinstance(sent[1], Push)]
    passed_on = PushRun(coming.event, 2, 0, coming.more)
    assert (to, message) == (FEEDER + 2 - sender, passed_on)


def test_a_copy_of_a_run_is_pruned_once():
    _, node = fed()
    node.on_run(FEEDER, run(1, 9))
    node.outbox.take()
    node.on_run(2, run(1, 9))
    assert node.outbox.take() == [(2, Prune("t"))]


def test_of_a_run_that_has_come_in_part_the_new_parts_go_on_as_runs():
    _, node = fed()
    node.on_push(FEEDER, Push(Event("t", 5, 0, 4), 1, 0))
    node.outbox.take()
    node.on_run(FEEDER, run(0, 8))
    passed_on = [message for _, message in node.outbox.take() if isinstance(message, Push)]
    assert passed_on == [push(Event("t", 5, 0, seq), 2, 0, (b"", b"")) for seq in (1, 5)]


def test_what_is_looked_for_may_come_in_a_run():
    _, node = fed()
    node.on_push(FEEDER, Push(Event("t", 5, 0, 1), 1, 0))
    node.on_ihave(2, IHave((Newest((5, 0, "t"), 4, 0),)))
    delivered = []
    node.outbox.deliver = delivered.append
    node.on_run(FEEDER, run(2, 7))
    assert delivered == [run(2, 7)]
    assert not node._grafting.missing.events


def test_one_event_of_a_run_can_be_grafted():
    _, node = fed()
    payloads = tuple(b"%d" % seq for seq in range(2, 100))
    node.on_run(FEEDER, PushRun(Event("t", 5, 0, 1, b"1"), 1, 0, payloads))
    node.outbox.take()
    node.on_graft(2, Graft((5, 0, "t"), (1, 42, 99, 100), 1000))
    sent = [message.event for _, message in node.outbox.take()]
    assert [(event.seq, event.payload) for event in sent] == [(1, b"1"), (42, b"42"), (99, b"99")]


def test_what_is_grafted_of_a_run_goes_in_one_message():
    _, node = fed()
    payloads = tuple(b"%d" % seq for seq in range(2, 100))
    node.on_run(FEEDER, PushRun(Event("t", 5, 0, 1, b"1"), 1, 0, payloads))
    node.on_run(FEEDER, run(100, 5))
    node.outbox.take()
    node.on_graft(2, Graft((5, 0, "t"), (0, *range(40, 103), 104), 1000))
    sent = [(message.event.seq, message.count) for _, message in node.outbox.take()]
    assert sent == [(0, 1), (40, 60), (100, 3), (104, 1)]


def test_what_is_published_together_leaves_in_one_message():
    net = Net(2, (0, 1))
    node = net.nodes[0]
    node.publish("t", b"0")
    node.outbox.take()
    published = node.publish_run("t", [b"1", b"2", b"3"])
    assert [(e.event.seq, e.event.payload) for e in published.singles()] == [
        (1, b"1"), (2, b"2"), (3, b"3")
    ]  # fmt: skip
    [(to, message)] = node.outbox.take()
    assert (to, message) == (1, PushRun(published.event, 1, 0, (b"2", b"3")))
    assert node.publish("t", b"4").seq == 4
