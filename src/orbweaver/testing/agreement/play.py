"""What both hosts are given: a scenario, with everything around the nodes drawn once."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import msgspec

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import Overlay
from orbweaver.core.params import describe
from orbweaver.records import Records
from orbweaver.sim.simulation import Simulation
from orbweaver.workload.scenario import Scenario

AROUND = 0
"""The seed of interests, publications and delays."""


@dataclasses.dataclass(frozen=True)
class Play:
    overlay: type[Overlay]
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


def make_play(scenario: Scenario, overlay: type[Overlay], params: Mapping[str, Any]) -> Play:
    """A scenario for one overlay. Membership is gossiped, as on a network."""
    chosen = dict(params)
    if "membership" in {param.name for param in describe(overlay.Params)}:
        chosen["membership"] = "gossip"
    scenario = msgspec.structs.replace(scenario, overlay=overlay.name, params=chosen)
    simulation = Simulation(scenario, AROUND, overlay)
    nodes = range(simulation.workload.nodes)
    latency = simulation.world.latency
    records = simulation.run().records
    published = records["publications"]
    rows = zip(published["time_ms"], published["node"], published["topic"], strict=True)
    return Play(
        overlay,
        scenario,
        simulation.workload.subscriptions.of_node,
        tuple(tuple(latency(NodeId(a), NodeId(b)) for b in nodes) for a in nodes),
        tuple(rows),
        scenario.end_ms(len(simulation.workload.subscriptions.topics)),
    )


def simulated(play: Play, lives: int) -> Records:
    """Played in the simulator, with other chances for the nodes."""
    return Simulation(play.scenario, AROUND, play.overlay, lives).run().records
