"""GossipSub against its specification."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.overlays.gossipsub import GossipSub, GossipSubParams
from orbweaver.overlays.gossipsub import node as module
from orbweaver.overlays.gossipsub.fanout import Fanout
from orbweaver.overlays.gossipsub.mesh import Mesh
from orbweaver.overlays.gossipsub.messages import (
    EventIds,
    IDontWant,
    IWant,
    MeshEvent,
    MeshGraft,
    MeshIHave,
    MeshPrune,
)
from orbweaver.overlays.gossipsub.recent import RecentEvents
from orbweaver.study.run import run_scenario
from orbweaver.workload.scenario import LatencySpec, PublishSpec, Scenario, WorkloadSpec
from tests.overlays.overlay_net import OverlayNet

MANY = [NodeId(n) for n in range(1, 31)]


def mesh(**given: Any) -> Mesh:
    return Mesh(GossipSubParams(**given), Random(1))


def test_a_mesh_is_kept_between_its_bounds() -> None:
    one = mesh()
    assert len(one.join("t", MANY, 0)) == 6
    for peer in MANY:
        one.on_graft("t", peer, 0)
    assert len(one.peers["t"]) == 12, "a GRAFT is refused from D_high on"
    assert not one.on_graft("t", NodeId(99), 0)
    assert one.maintain("t", MANY, 0) == ([], [])
    one.peers["t"][NodeId(99)] = None
    _, pruned = one.maintain("t", MANY, 0)
    assert len(pruned) == 7
    assert len(one.peers["t"]) == 6


def test_a_mesh_that_is_too_small_is_filled_up_to_d() -> None:
    one = mesh()
    one.join("t", MANY[:3], 0)
    added, pruned = one.maintain("t", MANY, 0)
    assert len(added) == 3
    assert pruned == []
    assert len(one.peers["t"]) == 6


def test_no_peer_is_grafted_during_its_backoff() -> None:
    one = mesh()
    one.join("t", [], 0)
    one.on_prune("t", NodeId(1), 0, 60_000)
    assert one.maintain("t", [NodeId(1)], 59_999) == ([], [])
    assert not one.on_graft("t", NodeId(1), 59_999), "the pruned peer has to wait as well"
    one.forget_backoffs(60_000)
    assert one.maintain("t", [NodeId(1)], 60_000) == ([NodeId(1)], [])


def test_a_peer_cannot_ask_for_a_longer_backoff_than_ours() -> None:
    one = mesh()
    one.join("t", [], 0)
    one.on_prune("t", NodeId(1), 0, 2**62)
    assert one.maintain("t", [NodeId(1)], 60_000) == ([NodeId(1)], [])


def test_fanout_lasts_as_long_as_its_topic_is_published_on() -> None:
    fanout = Fanout(GossipSubParams(), Random(1))
    fanout.published("t", MANY, 0)
    assert len(fanout.peers["t"]) == 6
    fanout.published("t", MANY, 50_000)
    assert fanout.expired(110_000) == []
    assert fanout.expired(110_001) == ["t"]
    assert fanout.peers == {}


def test_an_event_is_announced_at_three_heartbeats() -> None:
    recent, stream = RecentEvents(3), (NodeId(1), 0, "t")
    recent.put(stream, 0)
    for _ in range(3):
        assert recent.to_announce("t") == (EventIds(stream, (0,)),)
        recent.shift()
    assert recent.to_announce("t") == ()


def net(nodes: int = 12, **params: Any) -> OverlayNet:
    return OverlayNet(GossipSub, {node: ["a"] for node in range(nodes)}, **params).start()


def test_nodes_connect_until_each_has_d_subscribers_and_a_mesh() -> None:
    formed = net().run(5000)
    formed.links()
    for node in formed.nodes.values():
        assert len(node.peers) >= 6
        assert 4 <= len(node.mesh.peers["a"]) <= 12


def test_the_two_ends_of_a_mesh_agree() -> None:
    formed = net(30).run(5000)
    pairs = {(n, p) for n, node in formed.nodes.items() for p in node.mesh.peers["a"]}
    assert pairs == {(p, n) for n, p in pairs}


def test_an_event_that_was_lost_on_all_links_is_asked_for() -> None:
    formed = net(flood_publish=False).run(5000)
    deaf = formed.nodes[0]
    # The others take it out of their meshes without a word, so nothing is pushed to it.
    for node in formed.nodes.values():
        node.mesh.drop(NodeId(0))
    deaf.mesh.peers["a"] = dict.fromkeys(list(deaf.peers)[:6])
    formed.nodes[1].publish("a", b"x")
    formed.run(100)
    assert not formed.outboxes[0].delivered
    formed.run(3000)
    assert [event.payload for event, _ in formed.outboxes[0].delivered] == [b"x"]


def test_a_publisher_that_does_not_subscribe_reaches_all_subscribers() -> None:
    formed = OverlayNet(GossipSub, {0: ["b"], **{node: ["a"] for node in range(1, 12)}}).start()
    formed.run(3000)
    formed.nodes[0].publish("a", b"first")
    formed.run(5000)
    formed.nodes[0].publish("a", b"second")
    formed.run(5000)
    for node in range(1, 12):
        got = [event.payload for event, _ in formed.outboxes[node].delivered]
        assert sorted(got) == [b"first", b"second"]
    assert not formed.outboxes[0].delivered


def test_a_silent_peer_is_dropped_from_the_mesh() -> None:
    formed = net().run(5000)
    formed.crash(0)
    formed.run(6000)
    for node in formed.nodes.values():
        assert 0 not in node.peers
        assert 0 not in node.mesh.peers["a"]


def test_iwant_is_answered_up_to_a_limit() -> None:
    formed = net().run(5000)
    node = formed.nodes[0]
    peer = next(iter(node.peers))
    event = node.publish("a", b"x")
    formed.outboxes[0].sent.clear()
    node.receive(peer, IWant((EventIds(event.stream, (event.seq,) * 6000),)))
    assert len(formed.sent(0, MeshEvent)) == 5000
    node.receive(peer, IWant((EventIds(event.stream, (event.seq,)),)))
    assert len(formed.sent(0, MeshEvent)) == 5000


def test_ihave_asks_for_unseen_events_of_own_topics_only() -> None:
    formed = net().run(5000)
    node = formed.nodes[0]
    peer = next(iter(node.peers))
    mine, other = (NodeId(9), 0, "a"), (NodeId(9), 0, "b")
    node.receive(peer, MeshEvent(Event("a", NodeId(9), 0, 1), 1, 0))
    formed.outboxes[0].sent.clear()
    node.receive(peer, MeshIHave((EventIds(mine, (0, 1, 2)), EventIds(other, (0,)))))
    assert formed.sent(0, IWant) == [(peer, IWant((EventIds(mine, (0, 2)),)))]


def test_a_graft_for_a_topic_without_mesh_is_not_answered() -> None:
    formed = net().run(5000)
    peer = next(iter(formed.nodes[0].peers))
    formed.outboxes[0].sent.clear()
    formed.nodes[0].receive(peer, MeshGraft(("b",)))
    assert formed.sent(0, MeshPrune) == []


def test_an_event_does_not_go_to_a_peer_that_does_not_want_it() -> None:
    formed = net().run(5000)
    node = formed.nodes[0]
    first, second, *others = node.mesh.peers["a"]
    node.receive(second, IDontWant((NodeId(99), 0, "a"), 0))
    formed.outboxes[0].sent.clear()
    node.receive(first, MeshEvent(Event("a", NodeId(99), 0, 0), 1, 0))
    assert {to for to, _ in formed.sent(0, MeshEvent)} == set(others)


def test_idontwant_is_sent_from_its_size_on() -> None:
    formed = net(idontwant_bytes=10).run(5000)
    node = formed.nodes[0]
    first, *others = node.mesh.peers["a"]
    formed.outboxes[0].sent.clear()
    node.receive(first, MeshEvent(Event("a", NodeId(99), 0, 0, b"x" * 9), 1, 0))
    assert formed.sent(0, IDontWant) == []
    node.receive(first, MeshEvent(Event("a", NodeId(99), 0, 1, b"x" * 10), 1, 0))
    assert {to for to, _ in formed.sent(0, IDontWant)} == set(others)


def test_what_a_peer_says_and_publishes_costs_a_bounded_amount(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "STREAMS_MAX", 20)
    formed = net().run(5000)
    node = formed.nodes[0]
    peer = next(iter(node.peers))
    for epoch in range(2 * module.UNWANTED_MAX):
        node.receive(peer, IDontWant((NodeId(99), epoch, "a"), 0))
    assert len(node.unwanted[peer]) == module.UNWANTED_MAX
    for epoch in range(100):
        node.receive(peer, MeshEvent(Event("a", NodeId(99), epoch, 0), 1, 0))
    assert len(node.streams) == 20


def test_the_newest_events_are_announced_up_to_a_limit() -> None:
    recent, stream = RecentEvents(3), (NodeId(9), 0, "t")
    for window in range(2):
        for n in range(4000):
            recent.put(stream, 4000 * window + n)
        recent.shift()
    ((ids),) = recent.to_announce("t")
    assert len(ids.seqs) == RecentEvents.ANNOUNCED_MAX
    assert set(ids.seqs) == {*range(4000, 8000), *range(3000, 4000)}


def copies(seed: int, **params: Any) -> float:
    """Return how many copies beyond the first arrive for each delivery."""
    scenario = Scenario(
        overlay="gossipsub",
        params=params,
        workload=WorkloadSpec(nodes=60, topics=4, subscriptions_per_node="2"),
        latency=LatencySpec("uniform", low_ms=1, high_ms=100),
        publish=PublishSpec(per_topic=5, every_ms=500, payload_bytes=2000),
    )
    metrics = run_scenario(scenario, seed).result.metrics
    assert metrics["hit_ratio"] == 1
    return float(metrics["duplicates"])


def test_idontwant_saves_copies_of_large_events() -> None:
    seeds = range(3)
    assert sum(copies(s, idontwant_bytes=1000) for s in seeds) < sum(copies(s) for s in seeds)


def test_flood_publishing_goes_beyond_the_mesh() -> None:
    for flood in (True, False):
        formed = net(30, flood_publish=flood).run(5000)
        node = formed.nodes[0]
        assert node.peers.keys() > node.mesh.peers["a"].keys()
        node.publish("a", b"x")
        expected = node.peers if flood else node.mesh.peers["a"]
        assert {to for to, _ in formed.sent(0, MeshEvent)} == set(expected)
