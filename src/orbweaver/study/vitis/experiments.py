"""The runs that Vitis' claims need.

Three patterns of interest: random; low and high correlation, where each node takes its
topics from five or from two groups.
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
"""Of a table of 15: besides successor and predecessor, at least one long link."""


SESSIONS = Trace("sessions", "churn/p2p_livestream_sessions_2020_06_01.csv.gz", "sessions")
TRACES = {name: (scale.twitter, SESSIONS) for name, scale in SCALES.items()}
SPEED = 10
"""The availability trace is played so much faster than it happened. Half of its sessions
then last more than a minute."""
EVENING_MS = 69_000_000
"""Where it is begun: after 19 h, when 360 peers are up, on the way to 800."""
EVERY_MS = 1
"""Between publications, where nothing depends on it."""
SETTLED_MS = 10_000
"""How long before the first publication utility must not change any more (V2): ten cycles."""
PATIENCE_MS = 10_000
"""After a join, before a node is owed events (IV-E and IV-F)."""


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
    """IV-B: the table has its size, and what is no friend is a long link."""
    return lambda scale, traces: [
        _settled(
            scale,
            scenario(scale, f"friends {pattern}", x, "vitis", pattern, long_links=TABLE - 2 - x),
        )
        for x in scale.friends
    ]


def friendless(scale: Scale, traces: Path) -> list[Scenario]:
    """IV-B: RVR after as long a warm-up, to set beside."""
    return [_settled(scale, scenario(scale, "friends rvr", 0, "rvr"))]


def _settled(scale: Scale, made: Scenario) -> Scenario:
    """Measured late, and looked at before, so that it can be told whether friends still change."""
    looks = (scale.settle_ms - SETTLED_MS,)
    run = replace(made.run, warmup_ms=scale.settle_ms, snapshots_ms=looks)
    return replace(made, run=run)


def tables(label: str, overlay: str, pattern: str) -> Experiment:
    """IV-C."""
    return lambda scale, traces: [
        scenario(scale, f"table {label}", x, overlay, pattern, table_size=x) for x in scale.tables
    ]


def rates(label: str, overlay: str, pattern: str) -> Experiment:
    """IV-D. Vitis is told the rates; RVR has no use for them."""

    def made(scale: Scale, law: str, x: float) -> Scenario:
        params: dict[str, Any] = {"rates": law} if overlay == "vitis" else {}
        name = f"rates {label}"
        return scenario(scale, name, x, overlay, pattern, published=law, **params)

    return lambda scale, traces: [made(scale, f"zipf:{x:g}", x) for x in scale.rates]


def sizes(label: str, overlay: str) -> Experiment:
    """III-A: the bound on the delay."""
    return lambda scale, traces: [
        scenario(scale, f"size {label}", n, overlay, nodes=n) for n in scale.sizes
    ]


def twitter(overlay: str) -> Experiment:
    """IV-E: users of a social network, each of them also a topic."""
    return lambda scale, traces: [
        _followers(scale, traces, f"twitter {overlay}", x, overlay, table_size=x)
        for x in scale.tables
    ]


def unbounded(scale: Scale, traces: Path) -> list[Scenario]:
    """IV-E: OPT with as many links as it takes."""
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
    """IV-F: peers of a streaming system come and go, and a crowd comes. No peer says that it
    goes: that a node has left is told by its silence (III-D). Without `repair` events are
    delivered as in the paper: each peer is told once and asked once."""

    def made(scale: Scale, traces: Path) -> list[Scenario]:
        # Some 500 of the peers are up at a time: as many topics as for a network that small.
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
"""Other readings of the paper: links of a table carry events in one direction only, and the
distance to a gateway has to be below d (Algorithm 5) rather than at most d (III-B)."""


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
