"""Recent events: kept once, told of, and pulled where they are missing."""

from __future__ import annotations

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.core.topics import TopicTable
from orbweaver.gossip import tree_events
from orbweaver.gossip.messages import Pulled, Recent
from orbweaver.gossip.tree_events import (
    BACK,
    PULL_AGAIN_MS,
    PULL_MAX,
    PULLS_MAX,
    TreeEvents,
)
from tests.gossip.fake_outbox import FakeOutbox, make_context

STREAM = (NodeId(9), 0, "a")


def part(since: int | None = 0, keep_ms: int = 60_000) -> tuple[TreeEvents, FakeOutbox]:
    outbox = FakeOutbox()
    subscribed = {} if since is None else {"a": since}
    return TreeEvents(make_context(0, outbox, TopicTable()), subscribed, 10, keep_ms), outbox


def came(events: TreeEvents, *numbers: int, age_ms: int = 0) -> list[bool]:
    publisher, epoch, topic = STREAM
    return [events.take(Pulled(Event(topic, publisher, epoch, n), 1, age_ms)) for n in numbers]


def test_an_event_is_taken_and_delivered_once() -> None:
    events, outbox = part()
    assert came(events, 0, 1, 0) == [True, True, False]
    assert [event.seq for event, _ in outbox.delivered] == [0, 1]
    assert events.seen((*STREAM, 1))
    assert not events.seen((*STREAM, 2))


def test_a_node_delivers_only_what_was_published_after_its_subscription() -> None:
    events, outbox = part(since=50_000)
    outbox.clock.now = 50_000
    came(events, 0, age_ms=40_000)
    came(events, 1)
    assert [event.seq for event, _ in outbox.delivered] == [1]
    relay, outbox = part(since=None)
    assert came(relay, 0) == [True]
    assert outbox.delivered == []


def test_own_events_are_numbered_for_each_topic_and_not_delivered() -> None:
    events, outbox = part()
    outbox.clock.now = 7
    events.start()
    held = [events.number(topic, b"x") for topic in ("a", "a", "b")]
    assert [one.event.id for one in held] == [(0, 7, "a", 0), (0, 7, "a", 1), (0, 7, "b", 0)]
    assert events.take(Pulled(held[0].event, 0, 0))
    assert outbox.delivered == []


def test_what_a_neighbour_tells_of_and_is_missing_is_pulled_a_few_times() -> None:
    events, outbox = part()
    came(events, 2)
    told = [Recent(STREAM, 1, 4)]
    missing = [(*STREAM, 1), (*STREAM, 3), (*STREAM, 4)]
    for _ in range(PULLS_MAX):
        assert events.lacking(told) == missing
        assert events.lacking(told) == [], "they were pulled a moment ago"
        outbox.clock.now += PULL_AGAIN_MS
    assert events.lacking(told) == []


def test_a_peer_that_tells_of_very_many_events_causes_few_pulls() -> None:
    events, _ = part()
    assert len(events.lacking([Recent(STREAM, 0, 1 << 62)])) == PULL_MAX
    assert len(events.lacking([Recent(STREAM, 0, 1 << 62)], most=3)) == 3
    assert min(name[3] for name in events.lacking([Recent(STREAM, 0, 9000)])) > 9000 - BACK


def test_a_gap_is_looked_for_only_behind_the_first_event_seen() -> None:
    events, _ = part()
    came(events, 5, 8)
    publisher, epoch, topic = STREAM
    assert events.gaps_before(Event(topic, publisher, epoch, 8)) == [(*STREAM, 6), (*STREAM, 7)]
    assert events.gaps_before(Event(topic, publisher, epoch, 5)) == []


def test_neighbours_are_told_of_what_is_recent_and_of_what_they_do_not_name() -> None:
    events, outbox = part(keep_ms=1000)
    came(events, 3, 4)
    assert events.told("a") == (Recent(STREAM, 3, 4),)
    assert events.unnamed("a", [Recent(STREAM, 0, 3)]) == [Recent(STREAM, 3, 4)]
    assert events.unnamed("a", [Recent(STREAM, 0, 4)]) == []
    assert [held.event.seq for held in events.of_topic("a")] == [3, 4]
    assert events.topics(within_ms=1000) == ["a"]
    outbox.clock.now = 1001
    events.forget()
    assert events.told("a") == ()
    assert events.topics(within_ms=1000) == []


def test_what_a_neighbour_tells_of_costs_a_bounded_amount(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_events, "WANTED_MAX", 150)
    events, _ = part()
    for epoch in range(20):
        told = [Recent((NodeId(9), 100 * epoch + n, "a"), 0, 1 << 40) for n in range(100)]
        assert len(events.lacking(told)) == PULL_MAX
    assert len(events.lacking(told, most=5)) == 5
    assert len(events._wanted) == 150


def test_streams_are_remembered_in_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_events, "STREAMS_MAX", 20)
    monkeypatch.setattr(tree_events, "RECENT_MAX", 4)
    events, _ = part()
    for epoch in range(100):
        assert events.take(Pulled(Event("a", NodeId(9), epoch, 0), 1, 0))
    assert len(events._streams) == 20
    assert len(events._recent["a"]) == 8
    assert [one.stream[1] for one in events.told("a")] == [96, 97, 98, 99]
