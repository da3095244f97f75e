"""What a node says in a repair of which it is not the coordinator, and how often."""

from __future__ import annotations

from typing import Any

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.overlays.omen import OMen, OMenParams
from orbweaver.overlays.omen.churn import ChurnEvent
from orbweaver.overlays.omen.messages import (
    Alive,
    ComponentLabel,
    Enlist,
    Handled,
    LinkAccept,
    LinkRequest,
    Mend,
    Probe,
    ProbeLabel,
    ShadowReport,
    Shed,
    Tie,
)
from orbweaver.overlays.omen.probing import SETTLE_MS
from tests.gossip.fake_outbox import FakeOutbox, make_context

TABLE = TopicTable(["a", "b"])
ME, FIRST, SECOND, COORDINATOR = (NodeId(n) for n in (5, 6, 7, 8))
NOTHING = TABLE.interest("")


def linked() -> tuple[OMen, FakeOutbox]:
    """A node that wants a and b, with links to two others, of which the second wants only a."""
    outbox = FakeOutbox()
    node = OMen(make_context(ME, outbox, TABLE), OMenParams())
    for topic in "ab":
        node.subscribe(topic)
    node.start([])
    node.receive(FIRST, LinkRequest(Descriptor(FIRST, TABLE.interest("ab"), 10)))
    node.receive(SECOND, LinkRequest(Descriptor(SECOND, TABLE.interest("a"), 10)))
    outbox.take()
    return node, outbox


def after(node: OMen, outbox: FakeOutbox, delay_ms: int) -> list[tuple[NodeId, Message]]:
    outbox.clock.now += delay_ms
    node.give(node.probing.reports())
    return [(to, m) for to, m in outbox.take() if type(m) in (ShadowReport, Probe)]


def probe(least: int) -> Probe:
    return Probe(COORDINATOR, 1, (ProbeLabel("a", NodeId(least)),))


def ties(*given: Any) -> tuple[Tie, ...]:
    return tuple(Tie(peer, TABLE.interest(topics)) for peer, topics in given)


def test_a_node_that_starts_no_probe_reports_at_once() -> None:
    node, outbox = linked()
    node.receive(COORDINATOR, Enlist(1, True, NOTHING, None))
    told = ShadowReport(1, 2, ties((FIRST, "ab"), (SECOND, "a")), (), ())
    assert after(node, outbox, 0) == [(COORDINATOR, told)]
    assert after(node, outbox, SETTLE_MS) == []


def test_a_report_waits_until_no_news_has_come_for_a_moment() -> None:
    node, outbox = linked()
    node.receive(COORDINATOR, Enlist(1, False, TABLE.interest("a"), None))
    assert [type(m) for _, m in after(node, outbox, 0)] == [Probe, Probe]
    outbox.clock.now += SETTLE_MS - 1
    node.receive(FIRST, probe(3))
    assert [to for to, m in after(node, outbox, 1)] == [SECOND], "passed on"
    label = (ProbeLabel("a", NodeId(3)),)
    told = [(COORDINATOR, ShadowReport(1, 2, (), label, ()))]
    assert after(node, outbox, SETTLE_MS - 1) == told
    node.receive(FIRST, probe(4))
    assert after(node, outbox, SETTLE_MS) == [], "no news"


def test_a_report_says_which_roots_speak_without_the_node_that_left() -> None:
    node, outbox = linked()
    node.labels.step("ab", node.neighbors, 0)

    def alive(sequence: int) -> Alive:
        labels = (ComponentLabel("a", NodeId(2), sequence),)
        return Alive(True, False, 0, None, (), labels)

    node.receive(SECOND, alive(1))
    for sequence in (2, 3):
        outbox.clock.now += 1000
        node.receive(FIRST, alive(sequence))
    outbox.take()
    for left, fresh in ((SECOND, (("a", 2), ("b", 5))), (FIRST, (("b", 5),)), (None, ())):
        node.receive(COORDINATOR, Enlist(left or 0, True, NOTHING, left))
        [(_, report)] = after(node, outbox, 0)
        assert isinstance(report, ShadowReport)
        assert {(label.topic, label.least) for label in report.fresh} == {*fresh}
    assert SECOND in node.neighbors, "that it has left is believed for the report only"


def test_a_link_that_may_be_shed_is_not_named() -> None:
    node, outbox = linked()
    node.receive(FIRST, Shed(1))
    node.receive(COORDINATOR, Enlist(1, True, NOTHING, None))
    [(_, report)] = after(node, outbox, 0)
    assert isinstance(report, ShadowReport)
    assert report.ties == ties((SECOND, "a"))


def test_two_that_ask_each_other_for_a_link_need_no_answers() -> None:
    node, outbox = linked()
    node.receive(COORDINATOR, Mend((COORDINATOR,)))
    about = Descriptor(COORDINATOR, TABLE.interest("a"), 10)
    node.receive(COORDINATOR, LinkRequest(about))
    assert [type(m) for to, m in outbox.take() if to == COORDINATOR] == [LinkRequest]
    assert COORDINATOR in node.neighbors
    node.linking.remove(COORDINATOR)
    outbox.clock.now += 10_000
    node.receive(COORDINATOR, LinkRequest(about))
    assert LinkAccept in [type(m) for to, m in outbox.take() if to == COORDINATOR]


def test_successors_are_told_of_leaves_only() -> None:
    """Only the node that was asked for a join knows of it."""
    node, _ = linked()
    node.circle.consider([FIRST, SECOND])
    for kind, told in (("join", False), ("leave", True)):
        node.repairs.coordinator._finished = [ChurnEvent(COORDINATOR, 1, kind)]  # type: ignore[arg-type]
        sent = [message for _, message in node.repairs.go_on()]
        assert any(isinstance(message, Handled) for message in sent) == told
