"""Relays: nodes that receive events on topics outside their interest."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.gossip.plumtree.messages import Push
from orbweaver.metrics.relays import (
    TOP,
    TopicRelays,
    relays_by_rank,
    relays_per_event,
    top_topics_share,
)
from orbweaver.metrics.snapshot import snapshot
from orbweaver.records import Recorder, Records

PUBLISHER, HOME = 0, 7


def recorded(
    copies: list[tuple[int, int, bool]], subscribers: dict[str, int], rows: bool = True
) -> Records:
    """Record two events on 'a' (0 and 1) and one on 'b' (2), and copies as (event, node,
    interested). An interested node's first copy is delivered."""
    recorder = Recorder(rows=rows)
    for topic, count in subscribers.items():
        for node in range(count):
            recorder.interest(0, NodeId(node), topic, "subscribe")
    events = [
        Event(topic, NodeId(PUBLISHER), 0, seq) for topic, seq in (("a", 0), ("a", 1), ("b", 0))
    ]
    for event in events:
        recorder.published(10, event)
    taken = set()
    for event, node, interested in copies:
        recorder.carried(20, NodeId(node), Push(events[event], 1, 0), interested)
        if interested and (event, node) not in taken:
            taken.add((event, node))
            recorder.delivered(20, NodeId(node), events[event], 1)
    recorder.noticed(NodeId(5), interested=False)
    return recorder.finish(50)


COPIES = [
    (0, HOME, False), (0, HOME, False), (0, 5, False), (0, 1, True), (0, 1, True),
    (1, 1, True), (1, HOME, False),
    (2, 6, False), (2, 1, True), (2, 2, True),
]  # fmt: skip
"""Event 0 has the relays HOME (two copies) and 5, event 1 has HOME, and event 2 has 6."""


def test_each_node_is_counted_once_for_an_event() -> None:
    assert relays_per_event(recorded(COPIES, {})) == pytest.approx((2 + 1 + 1) / 3)


def test_an_event_without_relays_counts_in_the_mean() -> None:
    assert relays_per_event(recorded([(0, 5, False)], {})) == pytest.approx(1 / 3)
    assert relays_per_event(recorded([], {})) == 0, "a notice is not the event"


def test_without_events_there_is_no_mean() -> None:
    records = Recorder().finish(10)
    assert math.isnan(relays_per_event(records))
    assert math.isnan(top_topics_share(relays_by_rank(records, snapshot(records, 10))))


def test_counters_of_copies_do_not_tell_nodes_apart() -> None:
    assert math.isnan(relays_per_event(recorded(COPIES, {}, rows=False)))
    noiseless = recorded([(0, 1, True)], {}, rows=False)
    assert relays_per_event(noiseless) == 0


def test_topics_are_ranked_by_their_subscribers() -> None:
    records = recorded(COPIES, {"a": 2, "b": 3, "quiet": 3})
    assert relays_by_rank(records, snapshot(records, 10)) == [
        TopicRelays("b", 3, 1, 1, 2),
        TopicRelays("quiet", 3, 0, 0, 0),
        TopicRelays("a", 2, 2, 3, 2),
    ]


def test_subscribers_are_those_at_the_snapshot() -> None:
    recorder = Recorder()
    for time, node, kind in ((0, 1, "subscribe"), (0, 2, "subscribe"), (30, 2, "unsubscribe")):
        recorder.interest(time, NodeId(node), "a", kind)
    recorder.interest(0, NodeId(3), "a", "publish")
    records = recorder.finish(50)
    for at_ms, count in ((29, 2), (30, 1)):
        [found] = relays_by_rank(records, snapshot(records, at_ms))
        assert found.subscribers == count


def test_the_most_popular_tenth_has_its_share_of_relays() -> None:
    records = recorded(COPIES, {"a": 2, "b": 3})
    ranked = relays_by_rank(records, snapshot(records, 10))
    assert top_topics_share(ranked) == pytest.approx(1 / 3), "'b' alone: 1 relay, 2 deliveries"
    fill = [TopicRelays(f"t{i}", 1, 0, 0, 0) for i in range(TOP)]
    assert top_topics_share([*ranked, *fill]) == pytest.approx((1 + 3) / (1 + 3 + 2 + 2))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 6), st.booleans()), max_size=40))
def test_relays_are_what_counting_by_hand_gives(copies: list[tuple[int, int, bool]]) -> None:
    total = 0
    for event in range(3):
        total += sum(
            any(e == event and n == node and not interested for e, n, interested in copies)
            for node in range(1, 7)
        )
    assert relays_per_event(recorded(copies, {})) == pytest.approx(total / 3)
