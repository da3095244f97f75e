"""Where an event went, and where it stopped."""

from __future__ import annotations

from array import array

import pytest

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.gossip.plumtree.messages import Push
from orbweaver.metrics.missed import Stop, Stops
from orbweaver.metrics.trace import Hop, follow, missed_of_events
from orbweaver.records import Records
from orbweaver.records.recorder import Recorder, event_name
from orbweaver.report.trace import hop_rows, lead, tell

EVENT = Event("a", NodeId(0), 0, 0)
NAME = event_name(EVENT)
AT = 10_000
"""When node 0 publishes."""


class Story:
    """Nodes 0 to 9 are up from the start; 0 to 7 subscribe to topic a."""

    def __init__(self) -> None:
        self.recorder = Recorder(copies=True)
        for node in range(10):
            if node < 8:
                self.recorder.interest(0, NodeId(node), "a", "subscribe")
            self.recorder.node(0, NodeId(node), "join")

    def link(self, a: int, b: int, up: int = 100, down: int | None = None) -> None:
        for time, kind in ((up, "up"), (down, "down")):
            if time is not None:
                for one, other in ((a, b), (b, a)):
                    self.recorder.link(time, NodeId(one), NodeId(other), kind)

    def publish(self) -> None:
        self.recorder.published(AT, EVENT)

    def see(
        self, after: int, node: int, peer: int, kind: str, hops: int = 1, why: str = ""
    ) -> None:
        push = Push(EVENT, hops, 0)
        self.recorder.copy(AT + after, NodeId(node), NodeId(peer), push, kind, why)

    def arrive(self, sent: int, arrived: int, sender: int, receiver: int, hops: int = 1) -> None:
        self.see(sent, sender, receiver, "sent", hops)
        self.see(arrived, receiver, sender, "received", hops)
        self.recorder.carried(AT + arrived, NodeId(receiver), Push(EVENT, hops, 0), True)

    def deliver(self, after: int, node: int, hops: int = 1) -> None:
        self.recorder.delivered(AT + after, NodeId(node), EVENT, hops)

    def finish(self) -> Records:
        # Rows of a test are told copy by copy; a host records them by time.
        columns = self.recorder.records["copies"].columns
        order = sorted(range(len(columns["time_ms"])), key=lambda i: columns["time_ms"][i])
        for column in columns.values():
            cells = [column[i] for i in order]
            column[:] = array("q", cells) if isinstance(column, array) else cells
        return self.recorder.finish(100_000)


@pytest.fixture
def story() -> Story:
    made = Story()
    made.publish()
    return made


def why(story: Story, node: int) -> tuple[Stop, str]:
    records = story.finish()
    trace = follow(records, NAME)
    stop = Stops(records, trace).why(node)
    return stop, tell(stop, trace, str)


def test_each_copy_is_put_together_of_its_two_ends(story: Story) -> None:
    story.arrive(0, 10, 0, 1)
    story.deliver(10, 1)
    story.arrive(10, 30, 1, 2, hops=2)
    story.deliver(30, 2, hops=2)
    story.arrive(0, 35, 0, 2)
    story.see(5, 0, 3, "sent")
    story.see(5, 0, 3, "lost", why="loss")
    story.see(6, 0, 4, "sent")
    story.see(16, 4, 0, "refused", why="an event from another time")
    story.see(50, 1, 5, "lost", hops=2, why="queue")
    story.see(60, 5, 2, "pulled")
    story.deliver(60, 5)
    story.see(70, 2, 6, "sent", hops=3)
    trace = follow(story.finish(), NAME)
    assert trace.hops == [
        Hop(0, 3, 1, AT + 5, AT + 5, "lost", "loss"),
        Hop(0, 1, 1, AT, AT + 10, "first"),
        Hop(0, 4, 1, AT + 6, AT + 16, "refused", "an event from another time"),
        Hop(1, 2, 2, AT + 10, AT + 30, "first"),
        Hop(0, 2, 1, AT, AT + 35, "duplicate"),
        Hop(1, 5, 2, None, AT + 50, "lost", "queue"),
        Hop(2, 5, 1, None, AT + 60, "pulled"),
        Hop(2, 6, 3, AT + 70, None, "under way"),
    ]
    assert trace.had == {0: AT, 1: AT + 10, 2: AT + 30, 5: AT + 60}
    assert trace.missed() == [3, 4, 6, 7]
    assert [(hop.sender, hop.receiver) for hop in trace.path(5)] == [(0, 1), (1, 2), (2, 5)]
    assert trace.path(3) == trace.path(0) == []
    assert hop_rows(trace, trace.hops[:2], str) == [
        ["5", "0", "3", "1", "", "lost: loss"],
        ["10", "0", "1", "1", "10", "first"],
    ]
    assert "delivered to 3 of the 7 nodes to which it is owed" in lead(trace, str)


