"""What both hosts are given: a scenario, with everything around the nodes drawn once."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.params import describe
from orbweaver.overlays.catalog import find
from orbweaver.records import Records
from orbweaver.sim.simulation import Simulation
from orbweaver.workload.scenario import Scenario

AROUND = 0
"""The seed of interests, publications and delays."""


@dataclasses.dataclass(frozen=True)
class Play:
    scenario: Scenario
    interests: tuple[tuple[Topic, ...], ...]
    """Of each node."""
    delay_ms: tuple[tuple[int, ...], ...]
    """One way, from each node to each."""
    publications: tuple[tuple[int, int, Topic], ...]
    """(when, by whom, on what)"""
    end_ms: int

    @property
    def warmup_ms(self) -> int:
        return self.scenario.run.warmup_ms


def make_play(scenario: Scenario, overlay: str, params: dict[str, Any]) -> Play:
    """A scenario for one overlay. Membership is gossiped, as on a network."""
    if "membership" in {param.name for param in describe(find(overlay).Params)}:
        params = {**params, "membership": "gossip"}
    scenario = msgspec.structs.replace(scenario, overlay=overlay, params=params)
    simulation = Simulation(scenario, AROUND, find(overlay))
    nodes = range(simulation.workload.nodes)
    latency = simulation.world.latency
    records = simulation.run().records
    published = records["publications"]
    rows = zip(published["time_ms"], published["node"], published["topic"], strict=True)
    return Play(
        scenario,
        simulation.workload.subscriptions.of_node,
        tuple(tuple(latency(NodeId(a), NodeId(b)) for b in nodes) for a in nodes),
        tuple(rows),
        scenario.end_ms(len(simulation.workload.subscriptions.topics)),
    )


def simulated(play: Play, lives: int) -> Records:
    """Played in the simulator, with other chances for the nodes."""
    scenario = play.scenario
    return Simulation(scenario, AROUND, find(scenario.overlay), lives).run().records
