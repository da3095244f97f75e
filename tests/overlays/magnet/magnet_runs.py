"""Small simulated networks of Magnet, and what can be read off them."""

from __future__ import annotations

from typing import Any

from orbweaver.core.ids import NodeId
from orbweaver.overlays.catalog import find
from orbweaver.overlays.magnet import Magnet
from orbweaver.sim.simulation import Simulation
from orbweaver.workload.scenario import (
    FaultSpec,
    InterestChange,
    PublishSpec,
    RunSpec,
    Scenario,
    WorkloadSpec,
)


def begun(
    overlay: str = "magnet",
    nodes: int = 40,
    seed: int = 1,
    interests: tuple[InterestChange, ...] = (),
    loss: float = 0.0,
    **params: Any,
) -> Simulation:
    """A network at time 0 of nodes with interests of two topics out of two groups of five."""
    scenario = Scenario(
        overlay=overlay,
        params=params,
        workload=WorkloadSpec(
            nodes=nodes, topics=10, subscriptions_per_node="3", popularity="buckets:2:1"
        ),
        publish=PublishSpec(per_topic=0),
        interests=interests,
        faults=FaultSpec(loss=loss),
        run=RunSpec(warmup_ms=200_000),
    )
    made = Simulation(scenario, seed, find(overlay))
    made._begin()
    return made


def run_to(simulation: Simulation, time_ms: int) -> dict[NodeId, Magnet]:
    """Run on, and return the nodes that are up."""
    simulation.world.engine.run(time_ms, 10_000_000)
    found = {}
    for node in simulation.world.nodes:
        if node.overlay is not None:
            assert isinstance(node.overlay, Magnet)
            found[node.me] = node.overlay
    return found


def wrong_on_ring(nodes: dict[NodeId, Magnet], skewed: bool) -> list[NodeId]:
    """Return the nodes whose successor or predecessor on a ring is not the right one."""
    order = sorted(nodes, key=lambda n: nodes[n].table.ring(skewed).here)
    wrong = []
    for i, node in enumerate(order):
        ring = nodes[node].table.ring(skewed)
        others = ring.router.others()
        if others[0] != order[(i + 1) % len(order)] or others[-1] != order[i - 1]:
            wrong.append(node)
    return wrong


def path_from_root(nodes: dict[NodeId, Magnet], node: NodeId, topic: str) -> list[NodeId]:
    """Return the path of a tree from its root to a node."""
    path = [node]
    while not nodes[path[-1]].trees.branches[topic].rooted:
        parent = nodes[path[-1]].trees.branches[topic].parent
        assert parent is not None, f"{path[-1]} has no parent in {topic}"
        assert parent in nodes, f"the parent of {path[-1]} in {topic} is down"
        assert path[-1] in nodes[parent].trees.branches[topic].children
        path.append(parent)
        assert len(path) < 100, f"a loop: {path}"
    return path[::-1]


def greedy_path(nodes: dict[NodeId, Magnet], start: NodeId, goal: NodeId) -> list[NodeId]:
    """Return the greedy path on the skewed ring."""
    path = [start]
    while path[-1] != goal:
        hop = nodes[path[-1]].table.skewed.router.next_hop(nodes[goal].place)
        assert hop is not None, f"no way from {path[-1]} to {goal}"
        assert len(path) < 100, f"a loop: {path}"
        path.append(hop)
    return path


def check_trees(nodes: dict[NodeId, Magnet]) -> None:
    """All subscribers hang at one root, which is the home, by the greedy path."""
    roots: dict[str, NodeId] = {}
    for node, magnet in nodes.items():
        for topic in magnet.interest.subscribed:
            path = path_from_root(nodes, node, topic)
            assert roots.setdefault(topic, path[0]) == path[0], f"{topic} has two roots"
            assert nodes[path[0]].trees.is_home(topic)
            assert path == greedy_path(nodes, path[0], node)
            assert magnet.trees.branches[topic].depth == len(path) - 1
