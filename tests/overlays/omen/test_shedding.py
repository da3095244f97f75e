"""Links that are not needed are ended, and no topic is cut by that (ours, beyond the paper)."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from orbweaver.core.ids import NodeId
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.metrics.snapshot import from_graph
from orbweaver.metrics.topics import shapes
from orbweaver.overlays.omen import OMen, OMenParams
from orbweaver.overlays.omen.messages import (
    Alive,
    LinkDown,
    LinkRequest,
    Probe,
    ProbeLabel,
    Shed,
    ShedTested,
)
from orbweaver.overlays.omen.shedding import TEST_MS
from tests.gossip.fake_outbox import FakeOutbox, make_context
from tests.overlays.overlay_net import OverlayNet

TABLE = TopicTable(["a", "b"])
ME, FIRST, SECOND, THIRD = (NodeId(n) for n in (1, 2, 3, 4))


def linked(**params: Any) -> tuple[OMen, FakeOutbox]:
    """A node with links to three others, which all want what it wants."""
    outbox = FakeOutbox()
    node = OMen(make_context(ME, outbox, TABLE), OMenParams(**params))
    for topic in "ab":
        node.subscribe(topic)
    node.start([])
    for peer in (FIRST, SECOND, THIRD):
        node.receive(peer, LinkRequest(Descriptor(peer, TABLE.interest("ab"), 10)))
    outbox.take()
    return node, outbox


def probe(topics: str, coordinator: NodeId = FIRST, number: int = 7) -> Probe:
    return Probe(coordinator, number, tuple(ProbeLabel(topic, coordinator) for topic in topics))


def test_a_link_is_ended_once_its_probe_has_come_another_way_in_each_topic() -> None:
    node, outbox = linked()
    node.receive(FIRST, Shed(7))
    assert (FIRST, ShedTested(7)) in outbox.take()
    node.receive(FIRST, probe("ab"))
    assert FIRST in node.neighbors, "over the link itself a probe proves nothing"
    node.receive(SECOND, probe("ab", number=6))
    node.receive(SECOND, probe("a"))
    assert FIRST in node.neighbors, "topic b may need the link"
    node.receive(THIRD, probe("b"))
    assert FIRST not in node.neighbors
    assert (FIRST, LinkDown()) in outbox.take()
    node.receive(FIRST, Alive(True, False, 0, None, (), ()))
    assert not outbox.take(), "it crossed the news that the link is gone"
    outbox.clock.now += 3 * node.params.heartbeat_ms
    node.receive(FIRST, Alive(True, False, 0, None, (), ()))
    assert type(outbox.take()[0][1]) is LinkRequest, "that news was lost"


def test_no_probe_crosses_a_link_that_is_tested() -> None:
    node, outbox = linked()
    node.receive(FIRST, Shed(7))
    outbox.take()
    node.receive(SECOND, probe("a", SECOND))
    assert [to for to, message in outbox.take() if type(message) is Probe] == [THIRD]
    node.receive(FIRST, probe("b", SECOND))
    assert not outbox.take()


def test_one_link_is_tested_at_a_time_and_not_for_ever() -> None:
    node, outbox = linked()
    for peer in (FIRST, SECOND, NodeId(9)):
        node.receive(peer, Shed(7))
    assert outbox.take() == [(FIRST, ShedTested(7))]
    outbox.clock.now += TEST_MS + 1
    node.receive(SECOND, probe("ab"))
    assert FIRST in node.neighbors, "too late"
    node.receive(SECOND, Shed(8))
    assert (SECOND, ShedTested(8)) in outbox.take()


def test_a_node_offers_what_it_can_spare_and_probes_once() -> None:
    node, outbox = linked(shed_ms=1000)
    outbox.clock.now += 1000
    node.shed()
    node.shed()
    [(peer, message)] = outbox.take()
    assert type(message) is Shed
    node.receive(peer, ShedTested(message.number + 1))
    assert not outbox.take()
    assert not node.probing._seen, "what was not offered leaves no trace"
    for _ in range(2):
        node.receive(peer, ShedTested(message.number))
    others = {FIRST, SECOND, THIRD} - {peer}
    assert outbox.take() == [(to, probe("ab", ME, message.number)) for to in sorted(others)]
    node.linking.remove(peer)
    outbox.clock.now += 1000
    node.shed()
    assert not outbox.take(), "two links for each topic are not too many"


def test_all_nodes_shed_and_each_topic_stays_connected() -> None:
    """Every two of twelve nodes are linked at first. No safety net mends what is cut."""
    interests = {n: "c" + "ab"[n % 2] for n in range(12)}
    net = OverlayNet(OMen, interests, contacts_are_links=True, shed_ms=1000)
    for node, overlay in net.nodes.items():
        overlay.look_for_others = lambda: None
        overlay.start([n for n in interests if n != node])
    most = 0
    for _ in range(40):
        net.run(1000)
        links = {tuple(sorted((a, int(b)))) for a, one in net.nodes.items() for b in one.links()}
        most = max(most, len(links))
        found = shapes(from_graph(interests, sorted(links)), with_distances=False)
        assert [shape.topic for shape in found if shape.components > 1] == []
    assert most == len(list(combinations(interests, 2)))
    assert len(links) < most / 3
