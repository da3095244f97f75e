"""Groups of linked nodes that go down together, and links that are planned for the start."""

from __future__ import annotations

import pytest

from orbweaver.core.errors import UsageError
from orbweaver.metrics.snapshot import Snapshot, snapshot
from orbweaver.overlays.static import Static
from orbweaver.sim.simulation import Simulation
from orbweaver.workload.scenario import (
    ChurnSpec,
    LinksSpec,
    PublishSpec,
    RunSpec,
    Scenario,
    WorkloadSpec,
)

PATH = [(node, node + 1) for node in range(9)]
"""Ten nodes in a row, so that the members of a group are next to each other."""


def looks(*times: int) -> list[Snapshot]:
    scenario = Scenario(
        overlay="static",
        workload=WorkloadSpec(nodes=10, topics=1, subscriptions_per_node="1"),
        links=LinksSpec(design="lowoda"),
        churn=ChurnSpec(model="neighbors", together=3, start_ms=5000, every_ms=4000, down="crash"),
        publish=PublishSpec(per_topic=0),
        run=RunSpec(warmup_ms=1000, duration_ms=14_000),
    )
    records = Simulation(scenario, 1, Static, PATH).run().records
    return [snapshot(records, time) for time in times]


def test_a_group_of_neighbours_goes_down_and_comes_back() -> None:
    for down in looks(5000, 6999):
        gone = sorted(set(range(10)) - set(down.links))
        assert gone == list(range(gone[0], gone[0] + 3))
    assert [len(look.links) for look in looks(9000, 10_999)] == [7] * 2
    assert [len(look.links) for look in looks(4999, 7000, 8999, 11_000)] == [10] * 4


def test_the_plan_holds_for_the_start_only() -> None:
    (start, later) = looks(4999, 8999)
    assert start.edges() == PATH
    assert later.edges() != PATH, "nodes that came back were told of random nodes"


def test_a_design_has_to_be_planned() -> None:
    scenario = Scenario(overlay="static", links=LinksSpec(design="gm"))
    with pytest.raises(UsageError, match="give a Simulation the plan"):
        Simulation(scenario, 1, Static)
