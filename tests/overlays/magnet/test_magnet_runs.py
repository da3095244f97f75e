"""Magnet in small simulated networks: rings, places, samples, trees and their repair."""

from __future__ import annotations

from collections import Counter
from statistics import fmean

import pytest

from orbweaver.core.identifiers import PLACE_OF_TOPIC, SPACE
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event, Message
from orbweaver.overlays.magnet import Magnet
from orbweaver.overlays.magnet.messages import Beat
from orbweaver.sim.node import SimNode
from orbweaver.workload.scenario import InterestChange
from tests.overlays.magnet.magnet_runs import (
    begun,
    check_trees,
    path_from_root,
    run_to,
    wrong_on_ring,
)

FORMED_MS = 50_000


@pytest.mark.parametrize("overlay", ["magnet", "magnet-strawman"])
@pytest.mark.parametrize("medians", ["walks", "exact"])
def test_rings_close_and_every_path_is_the_greedy_one(overlay: str, medians: str) -> None:
    nodes = run_to(begun(overlay, medians=medians, fingers=2, ring_size=1), FORMED_MS)
    assert wrong_on_ring(nodes, skewed=False) == []
    assert wrong_on_ring(nodes, skewed=True) == []
    check_trees(nodes)


def test_nodes_of_one_kind_stand_together_and_no_two_at_one_place() -> None:
    nodes = run_to(begun(), FORMED_MS)
    assert len({magnet.place for magnet in nodes.values()}) == len(nodes)
    assert all(magnet.placed for magnet in nodes.values())
    order = sorted(nodes, key=lambda n: nodes[n].place)
    alike = [
        nodes[a].likeness(nodes[b].sub) for a, b in zip(order, order[1:] + order[:1], strict=True)
    ]
    straw = run_to(begun("magnet-strawman"), FORMED_MS)
    order = sorted(straw, key=lambda n: straw[n].place)
    unlike = [
        straw[a].likeness(straw[b].sub) for a, b in zip(order, order[1:] + order[:1], strict=True)
    ]
    assert sum(alike) > 1.5 * sum(unlike)
    assert all(m.place == m.context.places[m.context.me] for m in straw.values())


def test_fingers_are_more_similar_if_biased() -> None:
    def likeness(biased: bool) -> float:
        alike = []
        for seed in (1, 2, 3):
            # Many walks, so that there are two different nodes to choose from.
            nodes = run_to(begun(biased=biased, fingers=4, walks=16, seed=seed), FORMED_MS)
            for magnet in nodes.values():
                fingers = [nodes[finger].sub for finger in magnet.table.fingers]
                alike += map(magnet.likeness, fingers)
        return fmean(alike)

    assert likeness(biased=True) > 1.1 * likeness(biased=False)


def test_estimated_rates_approach_the_rates_of_publication() -> None:
    simulation = begun(rates="estimated")
    nodes = run_to(simulation, FORMED_MS)
    world = simulation.world
    # Topics of one group, so that some nodes want both. Of four events, three are on the first.
    often, seldom = "t1", "t3"
    publisher = world.nodes[next(n for n in nodes if often in nodes[n].interest.subscribed)]
    for i in range(200):
        world.publish(publisher, seldom if i % 4 == 3 else often, b"x")
        run_to(simulation, FORMED_MS + 20 * i)
    nodes = run_to(simulation, FORMED_MS + 30_000)
    both = [m for m in nodes.values() if {often, seldom} <= set(m.interest.subscribed)]
    assert both
    for magnet in both:
        # A topic of which nothing is known has the rate 1.
        assert magnet.rates is not None
        assert (magnet.rates[often] - 1) / (magnet.rates[seldom] - 1) == pytest.approx(3, rel=0.05)
        alone = {topic: magnet.context.topics.interest([topic]) for topic in (often, seldom)}
        assert magnet.likeness(alone[often]) > 2 * magnet.likeness(alone[seldom])


def test_trees_are_joined_when_nearly_all_nodes_have_their_places() -> None:
    simulation = begun()
    time_ms, nodes = 0, run_to(simulation, 0)
    while not any(m.trees.is_on(topic) for m in nodes.values() for topic in m.interest.subscribed):
        time_ms += 500
        assert time_ms < FORMED_MS
        nodes = run_to(simulation, time_ms)
    assert sum(magnet.placed for magnet in nodes.values()) >= 0.8 * len(nodes)


@pytest.mark.parametrize("hashed", [False, True])
def test_each_subscriber_knows_another_one(hashed: bool) -> None:
    nodes = run_to(begun(samples=2, hashed=hashed), FORMED_MS)
    for node, magnet in nodes.items():
        for topic in magnet.interest.subscribed:
            others = [n for n in nodes if topic in nodes[n].interest.subscribed and n != node]
            known = magnet.members(topic)
            assert bool(known) == bool(others), f"{node} on {topic}"
            assert set(known) <= set(others)
            assert len(known) <= 2


