"""Make the runs that the claims need, at three scales.

An experiment is a series of scenarios over one variable. T=100, S=10, RSS popularity, a full
view from an oracle, (3,0) and ties broken at random unless it says otherwise.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from orbweaver.study.paper import Experiment
from orbweaver.study.spidercast.paper import SIZES
from orbweaver.workload.scenario import (
    ChurnSpec,
    PublishSpec,
    RunSpec,
    Scenario,
    StudySpec,
    WorkloadSpec,
)

ORACLE = {"membership": "full"}
"""Sec. 3 evaluates with a full view of every node, at no cost."""
COVERAGE_3_0: dict[str, Any] = {"kg": 3, "kr": 0, "adaptive": False}
STATIC = RunSpec(warmup_ms=5000, drain_ms=0, measure_bytes=False)
"""All nodes start together; links have settled after two simulated seconds."""


@dataclasses.dataclass(frozen=True)
class Scale:
    """How large the experiments are."""

    name: str
    sizes: tuple[int, ...]
    topics_nodes: int
    topics: tuple[int, ...]
    subscription_sizes: tuple[int, ...]
    mixed_nodes: int
    view_sizes: tuple[int, ...]
    view_shares: tuple[float, ...]
    churn_nodes: tuple[int, ...]
    churn_on_s: tuple[int, ...]
    churn_s: int


FULL = Scale(
    name="the paper's own",
    sizes=SIZES,
    topics_nodes=10_000,
    topics=(100, 200, 400, 700, 1000),
    subscription_sizes=(1000, 4000, 10_000),
    mixed_nodes=10_000,
    view_sizes=(4000, 8000),
    view_shares=(0.05, 0.1, 0.2, 0.4, 0.7, 1.0),
    churn_nodes=(1250, 2500),
    churn_on_s=(100, 300, 500),
    churn_s=1000,
)
MIDDLE = Scale(
    name="up to three fifths of the paper's nodes",
    sizes=(1000, 6000),
    topics_nodes=4000,
    topics=(100, 400, 1000),
    subscription_sizes=(4000,),
    mixed_nodes=4000,
    view_sizes=(4000,),
    view_shares=(0.05, 0.2, 1.0),
    churn_nodes=(1250,),
    churn_on_s=(100, 300),
    churn_s=600,
)
"""The smallest scale at which the paper's (3,0) leaves topics partitioned with Zipf 2."""
QUICK = Scale(
    name="about a tenth of the paper's",
    sizes=(1000, 2000),
    topics_nodes=1000,
    topics=(100, 200, 400),
    subscription_sizes=(1000,),
    mixed_nodes=1000,
    view_sizes=(1000,),
    view_shares=(0.05, 0.2, 1.0),
    churn_nodes=(250,),
    churn_on_s=(100,),
    churn_s=400,
)

SCALES = {"quick": QUICK, "middle": MIDDLE, "full": FULL}


def scenario(
    label: str, x: float, overlay: str, params: dict[str, Any], **workload: Any
) -> Scenario:
    """Make a static run. Its tdi is taken at twice the mean subscription, as in the paper."""
    spec = WorkloadSpec(**workload)
    return Scenario(
        overlay=overlay,
        study=StudySpec(series=label, x=x),
        params=ORACLE | params,
        workload=spec,
        publish=PublishSpec(per_topic=0),
        run=replace(STATIC, tdi=sum(spec.sizes()[:2])),
    )


def over_nodes(
    label: str, overlay: str, params: dict[str, Any], popularity: str = "zipf:0.5", **more: Any
) -> Experiment:
    return lambda scale, traces: [
        scenario(label, n, overlay, params, nodes=n, popularity=popularity, **more)
        for n in scale.sizes
    ]


def common(label: str) -> str:
    """Return the label of the same series with ties broken in an order common to all nodes."""
    return f"{label}, common ties"


def both_ties(
    label: str, params: dict[str, Any], popularity: str = "zipf:0.5", **more: Any
) -> dict[str, Experiment]:
    """Return a series with ties broken at random, and the same with a common order."""
    other = common(label)
    return {
        label: over_nodes(label, "spidercast", params, popularity, **more),
        other: over_nodes(other, "spidercast", params | {"ties": "common"}, popularity, **more),
    }


def over_topics(scale: Scale, traces: Path) -> list[Scenario]:
    return [
        scenario("topics", t, "spidercast", COVERAGE_3_0, nodes=scale.topics_nodes, topics=t,
                 subscriptions_per_node="20")
        for t in scale.topics
    ]  # fmt: skip


def over_subscriptions(scale: Scale, traces: Path) -> list[Scenario]:
    return [
        scenario(f"subscriptions N={n}", s, "spidercast", COVERAGE_3_0, nodes=n,
                 subscriptions_per_node=str(s))
        for n in scale.subscription_sizes
        for s in (10, 15, 20, 30, 40)
    ]  # fmt: skip


def mixed_sizes(scale: Scale, traces: Path) -> list[Scenario]:
    return [
        scenario(f"mixed {size}", scale.mixed_nodes, "spidercast", COVERAGE_3_0,
                 nodes=scale.mixed_nodes, subscriptions_per_node=size)
        for size in ("20", "10:30", "40", "10:70")
    ]  # fmt: skip


