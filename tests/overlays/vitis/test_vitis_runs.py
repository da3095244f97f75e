"""Networks of Vitis and its baselines: rings close, and what was lost is mended."""

from __future__ import annotations

from typing import Any

import pytest

from orbweaver.core.identifiers import PLACE_OF_NODE
from orbweaver.core.ids import NodeId
from orbweaver.core.params import build
from orbweaver.core.seeds import derive
from orbweaver.core.topics import TopicTable
from orbweaver.overlays.catalog import find
from orbweaver.overlays.vitis.rvr import Rvr
from orbweaver.overlays.vitis.table import WHOLE_EVERY
from orbweaver.sim.simulation import Simulation
from orbweaver.study.run import run_scenario
from orbweaver.workload.scenario import (
    FaultSpec,
    InterestChange,
    PartitionSpec,
    PublishSpec,
    RunSpec,
    Scenario,
    WorkloadSpec,
)
from tests.gossip.fake_outbox import FakeOutbox, make_context


@pytest.mark.parametrize("name", ["vitis", "rvr"])
def test_the_ring_closes_within_a_few_cycles(name: str) -> None:
    """By gossip alone half of these nodes do not have their successor by then."""
    size = 1000
    scenario = Scenario(
        overlay=name,
        workload=WorkloadSpec(nodes=size, topics=50, subscriptions_per_node="5"),
        publish=PublishSpec(per_topic=0),
        run=RunSpec(warmup_ms=3000, drain_ms=0),
    )
    simulation = Simulation(scenario, 3, find(name))
    simulation.run()
    nodes, places = simulation.world.nodes, simulation.world.places
    order = sorted(range(size), key=lambda n: places[NodeId(n)])
    right = [
        after in nodes[n].overlay.links()  # type: ignore[union-attr]
        for n, after in zip(order, [*order[1:], order[0]], strict=True)
    ]
    assert all(right)


def test_each_seed_has_a_ring_of_its_own() -> None:
    rings = []
    for seed in (1, 2):
        scenario = Scenario(
            overlay="rvr",
            workload=WorkloadSpec(nodes=40, topics=8, subscriptions_per_node="2"),
            publish=PublishSpec(per_topic=0),
            run=RunSpec(warmup_ms=10_000, drain_ms=0),
        )
        simulation = Simulation(scenario, seed, Rvr)
        simulation.run()
        ring = [NodeId(0)]
        while len(ring) < 40:
            overlay = simulation.world.nodes[ring[-1]].overlay
            assert isinstance(overlay, Rvr)
            ring.append(overlay.world.ring.successors[0])
        assert sorted(ring) == list(range(40))
        rings.append(ring)
    assert rings[0] != rings[1]


def test_the_ring_of_a_network_is_made_of_ids_alone() -> None:
    assert make_context(7, FakeOutbox(), TopicTable()).places is PLACE_OF_NODE
    assert PLACE_OF_NODE[NodeId(7)] == derive("node", 7)


@pytest.mark.parametrize("overlay", ["vitis", "rvr", "opt"])
def test_a_network_that_was_cut_in_two_grows_together_again(overlay: str) -> None:
    cut = PartitionSpec(start_ms=10_000, end_ms=40_000)
    scenario = Scenario(
        overlay=overlay,
        workload=WorkloadSpec(nodes=60, topics=12, subscriptions_per_node="4"),
        faults=FaultSpec(partitions=(cut,)),
        publish=PublishSpec(per_topic=2),
        run=RunSpec(warmup_ms=60_000),
    )
    assert run_scenario(scenario, 1).result.metrics["hit_ratio"] == 1


@pytest.mark.parametrize("overlay", ["vitis", "rvr"])
@pytest.mark.parametrize("repair", [True, False])
def test_without_repair_lost_messages_cost_deliveries(overlay: str, repair: bool) -> None:
    scenario = Scenario(
        overlay=overlay,
        params={} if repair else {"repair": False},
        workload=WorkloadSpec(nodes=60, topics=12, subscriptions_per_node="4"),
        faults=FaultSpec(loss=0.02),
        publish=PublishSpec(per_topic=2),
        run=RunSpec(warmup_ms=20_000),
    )
    params = build(find(overlay).Params, scenario.params, overlay)
    assert find(overlay).claims(params).total_delivery is repair
    assert (run_scenario(scenario, 1).result.metrics["hit_ratio"] == 1) is repair


def test_lost_messages_leave_nothing_wrong_behind() -> None:
    """Interests change while one message in ten is lost: a while later all is as if none
    had been."""
    size = 60
    changes = tuple(
        InterestChange(time_ms=10_000, node=n, topic=f"t{(n + i) % 12}", kind=kind)
        for n in range(size)
        for i, kind in enumerate(("unsubscribe", "subscribe"))
    )
    scenario = Scenario(
        overlay="vitis",
        workload=WorkloadSpec(nodes=size, topics=12, subscriptions_per_node="4"),
        faults=FaultSpec(loss=0.1),
        interests=changes,
        publish=PublishSpec(per_topic=0),
        run=RunSpec(warmup_ms=12_000, drain_ms=0),
    )
    simulation = Simulation(scenario, 5, find("vitis"))
    simulation.run()
    world = simulation.world
    assert world.faults is not None
    world.faults.set(FaultSpec())
    world.engine.run(12_000 + 2000 * WHOLE_EVERY, 10**9)
    overlays: list[Any] = [one.overlay for one in world.nodes]
    for overlay in overlays:
        for peer in overlay.table.peers.values():
            there = overlays[peer.node]
            assert peer.about.interest == there.interest.topics
            for topic in peer.shared:
                assert peer.proposals[topic] == there.gateways.proposals[topic]
