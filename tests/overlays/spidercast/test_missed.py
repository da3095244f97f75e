"""Neighbours that fell silent, and are there again."""

from __future__ import annotations

from orbweaver.core.ids import NodeId
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.cyclon import Cyclon
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.messages import ShuffleReply
from orbweaver.overlays.spidercast.missed import MISSED_MAX, TRIES, Missed
from tests.gossip.fake_outbox import FakeOutbox, make_context, own_interest

TABLE = TopicTable("AB")
LOST, TOLD_BY = NodeId(7), NodeId(1)


def made() -> tuple[Missed, Cyclon]:
    view = Cyclon(
        make_context(0, FakeOutbox(), TABLE),
        own_interest(TABLE, "A"),
        view_size=20,
        shuffle_size=5,
        period_ms=1000,
    )
    for _ in range(10):
        view.wake()
    return Missed(view), view


def hear(view: Cyclon, version: int, age: int) -> None:
    entry = Descriptor(LOST, TABLE.interest("A"), version)
    view.on_shuffle_reply(TOLD_BY, ShuffleReply((entry,), (age,)))


def test_each_word_of_a_lost_neighbour_counts_a_few_times() -> None:
    missed, view = made()
    missed.lost(LOST, 5000, (0, 1))
    assert missed.found() == [], "no word yet"
    for attempt in range(TRIES + 2):
        view.wake()
        hear(view, version=100, age=0)
        assert missed.found() == ([(LOST, (0, 1))] if attempt < TRIES else [])
        assert missed.found() == [], "the same word"


def test_old_word_says_nothing() -> None:
    missed, view = made()
    missed.lost(LOST, 5000, (0,))
    hear(view, version=100, age=3)
    assert missed.found() == []
    view.wake()
    view.wake()
    hear(view, version=100, age=0)
    assert missed.found() == [(LOST, (0,))]


def test_a_neighbour_that_was_restarted_asks_by_itself() -> None:
    missed, view = made()
    missed.lost(LOST, 5000, (0,))
    view.wake()
    hear(view, version=6000, age=0)
    assert missed.found() == []


def test_those_lost_last_are_remembered() -> None:
    missed, view = made()
    missed.lost(LOST, 5000, (0,))
    for number in range(MISSED_MAX):
        missed.lost(NodeId(100 + number), 5000, (0,))
    view.wake()
    hear(view, version=100, age=0)
    assert missed.found() == []
