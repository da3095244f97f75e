"""Claim O12: after at most L concurrent churn events every topic is connected again.

The safety net is switched off before the crashes, so what mends the overlay are the coordinators.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orbweaver.core.ids import NodeId
from orbweaver.core.params import build
from orbweaver.core.seeds import generator, pick, sample
from orbweaver.core.topics import TopicTable
from orbweaver.metrics.snapshot import from_graph
from orbweaver.metrics.topics import shapes
from orbweaver.overlays.omen import OMen, OMenParams
from orbweaver.records import Recorder
from orbweaver.sim.world import World
from orbweaver.testing.pump import Pump

NODES, TOPICS, L = 18, 8, 3


def cut_topics(pump: Pump) -> list[str]:
    up = pump.up()
    edges = [(a, int(b)) for a in up for b in pump.links(a) if b in up]
    found = shapes(from_graph(dict(up), edges), with_distances=False)
    return [shape.topic for shape in found if shape.components > 1]


def formed(seed: int, **given: Any) -> Pump:
    """An overlay that has formed, with the safety net switched off since."""
    settings = {"resilience": L} | given
    pump = Pump(OMen, build(OMenParams, settings, "test"), seed)
    rng = generator("omen", seed)
    for node in range(NODES):
        pump.join(node, [f"t{n}" for n in sample(rng, range(TOPICS), 3)])
        pump.run(0.1)
    pump.run(25)
    assert cut_topics(pump) == []
    for made in pump._nodes.values():
        made.overlay.look_for_others = lambda: None  # type: ignore[attr-defined]
    return pump


def adjacent(pump: Pump, seed: int, count: int) -> list[int]:
    """Nodes that form a connected piece of the overlay."""
    rng = generator("adjacent", seed)
    chosen = [pick(rng, sorted(pump.up()))]
    while len(chosen) < count:
        near = sorted({int(p) for n in chosen for p in pump.links(n)} - {*chosen})
        chosen.append(pick(rng, near))
    return chosen


@pytest.mark.parametrize("coverage", [1, 5])
@pytest.mark.parametrize("seed", [0, 10, 13])  # without chaining, 10 and 13 stay cut
def test_neighbours_that_crash_together_leave_no_topic_cut(seed: int, coverage: int) -> None:
    pump = formed(seed, coverage=coverage)
    for node in adjacent(pump, seed, L):
        pump.crash(node)
    pump.run(14)
    assert cut_topics(pump) == []


def test_components_by_a_hop_mend_as_well() -> None:
    pump = formed(3, components="hop")
    for node in adjacent(pump, 3, L):
        pump.crash(node)
    pump.run(14)
    assert cut_topics(pump) == []


def test_components_by_an_oracle_mend_as_well() -> None:
    rng = generator("omen", 4)  # here a repair that adds no links leaves a topic cut
    world = World(
        NODES, OMen, OMenParams(resilience=L, components="oracle"), topics=TopicTable(),
        latency=lambda a, b: 5, recorder=Recorder(), contact_chance=rng,
        node_seed=lambda node, life: 100 * node + life,
    )  # fmt: skip
    for node in world.nodes:
        node.wanted |= {f"t{n}": None for n in sample(rng, range(TOPICS), 3)}
    world.join_all(world.nodes)
    world.engine.run(15_000, 10**7)
    wanted = {int(node.me): set(node.wanted) for node in world.nodes}
    for node in world.nodes:
        node.overlay.look_for_others = lambda: None  # type: ignore[union-attr]
    for gone in [0, *sample(rng, list(world.links_of(NodeId(0))), L - 1)]:
        world.crash(world.nodes[gone])
        del wanted[gone]
    world.engine.run(29_000, 10**7)
    edges = [(a, int(b)) for a in wanted for b in world.links_of(NodeId(a)) if b in wanted]
    found = shapes(from_graph(dict(wanted), edges), with_distances=False)
    assert [shape.topic for shape in found if shape.components > 1] == []


@settings(
    max_examples=4, deadline=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(
    seed=st.integers(0, 99),
    gone=st.lists(
        st.tuples(st.integers(0, NODES - 1), st.booleans(), st.sampled_from([0.0, 0.1, 2.0])),
        min_size=1, max_size=L, unique_by=lambda leave: leave[0],
    ),
)  # fmt: skip
def test_any_l_concurrent_leaves(seed: int, gone: list[tuple[int, bool, float]]) -> None:
    pump = formed(seed)
    for node, crashes, after in gone:
        pump.run(after)
        (pump.crash if crashes else pump.leave)(node)
    pump.run(14)
    assert cut_topics(pump) == []


def test_the_safety_net_mends_what_exceeds_l() -> None:
    pump = formed(5, resilience=1)
    for made in pump._nodes.values():
        del made.overlay.look_for_others  # type: ignore[attr-defined]
    for node in adjacent(pump, 5, NODES // 2):
        pump.crash(node)
    pump.run(30)
    assert cut_topics(pump) == []


def test_state_is_kept_of_2l_nodes_at_most() -> None:
    """Claim O13."""
    pump = formed(6)
    for node in adjacent(pump, 6, L):
        pump.crash(node)
        for _ in range(8):
            pump.run(0.5)
            for made in pump._nodes.values():
                assert len(made.overlay.views.of) <= 2 * L  # type: ignore[attr-defined]
