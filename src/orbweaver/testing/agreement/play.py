"""Draws once what both hosts are given: a scenario, and everything around the nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import msgspec

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.overlay import Overlay
from orbweaver.core.params import build
from orbweaver.core.seeds import derive, generator
from orbweaver.core.topics import TopicTable
from orbweaver.records import Recorder, Records
from orbweaver.sim.node import SimNode
from orbweaver.sim.simulation import Simulation
from orbweaver.sim.world import World
from orbweaver.workload.scenario import Scenario

AROUND = 0
"""The seed of interests, publications and delays."""
JOIN_MS = 50
"""Milliseconds from the join of a node to the join of the next."""


@dataclasses.dataclass(frozen=True)
class Play:
    overlay: type[Overlay]
    scenario: Scenario
    interests: tuple[tuple[Topic, ...], ...]
    """The topics of each node."""
    delay_ms: tuple[tuple[int, ...], ...]
    """One-way delays in ms, from each node to each node."""
    publications: tuple[tuple[int, int, Topic], ...]
    """Publications: (time in ms, number of the publisher, topic)."""
    end_ms: int

    @property
    def warmup_ms(self) -> int:
        return self.scenario.run.warmup_ms


def make_play(scenario: Scenario, overlay: type[Overlay], params: Mapping[str, Any]) -> Play:
    """Return the scenario for one overlay, with everything around the nodes drawn."""
    scenario = msgspec.structs.replace(scenario, overlay=overlay.name, params=dict(params))
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


def simulated(play: Play, seed: int) -> Records:
    """Play the scenario in the simulator. Nodes join one after the other and subscribe when they
    are up, as nodes of a network do. If all nodes and subscriptions were there at once, Vitis, for
    example, would build a table that differs in 3 % of its links."""
    overlay, run = play.overlay, play.scenario.run
    params = build(overlay.Params, play.scenario.params, f"overlay '{overlay.name}'")
    recorder = Recorder()
    world = World(
        len(play.interests),
        overlay,
        params,
        topics=TopicTable(dict.fromkeys(topic for topics in play.interests for topic in topics)),
        latency=lambda sender, to: play.delay_ms[sender][to],
        recorder=recorder,
        node_seed=lambda node, life: derive("agreement", seed, node, life),
        contacts=run.contacts,
        contact_chance=generator("agreement contacts", seed),
    )

    def join(node: SimNode, topics: tuple[Topic, ...]) -> None:
        world.join(node)
        for topic in topics:
            world.subscribe(node, topic)

    def publish(number: int, topic: Topic) -> None:
        world.publish(world.nodes[number], topic, bytes(play.scenario.publish.payload_bytes))

    for number, topics in enumerate(play.interests):
        world.engine.schedule(1 + number * JOIN_MS, join, world.nodes[number], topics)
    for time_ms, number, topic in play.publications:
        world.engine.schedule(time_ms, publish, number, topic)
    for stop in (play.warmup_ms, play.end_ms):
        world.engine.run(stop, run.events_max)
        recorder.snapshot_sends(stop)
    return world.finish()
