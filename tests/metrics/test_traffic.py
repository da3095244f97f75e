"""Overhead of uninteresting copies, and messages by purpose."""

import math

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.gossip.messages import Shuffle
from orbweaver.gossip.plumtree.messages import Push
from orbweaver.metrics.traffic import (
    burdened,
    control_messages_per_change,
    event_bytes,
    node_ms,
    node_seconds,
    overhead_by_node,
    overhead_histogram,
    sent,
    sent_bytes,
    traffic_overhead,
    upkeep_bytes,
)
from orbweaver.overlays.spidercast.messages import Connect, Disconnect, DisconnectOk, Leave
from orbweaver.records import Recorder, Records


@pytest.fixture
def counted() -> Records:
    """Sends noted at 100, 200 and 300; nodes change at 0, 0, 150 and 200."""
    recorder = Recorder()
    for time, node, kind in ((0, 0, "join"), (0, 1, "join"), (150, 2, "join"), (200, 1, "leave")):
        recorder.node(time, NodeId(node), kind)
    for time, connects, shuffles in ((100, 10, 1), (200, 14, 3), (300, 14, 8)):
        recorder.count[Connect] = connects
        recorder.count[Leave] = connects // 10
        recorder.count[Shuffle] = shuffles
        recorder.bytes[Connect] = 5 * connects
        recorder.snapshot_sends(time)
    return recorder.finish(300)


@pytest.mark.parametrize(
    ("start", "end", "build", "membership"),
    [
        (0, None, 15, 8),
        (0, 100, 11, 1),
        (100, 200, 4, 2),
        (200, 300, 0, 5),
        (100, None, 4, 7),
    ],
)
def test_sent_between_two_moments(
    counted: Records, start: int, end: int | None, build: int, membership: int
) -> None:
    assert sent(counted, start, end) == {"build": build, "membership": membership}


def test_moments_at_which_nothing_was_noted(counted: Records) -> None:
    """The last before them counts."""
    assert sent(counted, 150, 299) == sent(counted, 100, 200)


def test_nothing_is_noted_between_two_moments(counted: Records) -> None:
    assert set(sent(counted, 210, 290).values()) == {0}


def test_a_period_from_the_start_has_what_was_sent_at_once() -> None:
    recorder = Recorder()
    recorder.count[Connect] = 7
    recorder.snapshot_sends(0)
    recorder.count[Connect] = 9
    assert sent(recorder.finish(100), 0) == {"build": 9}


def test_how_long_nodes_were_up(counted: Records) -> None:
    assert node_seconds(counted, 300) == pytest.approx(0.3 + 0.2 + 0.15)


def test_bytes_between_two_moments(counted: Records) -> None:
    assert sent_bytes(counted, 100, 200) == {"build": 20, "membership": 0}


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [(0, None, 15 / 4), (0, 100, 11 / 2), (100, 200, 4 / 2)],
)
def test_control_messages_for_each_change(
    counted: Records, start: int, end: int | None, expected: float
) -> None:
    assert control_messages_per_change(counted, start, end) == pytest.approx(expected)


def test_refused_disconnects_can_be_left_out() -> None:
    recorder = Recorder()
    recorder.node(0, NodeId(0), "join")
    for time, asked, answered in ((100, 3, 1), (200, 10, 4)):
        recorder.count[Connect] = 2 * time
        recorder.count[Disconnect], recorder.count[DisconnectOk] = asked, answered
        recorder.snapshot_sends(time)
    recorder.node(150, NodeId(1), "join")
    recorder.node(160, NodeId(1), "leave")
    records = recorder.finish(200)
    assert control_messages_per_change(records, 100) == pytest.approx((200 + 7 + 3) / 2)
    # Of 7 that were asked 3 said yes.
    assert control_messages_per_change(records, 100, refused=False) == pytest.approx(206 / 2)


def test_without_changes_there_is_no_cost_of_one(counted: Records) -> None:
    assert math.isnan(control_messages_per_change(counted, 200, 300))


def test_the_same_moment_is_noted_once(counted: Records) -> None:
    times = list(counted["sends"]["time_ms"])
    assert times == sorted([100, 200, 300] * 3)


@pytest.mark.parametrize(
    ("copies", "by_node", "overall"),
    [
        ([], [], math.nan),
        ([(0, True)], [0.0], 0.0),
        ([(0, True), (0, False)], [0.5], 0.5),
        ([(0, True), (1, False), (1, False), (1, True)], [0.0, 2 / 3], 1 / 3),
    ],
)
def test_overhead_is_the_mean_of_the_nodes_shares(
    copies: list[tuple[int, bool]], by_node: list[float], overall: float
) -> None:
    recorder = Recorder()
    event = Event("a", NodeId(9), 0, 0)
    recorder.published(0, event)
    for node, interested in copies:
        recorder.carried(1, NodeId(node), Push(event, 1, 0), interested)
    records = recorder.finish(10)
    assert overhead_by_node(records) == pytest.approx(by_node)
    assert traffic_overhead(records) == pytest.approx(overall, nan_ok=True)


def test_notices_are_another_reading_of_overhead() -> None:
    recorder = Recorder()
    event = Event("a", NodeId(9), 0, 0, b"")
    recorder.published(0, event)
    for node, copies, notices, interested in ((0, 1, 4, True), (0, 1, 1, False), (1, 1, 2, True)):
        for _ in range(copies):
            recorder.carried(5, NodeId(node), Push(event, 1, 0), interested)
        for _ in range(notices):
            recorder.noticed(NodeId(node), interested)
    records = recorder.finish(10)
    assert overhead_by_node(records) == [0.5, 0.0]
    assert overhead_by_node(records, notices=True) == [0.2, 0.0]
    assert traffic_overhead(records, notices=True) == 0.1
    assert (burdened(records), burdened(records, notices=True)) == (0.5, 0.0)
    assert math.isnan(burdened(Recorder().finish(0)))
    assert overhead_histogram(records) == {0: 1, 5: 1}


def test_times_up_between_two_moments(counted: Records) -> None:
    """Node 1 leaves at 200, and node 2 comes at 150."""
    assert node_ms(counted, 300, 100) == {0: 200, 1: 100, 2: 150}
    assert node_ms(counted, 300, 250) == {0: 50, 1: 0, 2: 50}
    assert node_seconds(counted, 300, 250) == 0.1


def test_bytes_of_upkeep_and_of_events() -> None:
    recorder = Recorder()
    for node in (0, 1):
        recorder.node(0, NodeId(node), "join")
    for time, connects, pushes in ((1000, 100, 10), (3000, 140, 50)):
        recorder.count[Connect], recorder.bytes[Connect] = connects, connects
        recorder.count[Push], recorder.bytes[Push] = pushes, 10 * pushes
        recorder.snapshot_sends(time)
    for seq, time in enumerate((500, 1500, 2500)):
        recorder.published(time, Event(NodeId(0), 0, seq, "t", b""))
    records = recorder.finish(3000)
    assert upkeep_bytes(records, 1000, 3000) == 40 / 4, "two nodes for two seconds"
    assert event_bytes(records, 1000, 3000) == 400 / 2
    assert math.isnan(event_bytes(records, 2600, 3000)), "none was published"


def test_no_bytes_are_known_where_sizes_were_not_measured() -> None:
    recorder = Recorder()
    recorder.node(0, NodeId(0), "join")
    recorder.count[Connect] = 3
    records = recorder.finish(1000)
    assert math.isnan(upkeep_bytes(records, 0, 1000))