def test_a_sample_has_the_k_subscribers_with_the_smallest_hash() -> None:
    nodes = run_to(begun(samples=3), FORMED_MS)
    places = nodes[NodeId(0)].context.places
    for topic in (f"t{i}" for i in range(10)):
        subscribers = [n for n in nodes if topic in nodes[n].interest.subscribed]
        salt = PLACE_OF_TOPIC[topic] | 1
        left = sorted(subscribers, key=lambda n: places[n] * salt % SPACE)[:3]
        for node in subscribers:
            assert set(nodes[node].members(topic)) == {*left} - {node}


def test_beats_name_a_tree_once_in_four_while_nothing_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    simulation = begun()
    nodes = run_to(simulation, FORMED_MS + 20_000)
    named: Counter[tuple[NodeId, NodeId, str]] = Counter()
    send = SimNode.send

    def counted(self: SimNode, to: NodeId, message: Message) -> None:
        if isinstance(message, Beat):
            named.update((self.me, to, branching.topic) for branching in message.branches)
        send(self, to, message)

    monkeypatch.setattr(SimNode, "send", counted)
    nodes = run_to(simulation, FORMED_MS + 20_000 + 4 * nodes[NodeId(0)].params.beat_ms)
    edges = {
        (node, child, topic)
        for node, magnet in nodes.items()
        for topic, branch in magnet.trees.branches.items()
        for child in branch.children
    }
    assert edges
    assert named == dict.fromkeys(edges, 1)


def test_a_rejoin_moves_a_node_on_the_skewed_ring_only_and_not_too_often() -> None:
    changes = tuple(
        InterestChange(time_ms=FORMED_MS + 3000 * i, node=5, kind="subscribe", topic=f"t{i}")
        for i in range(10)
    )
    simulation = begun(interests=changes, rejoin_changes=2, rejoin_ms=8000)
    before = run_to(simulation, FORMED_MS - 1)[NodeId(5)]
    place, moves = before.place, before.moves
    nodes = run_to(simulation, FORMED_MS + 80_000)
    after = nodes[NodeId(5)]
    assert 1 <= after.moves - moves <= 4
    assert after.place != place
    assert after.table.control.here == after.context.places[NodeId(5)]
    assert wrong_on_ring(nodes, skewed=True) == []
    check_trees(nodes)


def test_a_node_that_unsubscribes_leaves_the_tree() -> None:
    simulation = begun()
    nodes = run_to(simulation, FORMED_MS)
    topic = next(iter(nodes[NodeId(3)].interest.subscribed))
    for node in list(nodes):
        simulation.world.unsubscribe(simulation.world.nodes[node], topic)
    nodes = run_to(simulation, FORMED_MS + 20_000)
    assert [n for n in nodes if topic in nodes[n].trees.branches] == []


def test_the_home_crashes_and_nothing_is_lost() -> None:
    simulation = begun()
    nodes = run_to(simulation, FORMED_MS)
    world = simulation.world
    topic = "t1"
    members = [n for n in nodes if topic in nodes[n].interest.subscribed]
    home = next(n for n in nodes if nodes[n].trees.is_home(topic))
    publisher = next(n for n in members if n != home)
    events: list[Event | None] = []
    for i in range(6):
        events.append(world.publish(world.nodes[publisher], topic, b"%d" % i))
        run_to(simulation, FORMED_MS + 20 * i + 10)
        if i == 2:
            world.crash(world.nodes[home])
    nodes = run_to(simulation, FORMED_MS + 25_000)
    for node in members:
        if node in nodes:
            for event in events:
                assert event is not None
                name = (event.publisher, event.epoch, event.topic, event.seq)
                assert nodes[node].events.seen(name), f"{node} lacks {event.seq}"
    check_trees(run_to(simulation, FORMED_MS + 80_000))


def test_what_a_broken_branch_missed_is_pulled() -> None:
    simulation = begun(nodes=60, fingers=2, ring_size=2)
    nodes = run_to(simulation, FORMED_MS)
    world = simulation.world
    paths = [
        path_from_root(nodes, node, topic)
        for node, magnet in nodes.items()
        for topic in magnet.interest.subscribed
        if topic == "t1"
    ]
    path = max(paths, key=len)
    assert len(path) >= 3
    publisher = path[-1]
    world.crash(world.nodes[path[-2]])
    event = world.publish(world.nodes[publisher], "t1", b"while the branch is broken")
    assert event is not None
    nodes = run_to(simulation, FORMED_MS + 25_000)
    name = (event.publisher, event.epoch, event.topic, event.seq)
    for node, magnet in nodes.items():
        if "t1" in magnet.interest.subscribed:
            assert magnet.events.seen(name), f"{node} lacks it"
    check_trees(run_to(simulation, FORMED_MS + 80_000))


def test_churn_leaves_the_rings_right() -> None:
    simulation = begun(loss=0.02)
    world = simulation.world
    run_to(simulation, FORMED_MS)
    for i in range(12):
        world.crash(world.nodes[3 * i])
        run_to(simulation, FORMED_MS + 500 * i)
        if i % 2:
            world.join(world.nodes[3 * i])
    nodes = run_to(simulation, FORMED_MS + 50_000)
    assert wrong_on_ring(nodes, skewed=False) == []
    assert wrong_on_ring(nodes, skewed=True) == []
    for node, magnet in nodes.items():
        for topic in magnet.interest.subscribed:
            path_from_root(nodes, node, topic)
    assert isinstance(nodes[NodeId(1)], Magnet)
