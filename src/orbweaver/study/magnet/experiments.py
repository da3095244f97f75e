"""The runs that Magnet's claims need: each setting once with Magnet and once with the strawman.

Where the paper leaves a setting open: a topic's rate goes by its popularity (Fig. 5 publishes "in
decreasing order of popularity"), and a publisher is a subscriber of the topic.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orbweaver.study.magnet.scales import FILES, SCALES, Scale
from orbweaver.study.paper import Experiment
from orbweaver.workload.scenario import PublishSpec, RunSpec, Scenario, StudySpec, WorkloadSpec

TRACES = {name: scale.traces for name, scale in SCALES.items()}
CALM: dict[str, Any] = {"medians": "exact", "ping_ms": 3000}
"""Without churn, medians from an oracle and fewer heartbeats save time and change nothing that is
measured (docs/overlays/magnet.md)."""
SPARSE = 3
"""Fingers of a node where the paper has 12 links in place of 19 (4.5): 6 links of the ring, 3
fingers of its own and 3 of others."""
RATES = "zipf:0.75"
RATIOS = (10, 5)
"""Categories for each one that a node chooses: b_p/b_n = 0.1 and 0.2."""
DEEP_SIZE = 16
"""Z, where another setting of the hierarchical model is compared (Fig. 8 a)."""
INIT_FRAC, HOMOPHILY = 0.1, 2.0
"""initFrac and lambda where another setting is compared, which are those of Fig. 7."""


def pair(
    scale: Scale, label: str, x: float, workload: WorkloadSpec, rated: bool = False, **params: Any
) -> list[Scenario]:
    """Return a setting with Magnet and with the strawman. Only Magnet is told the rates."""
    publish = PublishSpec(per_topic=1, every_ms=1)
    if rated:
        publish = PublishSpec(events=scale.events, every_ms=1, rates=RATES)
    run = RunSpec(warmup_ms=scale.warmup_ms, drain_ms=4000, measure_bytes=False)
    told = {"rates": RATES} if rated else {}
    return [
        Scenario(
            overlay=overlay,
            study=StudySpec(series=f"{label}, {overlay}", x=x),
            params=CALM | params | (told if overlay == "magnet" else {}),
            workload=workload,
            publish=publish,
            run=run,
        )
        for overlay in ("magnet", "magnet-strawman")
    ]


def modal(
    scale: Scale, chosen: int, categories: int, alpha: float = 1.0, nodes: int = 0, size: int = 0
) -> WorkloadSpec:
    return WorkloadSpec(
        nodes=nodes or scale.nodes,
        topics=scale.topics,
        subscriptions_per_node=str(size or scale.subscriptions),
        popularity=f"multi-modal:{categories}:{chosen}:{alpha:g}",
    )


def correlation(per_choice: int, rated: bool) -> Experiment:
    """4.2, Fig. 3: from the most to the least correlated interests at equal popularity."""
    label = f"{'rates' if rated else 'modes'} {1 / per_choice:g}"

    def made(scale: Scale, traces: Path) -> list[Scenario]:
        return [
            one
            for chosen in scale.modes
            for one in pair(scale, label, chosen, modal(scale, chosen, per_choice * chosen), rated)
        ]

    return made


def exponents(scale: Scale, traces: Path) -> list[Scenario]:
    """4.2, Fig. 4(a)."""
    nodes, size = scale.popularity_nodes, scale.popularity_subscriptions
    return [
        one
        for alpha in scale.exponents
        for one in pair(scale, "exponents", alpha, modal(scale, 1, 5, alpha, nodes, size))
    ]


def subscription_sizes(rated: bool) -> Experiment:
    """4.2, Fig. 4(b)."""
    label = "subscriptions, rates" if rated else "subscriptions"

    def made(scale: Scale, traces: Path) -> list[Scenario]:
        return [
            one
            for size in scale.subscription_sizes
            for one in pair(
                scale, label, size, modal(scale, 1, 5, 0.75, scale.popularity_nodes, size), rated
            )
        ]

    return made


def spatial(mean: int) -> Experiment:
    """4.3, Fig. 6: each node is a topic."""

    def made(scale: Scale, traces: Path) -> list[Scenario]:
        return [
            one
            for n in scale.spatial_nodes
            for one in pair(
                scale, f"spatial {mean}", n,
                WorkloadSpec(
                    nodes=n, topics=n, subscriptions_per_node=str(mean), popularity="spatial"
                ),
            )
        ]  # fmt: skip

    return made


def hierarchical(
    scale: Scale, label: str, x: float, init_frac: float, homophily: float, size: int
) -> list[Scenario]:
    workload = WorkloadSpec(
        nodes=scale.hierarchy,
        topics=scale.hierarchy,
        subscriptions_per_node=str(size),
        popularity=f"hierarchical:{init_frac:g}:{homophily:g}:2",
    )
    return pair(scale, label, x, workload)


def homophily(scale: Scale, traces: Path) -> list[Scenario]:
    """4.4, Fig. 8(a), over lambda."""
    return [
        one
        for value in scale.homophily
        for one in hierarchical(scale, "lambda", value, INIT_FRAC, value, DEEP_SIZE)
    ]


def init_fracs(scale: Scale, traces: Path) -> list[Scenario]:
    """4.4, Fig. 8(a), over initFrac."""
    return [
        one
        for value in scale.init_fracs
        for one in hierarchical(scale, "initFrac", value, value, HOMOPHILY, DEEP_SIZE)
    ]


def hierarchy_sizes(scale: Scale, traces: Path) -> list[Scenario]:
    """4.4, Fig. 8(b)."""
    return [
        one
        for size in scale.hierarchy_sizes
        for one in hierarchical(scale, "Z", size, INIT_FRAC, HOMOPHILY, size)
    ]


def trace(name: str) -> Experiment:
    """4.5: subscriptions of real users."""

    def made(scale: Scale, traces: Path) -> list[Scenario]:
        (of,) = (one for one in scale.traces if one.name.split()[1] == name)
        workload = WorkloadSpec(file=str(of.folder(traces)))
        return pair(scale, f"trace {name}", scale.trace_topics[name], workload, fingers=SPARSE)

    return made


def uncorrelated(scale: Scale, traces: Path) -> list[Scenario]:
    """4.2: b_p = b_n, and topics that are all alike."""
    alike = modal(scale, 1, 1, 0.0)
    return [*pair(scale, "uncorrelated", 1.0, modal(scale, 5, 5)),
            *pair(scale, "uncorrelated", 0.0, alike)]  # fmt: skip


def sizes(scale: Scale, traces: Path) -> list[Scenario]:
    """2.2: paths on either ring over the number of nodes."""
    return [
        one for n in scale.sizes for one in pair(scale, "size", n, modal(scale, 1, 10, nodes=n))
    ]


def fingers(scale: Scale, traces: Path) -> list[Scenario]:
    """2.2: the same over the number of fingers."""
    return [
        one
        for k in scale.fingers
        for one in pair(scale, "fingers", k, modal(scale, 1, 10), fingers=k)
    ]


SPATIAL = (8, 16, 32)
EXPERIMENTS: dict[str, Experiment] = {
    **{f"modes {1 / each:g}": correlation(each, rated=False) for each in RATIOS},
    **{f"rates {1 / each:g}": correlation(each, rated=True) for each in RATIOS},
    "exponents": exponents,
    "subscriptions": subscription_sizes(rated=False),
    "subscriptions, rates": subscription_sizes(rated=True),
    **{f"spatial {mean}": spatial(mean) for mean in SPATIAL},
    "lambda": homophily,
    "initFrac": init_fracs,
    "Z": hierarchy_sizes,
    **{f"trace {name}": trace(name) for name in FILES},
    "uncorrelated": uncorrelated,
    "size": sizes,
    "fingers": fingers,
}