def test_of_equal_copies_the_earliest_sent_arrives_first(story: Story) -> None:
    """And what the network doubles has no sender's view, nor has a loss that of the one before."""
    story.arrive(0, 40, 0, 1)
    story.see(20, 0, 1, "sent")
    story.see(20, 0, 1, "lost", why="loss")
    story.see(41, 1, 0, "received")
    found = follow(story.finish(), NAME).hops
    assert [(hop.sent_ms, hop.end_ms, hop.fate) for hop in found] == [
        (AT + 20, AT + 20, "lost"),
        (AT, AT + 40, "first"),
        (None, AT + 41, "duplicate"),
    ]


def test_a_clock_that_is_behind_does_not_part_the_two_ends(story: Story) -> None:
    story.arrive(5, 2, 0, 1)
    (hop,) = follow(story.finish(), NAME).hops
    assert (hop.sent_ms, hop.end_ms, hop.fate) == (AT + 5, AT + 2, "first")


@pytest.mark.parametrize(
    ("lost", "told"),
    [
        ("loss", "7: the network lost the copy from 0 to 7, 5 ms after the publication."),
        ("partition", "7: a partition cut 7 off from 0"),
        ("down", "7: 7 was down when the copy from 0 arrived"),
        ("queue", "7: the queue of 0 for 7 was full, and dropped the copy"),
        ("unreachable", "7: 0 could not reach 7"),
        ("too large", "7: 7 does not accept a payload of this size from 0"),
    ],
)
def test_a_copy_that_was_lost(story: Story, lost: str, told: str) -> None:
    if lost in ("loss", "partition", "down"):
        story.see(5, 0, 7, "sent")
    story.see(5, 0, 7, "lost", why=lost)
    stop, text = why(story, 7)
    assert stop == Stop(7, "lost", (0, 7), AT + 5, lost)
    assert text.startswith(told)


def test_a_copy_that_the_gate_refused(story: Story) -> None:
    story.see(3, 0, 7, "sent")
    story.see(5, 7, 0, "refused", why="its publisher may not publish on its topic")
    stop, text = why(story, 7)
    assert (stop.reason, stop.way) == ("refused", (0, 7))
    assert text == (
        "7: the gate of 7 refused the copy from 0, 5 ms after the publication: its publisher may "
        "not publish on its topic."
    )


def test_the_last_attempt_counts(story: Story) -> None:
    story.see(5, 0, 7, "lost", why="queue")
    story.see(9, 0, 7, "sent")
    stop, text = why(story, 7)
    assert (stop.reason, stop.way, stop.at_ms) == ("under way", (0, 7), AT + 9)
    assert "nothing says that it arrived" in text


def test_a_neighbour_that_sent_nothing(story: Story) -> None:
    story.link(1, 7)
    story.link(0, 7, up=AT + 50)
    story.arrive(0, 10, 0, 1)
    stop, text = why(story, 7)
    assert stop == Stop(7, "not sent", (1, 7), AT + 10)
    assert text == (
        "7: 1 had it, 10 ms after the publication, and was linked with 7, but sent it no copy."
    )


def test_a_link_that_came_too_late(story: Story) -> None:
    story.link(0, 7, up=AT + 50)
    stop, text = why(story, 7)
    assert stop == Stop(7, "not sent", (0, 7), AT + 50)
    assert "linked with 7 only later, 50 ms after the publication" in text


