"""OMen among liars. That any message is survived is checked in tests/overlays/test_hostile.py."""

from __future__ import annotations

from typing import Any

from orbweaver.core.ids import NodeId
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.overlays.omen import OMen, OMenParams
from orbweaver.overlays.omen.churn import ChurnEvent
from orbweaver.overlays.omen.linking import LINKS_ASKED_MAX
from orbweaver.overlays.omen.messages import (
    Alive,
    ComponentLabel,
    Enlist,
    Handled,
    HeldNeighbor,
    Join,
    LinkRequest,
    Local,
    Mend,
    Probe,
    ProbeLabel,
    ShadowReport,
    ViewTold,
)
from orbweaver.overlays.omen.probing import NEWS_MAX, PROBES_MAX
from orbweaver.overlays.omen.views import LocalView
from tests.gossip.fake_outbox import FakeOutbox, make_context

ME, HONEST, LIAR, OTHER = NodeId(1), NodeId(2), NodeId(3), NodeId(4)
TABLE = TopicTable(["a", "b", "c"])


def about(node: int, topics: str = "ab", version: int = 10) -> Descriptor:
    return Descriptor(NodeId(node), TABLE.interest(topics), version)


def alive(holds: int = 0, about: Any = None, successors: Any = (), labels: Any = ()) -> Alive:
    return Alive(True, False, holds, about, successors, labels)


def linked() -> tuple[Any, FakeOutbox]:
    """A node that wants a and b, linked to the honest one and to the liar."""
    outbox = FakeOutbox()
    node = OMen(make_context(ME, outbox, TABLE), OMenParams())
    for topic in "ab":
        node.subscribe(topic)
    node.start([HONEST])
    for peer in (HONEST, LIAR):
        node.receive(peer, LinkRequest(about(peer)))
    return node, outbox


def sent(outbox: FakeOutbox, kind: type) -> list[Any]:
    return [message for _, message in outbox.sent if type(message) is kind]


def test_nothing_that_is_said_of_a_node_that_lives_makes_it_leave() -> None:
    """No message says that a third node has left. HANDLED only ends work."""
    node, _ = linked()
    node.cycle()
    node.receive(LIAR, Handled(HONEST, 0, "leave"))
    node.receive(LIAR, Handled(HONEST, 0, "join"))
    assert HONEST in node.neighbors
    assert HONEST in node.pool
    assert not node.repairs.churn.pending()


def test_a_node_does_not_say_of_itself_that_its_departure_is_handled() -> None:
    node, _ = linked()
    node.receive(LIAR, Local(7, 7, about(LIAR), ()))
    node.receive(LIAR, Handled(LIAR, 7, "leave"))
    node.receive(OTHER, Handled(LIAR, 7, "leave"))  # no neighbour on the ring
    assert node.repairs.churn.handle_churn_event(ChurnEvent(LIAR, 7, "leave"), ME, ME, 0)


def test_local_views_of_strangers_are_not_kept() -> None:
    node, _ = linked()
    node.follow_ring()
    kept = set(node.views.of)
    for stranger in range(100, 200):
        held = HeldNeighbor(about(HONEST), ())
        node.receive(NodeId(stranger), Local(1, 1, about(stranger), (held,)))
        node.receive(NodeId(stranger), Local(1, 1, about(LIAR), (held,)))  # of another node
        node.receive(NodeId(stranger), ViewTold(OTHER, TABLE.interest("a"), (about(9),), ()))
    assert set(node.views.of) == kept
    assert not node.repairs.coordinator._sessions


def test_probes_that_never_end_are_not_passed_on_for_ever() -> None:
    node, outbox = linked()
    for least in range(1000, 0, -1):
        node.receive(LIAR, Probe(LIAR, 1, (ProbeLabel("a", NodeId(least)),)))
    assert len(sent(outbox, Probe)) <= NEWS_MAX
    for number in range(1000):
        node.receive(LIAR, Probe(LIAR, number, (ProbeLabel("a", NodeId(5)),)))
        node.receive(LIAR, Enlist(number, True, TABLE.interest("c"), None))
    assert len(node.probing._seen) <= PROBES_MAX


