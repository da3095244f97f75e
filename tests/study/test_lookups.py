"""How many links it takes to get to a topic's place."""

from __future__ import annotations

import pytest

from orbweaver.core.identifiers import PLACE_OF_NODE, PLACE_OF_TOPIC, distance
from orbweaver.core.ids import NodeId, Topic
from orbweaver.metrics.snapshot import from_graph
from orbweaver.study.lookups import lookup_hops
from orbweaver.study.run import run_scenario
from orbweaver.workload.scenario import PublishSpec, RunSpec, Scenario, WorkloadSpec

TOPICS = ("a", "b")


def test_in_a_full_mesh_a_lookup_takes_a_hop_or_none() -> None:
    nodes = list(map(NodeId, range(8)))
    mesh = from_graph(dict.fromkeys(nodes, TOPICS), [(a, b) for a in nodes for b in nodes if a < b])
    nearest = {
        t: min(nodes, key=lambda n: distance(PLACE_OF_NODE[n], PLACE_OF_TOPIC[Topic(t)]))
        for t in TOPICS
    }
    assert len(set(nearest.values())) == 2
    hops = lookup_hops(mesh, PLACE_OF_NODE)
    assert hops == pytest.approx(1 - 1 / 8, abs=0.13), "none from the node itself"


@pytest.mark.parametrize(("overlay", "there"), [("vitis", True), ("rvr", True), ("opt", False)])
def test_lookups_are_measured_where_the_overlay_routes_by_place(overlay: str, there: bool) -> None:
    workload = WorkloadSpec(nodes=20, topics=4, subscriptions_per_node="2")
    scenario = Scenario(overlay=overlay, workload=workload, run=RunSpec(warmup_ms=3000))
    hops = run_scenario(scenario, 0).result.metrics["lookup_hops_mean"]
    assert (hops is not None) == there


@pytest.mark.parametrize(
    ("overlay", "share"),
    [("vitis", 1.0), ("rvr", 1.0), ("magnet", 1.0), ("magnet-strawman", 1.0), ("opt", None)],
)
def test_rings_close(overlay: str, share: float | None) -> None:
    workload = WorkloadSpec(nodes=40, topics=4, subscriptions_per_node="2")
    scenario = Scenario(
        overlay=overlay, workload=workload, publish=PublishSpec(per_topic=0),
        run=RunSpec(warmup_ms=20_000, drain_ms=0),
    )  # fmt: skip
    assert run_scenario(scenario, 0).result.metrics["ring_right"] == share
