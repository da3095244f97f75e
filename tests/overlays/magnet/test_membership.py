"""The sampling of interests (Magnet 3.4) at one node."""

from __future__ import annotations

from typing import Any

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.topics import NOTHING, TopicTable
from orbweaver.gossip.messages import Relay
from orbweaver.gossip.relays import Relays
from orbweaver.overlays.magnet.membership import PART, WAIT_CYCLES, Membership
from orbweaver.overlays.magnet.messages import Report, Sample, TopicSamples, View
from orbweaver.overlays.magnet.params import MagnetParams
from tests.gossip.fake_outbox import FakeOutbox, make_context

ME, PARENT, LEFT, RIGHT = NodeId(1), NodeId(2), NodeId(3), NodeId(4)
TABLE = TopicTable(["a", "b"])
CYCLE_MS = 1000


def sample_of(node: int, version: int = 1, placed: bool = False) -> Sample:
    return Sample(NodeId(node), NOTHING, (), (), node, placed, version)


class One:
    """One node with a parent in all control trees, or none."""

    def __init__(self, parent: NodeId | None, **settings: Any) -> None:
        self.outbox = FakeOutbox()
        context = make_context(ME, self.outbox, TABLE)
        self.relays = Relays(context, lambda place: parent, 1 << 40)
        self.membership = Membership(context, MagnetParams(**settings), self.relays)
        self.cycle()  # the first repetition

    def child(self, node: NodeId, *topics: Topic) -> None:
        self.relays.on_relay(node, Relay(topics))

    def report(self, child: NodeId, *samples: Sample, topic: Topic = "a") -> None:
        self.membership.on_report(child, Report(None, (), (TopicSamples(topic, samples),)))

    def cycle(self) -> list[tuple[NodeId, Any]]:
        """Run one cycle. Return the reports and results that it sends."""
        self.outbox.take()
        self.membership.step()
        self.outbox.clock.now += CYCLE_MS
        return [(to, m) for to, m in self.outbox.take() if isinstance(m, Report | View)]


def test_the_first_report_waits_for_the_children() -> None:
    node = One(PARENT)
    node.child(LEFT, "a")
    node.child(RIGHT, "a")
    node.report(LEFT, sample_of(LEFT))
    assert node.cycle() == []
    node.report(RIGHT, sample_of(RIGHT))
    ((to, report),) = node.cycle()
    assert to == PARENT
    assert {one.node for one in report.combined[0].samples} == {LEFT, RIGHT}


def test_a_child_that_reports_nothing_is_not_waited_for_without_end() -> None:
    node = One(PARENT)
    node.child(LEFT, "a")
    node.child(RIGHT, "a")
    node.report(LEFT, sample_of(LEFT))
    sent = [node.cycle() for _ in range(WAIT_CYCLES + 1)]
    assert sent[:-1] == [[]] * WAIT_CYCLES
    ((_, report),) = sent[-1]
    assert report.combined[0].samples == (sample_of(LEFT),)


def test_a_change_does_not_wait_for_other_children() -> None:
    node = One(PARENT)
    node.child(LEFT, "a")
    node.report(LEFT, sample_of(LEFT))
    assert len(node.cycle()) == 1
    node.child(RIGHT, "a")
    node.report(LEFT, sample_of(LEFT, version=2))
    ((_, report),) = node.cycle()
    assert report.combined[0].samples == (sample_of(LEFT, version=2),)


def test_a_home_sends_one_result_in_a_round() -> None:
    node = One(None, round_ms=4 * CYCLE_MS)
    node.child(LEFT, "a")
    results = []
    for cycle in range(13):
        node.report(LEFT, sample_of(LEFT, version=1 + cycle))
        results += [(cycle, view.topics[0].samples[0].version) for _, view in node.cycle()]
    assert results == [(0, 1), (4, 5), (8, 9), (12, 13)]


def test_a_home_without_news_is_silent() -> None:
    node = One(None)
    node.child(LEFT, "a")
    node.report(LEFT, sample_of(LEFT))
    assert len(node.cycle()) == 1
    for _ in range(10):
        node.report(LEFT, sample_of(LEFT))
        assert node.cycle() == []


def test_a_change_is_told_where_the_node_is_in_the_sample_or_there_is_room() -> None:
    def told(*result: int) -> bool:
        node = One(PARENT, samples=2)
        node.membership.subscribe(["a"], sample_of(ME))
        assert len(node.cycle()) == 1
        view = View((TopicSamples("a", tuple(map(sample_of, result))),))
        node.membership.on_view(PARENT, view)
        node.membership.tell(sample_of(ME, version=2, placed=True))
        return bool(node.cycle())

    assert told(ME, LEFT)
    assert told(LEFT)
    assert not told(LEFT, RIGHT)


def test_what_was_not_told_is_told_in_the_end() -> None:
    node = One(PARENT, samples=2)
    node.membership.subscribe(["a"], sample_of(ME))
    node.cycle()
    full = View((TopicSamples("a", (sample_of(LEFT), sample_of(RIGHT))),))
    node.membership.on_view(PARENT, full)
    node.membership.tell(sample_of(ME, version=2, placed=True))
    sent = [report for _ in range(60) for _, report in node.cycle()]
    assert sent
    assert all(report.own == sample_of(ME, version=2, placed=True) for report in sent)


def test_a_child_that_goes_leaves_the_sample() -> None:
    node = One(PARENT)
    node.child(LEFT, "a")
    node.child(RIGHT, "a")
    node.report(LEFT, sample_of(LEFT))
    node.report(RIGHT, sample_of(RIGHT))
    node.cycle()
    node.relays.lost(LEFT)
    ((_, report),) = node.cycle()
    assert report.combined[0].samples == (sample_of(RIGHT),)


def test_more_topics_than_a_message_holds_go_into_several() -> None:
    topics = [f"t{i}" for i in range(2 * PART + 1)]
    leaf = One(PARENT)
    leaf.membership.subscribe(topics, sample_of(ME))
    reports = [report for _, report in leaf.cycle()]
    assert [len(report.leaf_of) for report in reports] == [PART, PART, 1]
    assert all(report.own == sample_of(ME) for report in reports)

    home = One(None)
    home.child(LEFT, *topics)
    for report in reports:
        home.membership.on_report(LEFT, Report(sample_of(LEFT), report.leaf_of, ()))
    assert [len(view.topics) for _, view in home.cycle()] == [PART, PART, 1]