def test_probes_of_strangers_and_on_topics_of_others_are_ignored() -> None:
    node, outbox = linked()
    node.receive(OTHER, Probe(OTHER, 1, (ProbeLabel("a", NodeId(0)),)))
    node.receive(LIAR, Probe(OTHER, 1, (ProbeLabel("c", NodeId(0)),)))
    assert not sent(outbox, Probe)


def test_reports_that_nobody_asked_for_are_ignored() -> None:
    node, _ = linked()
    node.receive(LIAR, ShadowReport(1, 2**62, (), (ProbeLabel("a", NodeId(0)),), ()))
    assert not node.repairs.coordinator._sessions


def test_a_degree_that_lies_moves_load_but_cuts_nothing() -> None:
    """A shadow node that claims a huge degree gets fewer edges, and each topic is still joined."""
    node, outbox = linked()
    view = node.views.of.setdefault(OTHER, _view({HONEST: 0b01, LIAR: 0b01}))
    node.repairs.coordinator.begin(ChurnEvent(OTHER, 1, "leave"), {OTHER: view}, ())
    for to, message in node.repairs.coordinator.step(()):
        assert isinstance(message, Enlist)
        label = (ProbeLabel("a", to),)
        node.receive(to, ShadowReport(message.number, 2**62 if to == LIAR else 1, (), label, ()))
    outbox.clock.now += 1000
    mends = node.repairs.coordinator.step(())
    assert sorted((to, *message.peers) for to, message in mends) == [(2, 3), (3, 2)]


def _view(neighbors: dict[NodeId, int]) -> Any:
    view = LocalView(3)
    view.topics = 0b01
    view.neighbors = neighbors
    return view


def test_a_mend_without_end_asks_for_few_links() -> None:
    node, outbox = linked()
    node.receive(LIAR, Mend(tuple(NodeId(n) for n in range(100, 5000))))
    assert len(sent(outbox, LinkRequest)) <= LINKS_ASKED_MAX
    assert set(node.neighbors) == {HONEST, LIAR}


def test_no_link_to_a_node_that_shares_nothing() -> None:
    node, _ = linked()
    node.receive(OTHER, LinkRequest(about(OTHER, "c")))
    node.receive(NodeId(9), LinkRequest(about(OTHER, "a")))  # in the name of another node
    assert set(node.neighbors) == {HONEST, LIAR}


def test_only_a_node_itself_asks_to_join() -> None:
    node, _ = linked()
    node.receive(LIAR, Join(about(OTHER), TABLE.interest("a"), 5))
    assert not node.repairs.churn.pending()
    for number in range(100):
        node.receive(LIAR, Join(about(LIAR), TABLE.interest("a"), number))
    assert len(node.repairs.churn.pending()) <= 1


def test_labels_of_strangers_and_of_other_topics_are_ignored() -> None:
    node, _ = linked()
    node.beat()
    label = ComponentLabel("a", NodeId(0), 2**60)
    node.receive(OTHER, alive(labels=(label,)))
    assert node.labels.of("a")[0].root == ME
    node.receive(LIAR, alive(labels=(ComponentLabel("c", NodeId(0), 1), label)))
    assert node.labels.of("abc") == (label, ComponentLabel("b", ME, 0))


def test_a_silent_liar_is_dropped_whatever_it_said_before() -> None:
    node, outbox = linked()
    node.receive(LIAR, alive(holds=2**62, about=about(LIAR, "ab", 2**61)))
    for _ in range(6):
        outbox.clock.now += 1000
        node.receive(HONEST, alive())
        node.beat()
    assert set(node.neighbors) == {HONEST}