def partial_views(scale: Scale, traces: Path) -> list[Scenario]:
    return [
        scenario(f"views N={n}", share, "spidercast",
                 COVERAGE_3_0 | {"membership": "partial", "view_share": share}, nodes=n)
        for n in scale.view_sizes
        for share in scale.view_shares
    ]  # fmt: skip


def gossiped_views(scale: Scale, traces: Path) -> list[Scenario]:
    """Make the same runs with gossiped views of 5 %, which take time to fill."""
    made = []
    for n in scale.view_sizes:
        params = COVERAGE_3_0 | {"membership": "gossip", "view_size": n // 20}
        one = scenario(f"gossip N={n}", 0.05, "spidercast", params, nodes=n)
        run = RunSpec(warmup_ms=25_000, drain_ms=0, measure_bytes=False)
        made.append(replace(one, run=run))
    return made


def churn(scale: Scale, traces: Path) -> list[Scenario]:
    return _churned(scale, "churn", COVERAGE_3_0)


def _churned(scale: Scale, label: str, params: dict[str, Any]) -> list[Scenario]:
    end = scale.churn_s * 1000
    run = RunSpec(
        warmup_ms=end // 5,
        duration_ms=end,
        snapshots_ms=tuple(range(end // 5, end + 1, end // 5)),
        young_ms=2000,
        measure_bytes=False,
    )
    made = []
    for n in scale.churn_nodes:
        for on_s in scale.churn_on_s:
            one = scenario(f"{label} N={n}", on_s, "spidercast", params, nodes=n)
            on_off = ChurnSpec(
                model="exponential", on_ms=on_s * 1000, off_ms=on_s * 250, new_interest=True
            )
            made.append(replace(one, run=run, churn=on_off))
    return made


OPEN: dict[str, tuple[Any, ...]] = {
    "connect_timeout_ms": (20, 100, 500, 2000),
    "margin": (0, 2, 5, 10),
    "heartbeat_ms": (250, 1000, 3000),
    "quarantine_ms": (0, 1000, 5000, 20_000),
}
"""Parameters to which the paper gives no value (to margin it gives one, without a reason) -> the
values to try, our default among them."""


SHED_AT = ("reached", "exceeded", "never")
"""Readings of when a neighbour is asked to disconnect, where Sec. 2.3.1 and Fig. 3 differ
(docs/decisions/0003-who-sheds-links.md)."""


def sensitivity(scale: Scale, traces: Path) -> list[Scenario]:
    """Make runs of the base setting at the second size with one open parameter changed at a time,
    and runs with churn for `shed_at`, which decides S12 and S13."""
    base = [
        scenario(f"sensitivity {name}", value, "spidercast", COVERAGE_3_0 | {name: value},
                 nodes=scale.sizes[1])
        for name, values in OPEN.items()
        for value in values
    ]  # fmt: skip
    smallest = dataclasses.replace(
        scale, churn_nodes=scale.churn_nodes[:1], churn_on_s=scale.churn_on_s[:1]
    )
    shed = [
        one
        for reading in SHED_AT
        for one in _churned(
            smallest,
            f"sensitivity shed_at={reading}, churn",
            COVERAGE_3_0 | {"shed_at": reading},
        )
    ]
    return base + shed


ADAPTIVE: dict[str, Any] = {"kg": 3, "kr": 0, "adaptive": True}

EXPERIMENTS: dict[str, Experiment] = {
    **both_ties("spidercast", COVERAGE_3_0),
    "uniform": over_nodes("uniform", "spidercast", COVERAGE_3_0, "uniform"),
    "zipf:1": over_nodes("zipf:1", "spidercast", COVERAGE_3_0, "zipf:1"),
    "nyse": over_nodes("nyse", "spidercast", COVERAGE_3_0, "nyse"),
    **{
        f"similarity({x},{y})": over_nodes(
            f"similarity({x},{y})", "similarity", {"similar": x, "random": y}
        )
        for x, y in ((10, 0), (9, 1), (8, 2), (7, 3), (20, 0))
    },
    "random(10)": over_nodes("random(10)", "random", {"random": 10}),
    "ring-per-topic": over_nodes("ring-per-topic", "ring-per-topic", {}),
    **both_ties("t200", COVERAGE_3_0, topics=200),
    **both_ties("zipf2 (3,0)", COVERAGE_3_0, "zipf:2"),
    **both_ties("zipf2 (3,1)", COVERAGE_3_0 | {"kr": 1}, "zipf:2"),
    **both_ties("zipf2 (4,0)", COVERAGE_3_0 | {"kg": 4}, "zipf:2"),
    **both_ties("adaptive zipf:0.5", ADAPTIVE, "zipf:0.5"),
    **both_ties("adaptive nyse", ADAPTIVE, "nyse"),
    **both_ties("adaptive uniform", ADAPTIVE, "uniform"),
    **both_ties("adaptive zipf:2", ADAPTIVE, "zipf:2"),
    "topics": over_topics,
    "subscriptions": over_subscriptions,
    "mixed": mixed_sizes,
    "views": partial_views,
    "gossip": gossiped_views,
    "churn": churn,
    "sensitivity": sensitivity,
}
