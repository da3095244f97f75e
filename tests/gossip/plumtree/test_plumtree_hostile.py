"""What is said about events is not signed: a liar must neither silence others nor fill us up."""

import pytest

from orbweaver.core.messages import Event
from orbweaver.gossip.plumtree import awaited
from orbweaver.gossip.plumtree.messages import Gone, Graft, IHave, Newest, Prune, Push
from orbweaver.gossip.plumtree.missing import MissingEvents
from orbweaver.gossip.plumtree.plumtree import Plumtree
from orbweaver.gossip.streams import GAPS_MAX
from tests.gossip.plumtree.plumtree_net import Net

STREAM = (0, 0, "t")
GRAFT_MS = MissingEvents.PATIENCE_MS
HUGE = 2**63 - 1
LIAR = 3


def line():
    """The publisher 0, the reader 1, and the liar, who is everybody's neighbour."""
    return Net(4, (0, 1), (LIAR, 0), (LIAR, 1))


def delivered(net):
    return [seq for publisher, seq, _ in net.nodes[1].got() if publisher == 0]


def say(net, message):
    net.nodes[1].receive(LIAR, message)


@pytest.mark.parametrize("seq", [0, 3, 63, 64, 1000, 2**62, HUGE, -1, -(2**63)])
@pytest.mark.parametrize("asked", [False, True])
def test_who_announces_events_to_come_does_not_keep_them_from_us(seq, asked):
    net = line()
    net.publish(0)
    net.lose(Graft)
    say(net, IHave((Newest(STREAM, seq, 0),)))
    if asked:
        net.run(GRAFT_MS)
    say(net, Gone(STREAM, HUGE))
    net.run(10_000)
    for _ in range(100):
        net.publish(0)
    assert delivered(net) == list(range(101))


def test_what_the_liar_spoils_is_still_repaired():
    net = line()
    net.publish(0)
    for seq in (500, HUGE, 40):
        say(net, IHave((Newest(STREAM, seq, 0),)))
    net.run(GRAFT_MS)
    say(net, Gone(STREAM, HUGE))
    net.lose(Push, between=(0, 1))
    for _ in range(5):
        net.publish(0)
    net.heal()
    net.publish(0)
    net.run(10_000)
    assert sorted(delivered(net)) == list(range(7))


def test_only_who_was_asked_may_say_that_something_is_gone():
    net = Net(4, (0, 1), (LIAR, 1))
    net.lose(Push, between=(0, 1))
    for _ in range(3):
        net.publish(0)
    net.heal()
    net.publish(0)
    say(net, Gone(STREAM, HUGE))
    net.run(10_000)
    assert sorted(delivered(net)) == [0, 1, 2, 3]


def test_streams_that_are_made_up_cost_a_bounded_amount(monkeypatch):
    monkeypatch.setattr(MissingEvents, "OF_PEER", 300)
    net = line()
    reader = net.nodes[1]
    for lie in range(20):
        signs = [Newest((7, 100 * lie + epoch, "t"), 1000, 0) for epoch in range(100)]
        say(net, IHave(tuple(signs)))
    assert len(reader._grafting.missing.events) == 300
    assert reader._streams == {}
    # Another's word still counts.
    reader.receive(0, IHave((Newest(STREAM, 4, 0),)))
    assert len(reader._grafting.missing.events) == 305
    net.run(60_000)
    assert not reader._grafting.missing.events
    assert not reader._grafting.missing._numbers
    assert not reader._grafting.missing._told_by
    assert not reader._grafting.missing._dues


def test_all_liars_together_are_bounded_too(monkeypatch):
    monkeypatch.setattr(MissingEvents, "MAX", 500)
    net = line()
    for liar in range(100):
        net.nodes[1].receive(1000 + liar, IHave((Newest((liar, 0, "t"), 63, 0),)))
    assert len(net.nodes[1]._grafting.missing.events) == 500


def test_streams_with_real_events_are_bounded_and_the_oldest_forgotten(monkeypatch):
    monkeypatch.setattr(Plumtree, "STREAMS_MAX", 50)
    net = line()
    for epoch in range(500):
        say(net, Push(Event("t", 9, epoch, 0), 1, 0))
    assert len(net.nodes[1]._streams) == 50
    assert (9, 499, "t") in net.nodes[1]._streams


def test_topics_that_nobody_wants_are_not_remembered():
    net = line()
    reader, known = net.nodes[1], len(net.table)
    for number in range(100):
        topic = f"made up {number}"
        say(net, Prune(topic))
        for _ in range(2):
            say(net, Push(Event(topic, 9, 0, 0), 1, 0))
        say(net, IHave((Newest((9, 0, topic), 1000, 0),)))
        say(net, Graft((9, 0, topic), (1, 2, 3), HUGE))
    assert len(net.table) == known
    assert not reader._trees
    assert not reader._grafting.missing.events


def test_a_number_is_sent_once_for_each_time_it_is_asked_for():
    net = line()
    net.publish(0)
    net.carried()
    net.nodes[0].receive(LIAR, Graft(STREAM, (0,) * 100_000, HUGE))
    net.pump.settle()
    assert net.carried(Push) == [(0, LIAR)]


def test_gaps_without_end_in_a_topic_of_others_stay_small():
    net = line()
    for seq in range(0, 20_000, 2):
        say(net, Push(Event("other", 9, 0, seq), 1, 0))
    stream = net.nodes[1]._streams[9, 0, "other"]
    assert max(len(stream.ahead), len(stream.skipped)) <= 2 * GAPS_MAX


@pytest.mark.parametrize("numbers", [range(5000), range(5000, 0, -1)], ids=["rising", "falling"])
def test_announcements_of_one_stream_without_end_cost_a_bounded_amount(numbers, monkeypatch):
    monkeypatch.setattr(awaited, "STEPS_MAX", 50)
    net = line()
    net.publish(0)
    say(net, IHave(tuple(Newest((9, 0, "t"), seq, 0) for seq in numbers)))
    (announced,) = net.nodes[1]._grafting.awaited.streams.values()
    assert len(announced.steps) == 50
    net.run(20_000)
    assert not net.nodes[1]._grafting.awaited.streams
    net.publish(0)
    assert delivered(net) == [0, 1]