@pytest.mark.parametrize("crash", [False, True])
def test_a_link_that_went_down_before(story: Story, crash: bool) -> None:
    story.link(1, 7, down=None if crash else AT + 5)
    if crash:
        story.recorder.node(AT + 5, NodeId(1), "crash")
    story.arrive(0, 10, 0, 1)
    stop, text = why(story, 7)
    assert stop == Stop(7, "link down", (1, 7), AT + 5)
    assert text.startswith("7: the link between 1 and 7 went down, 5 ms after the publication")


def test_a_link_of_one_end_is_none(story: Story) -> None:
    story.recorder.link(100, NodeId(0), NodeId(7), "up")
    assert why(story, 7)[0] == Stop(7, "no link")


def test_the_nearest_node_that_had_it_is_some_links_away(story: Story) -> None:
    for a, b in ((0, 1), (1, 2), (2, 7)):
        story.link(a, b)
    story.see(5, 0, 1, "sent")
    story.see(5, 0, 1, "lost", why="loss")
    stop, text = why(story, 7)
    assert stop == Stop(7, "lost", (0, 1, 2, 7), AT + 5, "loss")
    assert "The nearest way is 0 - 1 - 2 - 7; the network lost the copy from 0 to 1" in text


def test_only_a_node_without_interest_leads_there(story: Story) -> None:
    story.link(0, 8)
    story.link(8, 7)
    stop, text = why(story, 7)
    assert stop == Stop(7, "no link", (0, 8, 7))
    assert "no chain of links among subscribers" in text
    assert "the nearest way is 0 - 8 - 7" in text


def test_a_way_over_links_of_the_past_is_none(story: Story) -> None:
    story.link(0, 7, up=100, down=AT - 1)
    stop, text = why(story, 7)
    assert stop == Stop(7, "no link")
    assert "no chain of links leads to it" in text


def test_a_node_that_was_not_there(story: Story) -> None:
    story.recorder.interest(AT + 300, NodeId(9), "a", "subscribe")
    assert why(story, 9)[1] == "9: it subscribed only 300 ms after the publication."
    assert why(story, 8)[1] == "8: it never subscribed to the topic."


def test_a_node_that_had_gone() -> None:
    story = Story()
    for node, kind, time in ((7, "unsubscribe", AT - 200), (6, "unsubscribe", AT - 100)):
        story.recorder.interest(time, NodeId(node), "a", kind)
    story.recorder.node(AT - 100, NodeId(6), "crash")
    story.publish()
    story.recorder.interest(AT + 50, NodeId(5), "a", "unsubscribe")
    assert why(story, 7)[1] == "7: it had unsubscribed 200 ms before the publication."
    assert why(story, 6)[1] == "6: it had gone down 100 ms before the publication."
    assert why(story, 5)[1] == "5: it unsubscribed or went down, 50 ms after the publication."


def test_a_copy_that_arrived_and_was_not_delivered(story: Story) -> None:
    story.arrive(0, 10, 0, 7)
    stop, _ = why(story, 7)
    assert stop == Stop(7, "not delivered", at_ms=AT + 10)


@pytest.mark.parametrize(("node", "reason"), [(0, "published"), (7, "delivered")])
def test_a_node_that_got_it(story: Story, node: int, reason: str) -> None:
    story.arrive(0, 10, 0, 7)
    story.deliver(10, 7)
    assert why(story, node)[0].reason == reason


def test_events_that_missed_most_come_first() -> None:
    story = Story()
    story.publish()
    other = Event("a", NodeId(0), 0, 1)
    story.recorder.published(AT, other)
    for node in (1, 2):
        story.recorder.delivered(AT + 5, NodeId(node), EVENT, 1)
    records = story.finish()
    assert missed_of_events(records) == [(event_name(other), 7, 7), (NAME, 7, 5)]


def test_records_without_copies_say_how_to_get_them() -> None:
    recorder = Recorder()
    recorder.published(AT, EVENT)
    recorder.carried(AT + 5, NodeId(1), Push(EVENT, 1, 0), True)
    records = recorder.finish(AT + 9)
    with pytest.raises(UsageError, match="--copies"):
        follow(records, NAME)
    with pytest.raises(UsageError, match="no event 'x'"):
        follow(records, "x")
