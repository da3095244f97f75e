"""Make the runs that Vitis' claims need.

There are three patterns of interest: random, low and high correlation. With low and high
correlation each node takes its topics from five or from two groups.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from orbweaver.overlays.catalog import find
from orbweaver.study.paper import Experiment
from orbweaver.study.traces import Trace
from orbweaver.study.vitis.scales import SCALES, Scale
from orbweaver.workload.scenario import (
    ChurnSpec,
    PublishSpec,
    RunSpec,
    Scenario,
    StudySpec,
    WorkloadSpec,
)

TABLE = 15
FRIENDS_MAX = TABLE - 3
"""Most friends in a table of 15, which also holds successor, predecessor and at least one long
link."""


SESSIONS = Trace("sessions", "churn/p2p_livestream_sessions_2020_06_01.csv.gz", "sessions")
TRACES = {name: (scale.twitter, SESSIONS) for name, scale in SCALES.items()}
SPEED = 10
"""How many times faster than in reality the availability trace is played. Half of its sessions
then last more than a minute."""
EVENING_MS = 69_000_000
"""Where in the trace a run begins, in milliseconds: after 19 h, when 360 peers are up and their
number rises towards 800."""
EVERY_MS = 1
"""Milliseconds between publications, where nothing depends on them."""
SETTLED_MS = 10_000
"""Milliseconds before the first publication during which utility must not change (V2): ten
cycles."""
PATIENCE_MS = 10_000
"""Milliseconds after a join from which on a node should get events (IV-E and IV-F)."""


def scenario(
    scale: Scale, label: str, x: float, overlay: str, pattern: str = "random",
    nodes: int = 0, published: str = "uniform", **params: Any,
) -> Scenario:  # fmt: skip
    defaults = find(overlay).Params()
    return Scenario(
        overlay=overlay,
        study=StudySpec(series=label, x=x),
        # Without those that change nothing: what several experiments share is run once.
        params={name: value for name, value in params.items() if value != getattr(defaults, name)},
        workload=WorkloadSpec(
            nodes=nodes or scale.nodes,
            topics=scale.topics,
            subscriptions_per_node=str(scale.subscriptions),
            popularity=scale.law(pattern),
        ),
        publish=PublishSpec(events=scale.events, every_ms=EVERY_MS, rates=published),
        run=RunSpec(warmup_ms=scale.warmup_ms, measure_bytes=False),
    )


def friends(pattern: str) -> Experiment:
    """Vary the number of friends in a table of fixed size (IV-B). The other places are long
    links."""
    return lambda scale, traces: [
        _settled(
            scale,
            scenario(scale, f"friends {pattern}", x, "vitis", pattern, long_links=TABLE - 2 - x),
        )
        for x in scale.friends
    ]


def friendless(scale: Scale, traces: Path) -> list[Scenario]:
    """Run RVR after a warm-up of the same length, for comparison (IV-B)."""
    return [_settled(scale, scenario(scale, "friends rvr", 0, "rvr"))]


def _settled(scale: Scale, made: Scenario) -> Scenario:
    """Measure late, with an earlier snapshot, which shows whether friends still change."""
    looks = (scale.settle_ms - SETTLED_MS,)
    run = replace(made.run, warmup_ms=scale.settle_ms, snapshots_ms=looks)
    return replace(made, run=run)


def tables(label: str, overlay: str, pattern: str) -> Experiment:
    """Vary the size of the table (IV-C)."""
    return lambda scale, traces: [
        scenario(scale, f"table {label}", x, overlay, pattern, table_size=x) for x in scale.tables
    ]


def rates(label: str, overlay: str, pattern: str) -> Experiment:
    """Vary the skew of publication rates (IV-D). Vitis is told the rates; RVR has no use for
    them."""

    def made(scale: Scale, law: str, x: float) -> Scenario:
        params: dict[str, Any] = {"rates": law} if overlay == "vitis" else {}
        name = f"rates {label}"
        return scenario(scale, name, x, overlay, pattern, published=law, **params)

    return lambda scale, traces: [made(scale, f"zipf:{x:g}", x) for x in scale.rates]


def sizes(label: str, overlay: str) -> Experiment:
    """Vary the number of nodes, for the bound on the delay (III-A)."""
    return lambda scale, traces: [
        scenario(scale, f"size {label}", n, overlay, nodes=n) for n in scale.sizes
    ]


def twitter(overlay: str) -> Experiment:
    """Simulate users of a social network, each of which is also a topic (IV-E)."""
    return lambda scale, traces: [
        _followers(scale, traces, f"twitter {overlay}", x, overlay, table_size=x)
        for x in scale.tables
    ]


def unbounded(scale: Scale, traces: Path) -> list[Scenario]:
    """Run OPT without a bound on the number of links (IV-E)."""
    label = "twitter opt unbounded"
    return [_followers(scale, traces, label, scale.sampled, "opt", table_size=0)]


def _followers(
    scale: Scale, traces: Path, label: str, x: float, overlay: str, **params: Any
) -> Scenario:
    return Scenario(
        overlay=overlay,
        study=StudySpec(series=label, x=x),
        params=params,
        workload=WorkloadSpec(file=str(scale.twitter.folder(traces))),
        publish=PublishSpec(events=scale.events, every_ms=EVERY_MS),
        run=RunSpec(warmup_ms=scale.warmup_ms, young_ms=PATIENCE_MS, measure_bytes=False),
    )


def churn(overlay: str, repair: bool) -> Experiment:
    """Simulate peers of a streaming system that come and go, and a crowd that joins (IV-F).

    No peer says that it leaves; its neighbours learn it from its silence (III-D). Without
    `repair` events are delivered as in the paper: each peer is told once and asked once.
    """

    def made(scale: Scale, traces: Path) -> list[Scenario]:
        # About 500 of the peers are up at a time, so there are as many topics as at that scale.
        small = SCALES["quick"]
        name = f"churn {overlay}" if repair else f"churn {overlay} once"
        base = scenario(small, name, scale.crowd, overlay, repair=repair)
        every_ms = 200
        return [
            replace(
                base,
                workload=replace(base.workload, nodes=scale.peers + scale.crowd),
                churn=ChurnSpec(
                    model="file",
                    file=str(SESSIONS.folder(traces)),
                    down="crash",
                    nodes="in order",
                    speed=SPEED,
                    skip_ms=EVENING_MS,
                    crowd=scale.crowd,
                    crowd_ms=(small.warmup_ms + scale.churn_ms) // 2,
                ),
                publish=PublishSpec(
                    events=(scale.churn_ms - small.warmup_ms) // every_ms, every_ms=every_ms
                ),
                run=replace(base.run, young_ms=PATIENCE_MS),
            )
        ]

    return made


READINGS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "events one way": {"one_way": True},
    "d - 1": {"gateway_hops": 4},
}
"""Other readings of the paper -> their parameters. In one, links of a table carry events in one
direction only. In the other, the distance to a gateway is below d (Algorithm 5), not at most d
(III-B)."""


def readings(scale: Scale, traces: Path) -> list[Scenario]:
    return [
        scenario(scale, f"sensitivity {pattern}, {name}", scale.nodes, "vitis", pattern, **settings)
        for pattern in ("random", "high")
        for name, settings in READINGS.items()
    ]


PATTERNS = ("random", "low", "high")
EXPERIMENTS: dict[str, Experiment] = {
    **{f"friends {pattern}": friends(pattern) for pattern in PATTERNS},
    "friends rvr": friendless,
    **{f"table {pattern}": tables(pattern, "vitis", pattern) for pattern in PATTERNS},
    "table rvr": tables("rvr", "rvr", "random"),
    **{f"rates {pattern}": rates(pattern, "vitis", pattern) for pattern in ("random", "high")},
    "rates rvr": rates("rvr", "rvr", "random"),
    "size vitis": sizes("vitis", "vitis"),
    "size rvr": sizes("rvr", "rvr"),
    **{f"twitter {overlay}": twitter(overlay) for overlay in ("vitis", "rvr", "opt")},
    "twitter opt unbounded": unbounded,
    "sensitivity": readings,
    **{f"churn {overlay}": churn(overlay, repair=True) for overlay in ("vitis", "rvr")},
    **{f"churn {overlay} once": churn(overlay, repair=False) for overlay in ("vitis", "rvr")},
}
