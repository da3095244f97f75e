"""Notices and pulls are not signed: a liar must neither silence others nor fill a node up."""

import pytest

from orbweaver.core.messages import Event
from orbweaver.core.topics import TopicTable
from orbweaver.gossip import notices
from orbweaver.gossip.messages import Notice, Pull, Pulled
from orbweaver.gossip.notices import KEEP_MS, NoticeAndPull
from orbweaver.gossip.streams import GAPS_MAX
from tests.gossip.fake_outbox import Clock, FakeOutbox, make_context

ME, HONEST, LIAR, READER = 1, 2, 3, 4
HUGE = 2**63 - 1


class Node(NoticeAndPull):
    def __init__(self):
        self.clock = Clock()
        self.outbox = FakeOutbox(self.clock)
        super().__init__(
            make_context(ME, self.outbox, TopicTable("t")),
            lambda topic: [HONEST, READER] if topic == "t" else [],
            {"t": 0},
        )
        self.start()

    def run(self, ms):
        for _ in range(0, ms, 1000):
            self.clock.now += 1000
            self.step()

    def sent(self, kind, to=None):
        return [m for peer, m in self.outbox.sent if type(m) is kind and to in (None, peer)]


@pytest.fixture
def node():
    return Node()


def name(seq, topic="t", publisher=9):
    return (publisher, 0, topic, seq)


def event(seq, topic="t", payload=b""):
    return Event(topic, 9, 0, seq, payload)


@pytest.mark.parametrize("wait_ms", [0, 3000, 2 * KEEP_MS])
def test_notices_of_events_to_come_do_not_keep_the_events_away(node, wait_ms):
    for seq in (*range(100), HUGE):
        node.on_notice(LIAR, Notice(name(seq)))
    node.run(wait_ms)
    for seq in range(100):
        node.on_notice(HONEST, Notice(name(seq)))
    node.run(3000)
    asked = {message.event for message in node.sent(Pull, HONEST)}
    assert asked - {name(HUGE)} == {name(seq) for seq in range(100)}
    for seq in range(100):
        node.on_pulled(HONEST, Pulled(event(seq), 1, 0))
    assert [e.seq for e, _ in node.outbox.delivered] == list(range(100))


def test_notices_without_end_cost_a_bounded_amount(node, monkeypatch):
    monkeypatch.setattr(notices, "UNPROVEN_OF_PEER", 500)
    for seq in range(5000):
        node.on_notice(LIAR, Notice(name(seq, publisher=seq)))
    assert len(node._known) == 500
    assert node._streams == {}
    node.on_notice(HONEST, Notice(name(7)))
    assert name(7) in node._known, "the word of another peer still counts"
    node.run(2 * KEEP_MS)
    assert not node._known
    assert not node._unproven


def test_a_liar_does_not_make_a_node_look_like_one(node, monkeypatch):
    monkeypatch.setattr(notices, "SPREAD_UNPROVEN", 10)
    for seq in range(50):
        node.on_notice(LIAR, Notice(name(seq)))
    node.run(5000)
    told = {message.event for message in node.sent(Notice, READER)}
    assert told == {name(seq) for seq in range(10)}
    asked = {message.event for message in node.sent(Pull, READER)}
    assert asked == {name(seq) for seq in range(10)}, "nor are others asked for its inventions"
    node.on_pulled(LIAR, Pulled(event(40), 1, 0))
    assert node.sent(Notice, READER)[-1].event == name(40), "passed on once it is here"


def test_the_same_notice_again_and_again_is_one_source(node):
    for _ in range(1000):
        node.on_notice(LIAR, Notice(name(0)))
    assert len(node._known[name(0)].sources) == 1
    assert len(node.sent(Pull)) == 1


def test_no_peer_is_given_the_same_event_without_end(node):
    node.on_notice(HONEST, Notice(name(0)))
    for _ in range(1000):
        node.on_pull(LIAR, Pull(name(0)))
    assert node._known[name(0)].pulls == [LIAR]
    node.on_pulled(HONEST, Pulled(event(0, payload=b"large"), 1, 0))
    assert len(node.sent(Pulled)) == 1
    for _ in range(1000):
        node.on_pull(LIAR, Pull(name(0)))
        node.on_notice(LIAR, Notice(name(0)))
    assert len(node.sent(Pulled, LIAR)) == notices.PULLS_MAX
    node.on_pull(READER, Pull(name(0)))
    assert len(node.sent(Pulled, READER)) == 1


def test_what_can_be_had_is_bounded_in_bytes(node, monkeypatch):
    monkeypatch.setattr(notices, "BYTES_MAX", 10_000)
    for seq in range(100):
        node.on_notice(HONEST, Notice(name(seq)))
        node.on_pulled(HONEST, Pulled(event(seq, payload=bytes(1000)), 1, 0))
        assert node._bytes <= 10_000
    assert len(node.outbox.delivered) == 100
    assert name(99) in node._known
    node.run(2 * KEEP_MS)
    assert node._bytes == 0


def test_streams_with_real_events_are_bounded(node, monkeypatch):
    monkeypatch.setattr(notices, "STREAMS_MAX", 20)
    for epoch in range(100):
        node.on_notice(LIAR, Notice((9, epoch, "t", 0)))
        node.on_pulled(LIAR, Pulled(Event("t", 9, epoch, 0), 1, 0))
    assert len(node._streams) == 20


def test_gaps_without_end_stay_small(node):
    for seq in range(0, 5000, 2):
        node.on_notice(LIAR, Notice(name(seq)))
        node.on_pulled(LIAR, Pulled(event(seq), 1, 0))
    stream = node._streams[9, 0, "t"]
    assert len(stream.ahead) == len(stream.skipped) == 2 * GAPS_MAX
