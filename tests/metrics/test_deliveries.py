"""Which events each node was owed, and which it got."""

import math
from typing import Any

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.gossip.plumtree.messages import Push
from orbweaver.metrics.deliveries import DeliveryMetrics, deliveries
from orbweaver.records import Recorder


class Story:
    """Nodes 0 to 3 on topic a from time 0; what the test adds; then the metrics."""

    def __init__(self, rows: bool = True) -> None:
        self.recorder = Recorder(rows)
        for node in range(4):
            self.recorder.interest(0, NodeId(node), "a", "subscribe")

    def publish(self, time: int, publisher: int = 0, seq: int = 0, topic: str = "a") -> Event:
        event = Event(topic, NodeId(publisher), 0, seq)
        self.recorder.published(time, event)
        return event

    def arrive(self, time: int, event: Event, *nodes: int, hops: int = 1) -> None:
        """A first copy, which is delivered."""
        for node in nodes:
            self.copy(time, event, node)
            self.recorder.delivered(time, NodeId(node), event, hops)

    def copy(self, time: int, event: Event, node: int) -> None:
        self.recorder.carried(time, NodeId(node), Push(event, 1, 0), interested=True)

    def measure(self, **options: Any) -> DeliveryMetrics:
        return deliveries(self.recorder.finish(100_000), **options)


@pytest.mark.parametrize(
    ("got", "ratio"), [((), 0.0), ((1,), 1 / 3), ((1, 2, 3), 1.0), ((1, 2, 3, 9), 1.0)]
)
@pytest.mark.parametrize("rows", [True, False])
def test_hit_ratio(got: tuple[int, ...], ratio: float, rows: bool) -> None:
    story = Story(rows)
    story.arrive(1001, story.publish(1000), *got)
    found = story.measure()
    assert found.expected == 3
    assert found.hit_ratio == pytest.approx(ratio)


def test_the_worst_stretch_of_a_run() -> None:
    """Forty events in twenty stretches of two; one of the fifth stretch is lost to all."""
    story = Story()
    for seq in range(40):
        event = story.publish(1000 * seq, seq=seq)
        story.arrive(1000 * seq + 1, event, *(() if seq == 9 else (1, 2, 3)))
    found = story.measure()
    assert found.hit_ratio == pytest.approx(39 / 40)
    assert found.hit_ratio_worst == pytest.approx(1 / 2)


def test_stretches_are_alike_whatever_the_number_of_events() -> None:
    """The last of 381 events is lost: one of nineteen or twenty, not one of one."""
    story = Story()
    for seq in range(381):
        event = story.publish(1000 * seq, seq=seq)
        story.arrive(1000 * seq + 1, event, *(() if seq == 380 else (1, 2, 3)))
    assert story.measure().hit_ratio_worst == pytest.approx(1 - 1 / 20)


def test_what_comes_late_is_a_hit_but_not_a_prompt_one() -> None:
    story = Story()
    event = story.publish(1000)
    story.arrive(3000, event, 1)
    story.arrive(3001, event, 2, 3)
    found = story.measure()
    assert found.hit_ratio_worst == 1
    assert found.prompt_ratio_worst == pytest.approx(1 / 3)


def test_rows_tell_strangers_from_subscribers() -> None:
    """A delivery to a node that was owed nothing does not make up for a missing one."""
    story = Story()
    story.arrive(1001, story.publish(1000), 1, 2, 9)
    assert story.measure().hit_ratio == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("since", "grace_ms", "owed"), [(1000, 0, 4), (1001, 0, 3), (1000, 1, 3), (950, 50, 4)]
)
def test_grace_for_nodes_that_have_just_come(since: int, grace_ms: int, owed: int) -> None:
    story = Story()
    story.recorder.interest(since, NodeId(7), "a", "subscribe")
    story.publish(1000)
    assert story.measure(grace_ms=grace_ms).expected == owed


@pytest.mark.parametrize(("until", "owed"), [(1001, 2), (5999, 2), (6000, 2), (6001, 3)])
def test_nodes_that_leave_soon_are_owed_nothing(until: int, owed: int) -> None:
    story = Story()
    story.publish(1000)
    story.recorder.interest(until, NodeId(3), "a", "unsubscribe")
    assert story.measure().expected == owed


def test_an_absence_in_between_is_respected() -> None:
    story = Story()
    story.recorder.interest(500, NodeId(3), "a", "unsubscribe")
    story.publish(1000, seq=0)
    story.recorder.interest(2000, NodeId(3), "a", "subscribe")
    story.publish(3000, seq=1)
    assert story.measure().expected == 2 + 3


def test_publishing_alone_is_owed_nothing() -> None:
    story = Story()
    story.recorder.interest(900, NodeId(8), "a", "publish")
    story.publish(1000, publisher=8)
    story.publish(1100, publisher=0)
    assert story.measure().expected == 4 + 3


def test_duplicates_over_all_and_in_the_steady_state() -> None:
    """Three copies too many with the first event, none with the last on its topic."""
    story = Story()
    first = story.publish(1000, seq=0)
    story.arrive(1001, first, 1, 2, 3)
    for node in (1, 1, 2):
        story.copy(1002, first, node)
    story.arrive(2001, story.publish(2000, seq=1), 1, 2, 3)
    found = story.measure()
    assert found.duplicates == pytest.approx(3 / 6)
    assert found.duplicates_steady == 0


def test_delay_in_hops_and_time() -> None:
    story = Story()
    event = story.publish(1000)
    story.arrive(1004, event, 1, hops=1)
    story.arrive(1010, event, 2, hops=4)
    found = story.measure()
    assert (found.hops_mean, found.hops_max) == (2.5, 4)
    assert (found.latency_ms_mean, found.latency_ms_max) == (7.0, 10)
    assert (found.publications, found.deliveries) == (1, 2)


def test_nothing_published_has_no_ratio() -> None:
    found = Story().measure()
    assert found.publications == found.hops_max == 0
    assert math.isnan(found.hit_ratio)
    assert math.isnan(found.duplicates)
