"""How long an announced event is waited for, and when a neighbour is asked for it."""

import pytest

from orbweaver.core.messages import Event
from orbweaver.gossip.plumtree import awaited
from orbweaver.gossip.plumtree.awaited import AwaitedEvents
from orbweaver.gossip.plumtree.messages import Graft, IHave, Newest, Push
from orbweaver.gossip.plumtree.missing import MissingEvents
from tests.gossip.plumtree.plumtree_net import Net

STREAM = (9, 0, "t")
GRAFT_MS = MissingEvents.PATIENCE_MS
FEEDER, LAZY = 0, 2
STEP_MS = GRAFT_MS // 2


@pytest.fixture
def net():
    """Node 1 between its feeder and another neighbour, which announces; GRAFTs are lost."""
    net = Net(4, (0, 1), (1, 2), (1, 3))
    net.lose(Graft)
    push(net, 0)
    net.carried()
    return net


def push(net, seq, sender=FEEDER):
    net.nodes[1].receive(sender, Push(Event("t", 9, 0, seq), 1, 0))


def announce(net, seq, sender=LAZY, stream=STREAM):
    net.nodes[1].receive(sender, IHave((Newest(stream, seq, 0),)))


def asked(net, ms):
    """What node 1 asks for in this time: (neighbour, numbers)."""
    found = []

    def lost(sender, to, message):
        if isinstance(message, Graft) and sender == 1 and message.seqs:
            found.append((to, message.seqs))
        return isinstance(message, Graft)

    net.pump.lost = lost
    net.run(ms)
    return found


def test_what_does_not_come_is_asked_for(net):
    announce(net, 3)
    assert asked(net, GRAFT_MS - 1) == []
    assert asked(net, 1) == [(LAZY, (1, 2, 3))]


def test_a_neighbour_that_pushes_earlier_numbers_is_given_time(net):
    announce(net, 20)
    for seq in range(1, 20):
        assert asked(net, STEP_MS) == []
        push(net, seq)
    assert asked(net, STEP_MS) == []
    push(net, 20)
    assert asked(net, 10_000) == []


def test_until_it_pushes_no_more(net):
    announce(net, 20)
    for seq in range(1, 10):
        net.run(STEP_MS)
        push(net, seq)
    assert asked(net, 20 * GRAFT_MS)[0] == (LAZY, tuple(range(10, 21)))


def test_what_the_feeder_has_passed_over_is_asked_for_at_once(net):
    announce(net, 5)
    push(net, 1)
    push(net, 5)
    assert asked(net, 1) == [(FEEDER, (2, 3, 4))]


def test_what_all_have_passed_over_is_not_waited_for_though_they_go_on(net):
    """Another neighbour is ahead of the feeder, and goes on with what comes later."""
    push(net, 3, sender=3)
    found = []
    for seq in range(4, 12):
        found += asked(net, STEP_MS)
        push(net, seq, sender=3)
    assert (3, (1, 2)) in found


def test_a_copy_of_what_comes_later_does_not_end_the_wait_unasked(net):
    push(net, 3, sender=3)
    push(net, 3, sender=FEEDER)
    assert (3, (1, 2)) in asked(net, 2 * GRAFT_MS)


def test_an_answer_is_no_reason_for_patience_though_more_was_announced(net):
    announce(net, 1)
    net.run(STEP_MS)
    announce(net, 9)
    assert asked(net, STEP_MS) == [(LAZY, (1,))]
    net.run(STEP_MS - 1)
    push(net, 1, sender=LAZY)
    assert net.nodes[1]._grafting.missing.patience_ms == GRAFT_MS
    assert asked(net, 1) == [(LAZY, tuple(range(2, 10)))]


def test_copies_from_a_pruned_neighbour_are_no_reason_to_wait(net):
    push(net, 1)
    push(net, 0, sender=3)
    assert net.nodes[1]._trees["t"].pruned == {3: 0}
    announce(net, 5)
    found = []
    for _ in range(3):
        push(net, 0, sender=3)
        found += asked(net, STEP_MS)
    assert found[0] == (LAZY, (2, 3, 4, 5))


def test_the_wait_is_bounded_though_the_feeder_goes_on(net, monkeypatch):
    monkeypatch.setattr(awaited, "WAIT_MS_MAX", 1000)
    announce(net, 5000)
    found = []
    for seq in range(1, 40):
        push(net, seq)
        found += asked(net, STEP_MS)
        if found:
            break
    assert net.pump.clock.now in range(1000, 1000 + 2 * GRAFT_MS)


def test_a_new_feeder_speaks_only_for_what_it_has_pushed(net):
    """What comes before may be in the queue of the feeder before, where events come late."""
    net.nodes[1]._grafting.missing.patience_ms = 2 * GRAFT_MS
    for seq in (8, 9):
        push(net, seq, sender=3)
    assert net.nodes[1]._trees["t"].feeder == 3
    announce(net, 12, sender=3)
    assert asked(net, GRAFT_MS - 1) == []
    for seq in range(1, 8):
        push(net, seq)
    push(net, 10, sender=3)
    push(net, 11, sender=3)
    push(net, 12, sender=3)
    assert asked(net, 1000) == []


def test_what_was_announced_a_moment_ago_is_not_asked_for_with_the_rest(net):
    announce(net, 1)
    net.run(STEP_MS)
    announce(net, 3)
    assert asked(net, GRAFT_MS - STEP_MS) == [(LAZY, (1,))]
    assert asked(net, STEP_MS)[-1] == (LAZY, (2, 3))


def test_where_nothing_comes_late_a_new_feeder_speaks_for_all(net):
    for seq in (8, 9):
        push(net, seq, sender=3)
    announce(net, 12, sender=3)
    assert (3, (10, 11, 12)) in [(to, seqs[-3:]) for to, seqs in asked(net, 1)]


@pytest.mark.parametrize("gone", ["announces", "is lost", "drops the topic"])
def test_until_the_feeder_before_has_nothing_more_in_its_queue(net, gone):
    net.nodes[1]._grafting.missing.patience_ms = 2 * GRAFT_MS
    for seq in (8, 9):
        push(net, seq, sender=3)
    if gone == "announces":
        announce(net, 7, sender=FEEDER)
    elif gone == "is lost":
        net.unlink(0, 1)
    else:
        net.link(0, 1, topics="u")
    announce(net, 12, sender=3)
    assert (3, (10, 11, 12)) in [(to, seqs[-3:]) for to, seqs in asked(net, 1)]


def test_of_too_many_streams_nothing_is_waited_for(net, monkeypatch):
    monkeypatch.setattr(AwaitedEvents, "STREAMS_MAX", 10)
    for epoch in range(12):
        announce(net, 0, stream=(7, epoch, "t"))
    assert len(net.nodes[1]._grafting.awaited.streams) == 10
    assert len(asked(net, 1)) == 2


def test_nothing_is_kept_of_what_has_come(net):
    for seq in range(1, 10):
        announce(net, seq)
        push(net, seq)
    net.run(1000)
    assert not net.nodes[1]._grafting.awaited.streams
    net.run(10_000)
    assert net.nodes[1].outbox.timers == {}


def test_the_patience_does_not_fall_while_events_come_late(net):
    missing = net.nodes[1]._grafting.missing
    for seq in range(1, 8):
        announce(net, seq)
        net.run(400)
        push(net, seq)
        net.run(600)
    assert missing.patience_ms == 800
