"""The runs that Rappel's claims need (section 6).

In each run an update of a feed is published every minute from the 20th minute on. The publisher of
a feed is one of its subscribers, and is up for the whole run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from orbweaver.study.paper import Experiment
from orbweaver.study.rappel.scales import ALL_GROUPS, LATENCIES, SESSIONS, Scale
from orbweaver.workload.scenario import (
    ChurnSpec,
    LatencySpec,
    PublishSpec,
    RunSpec,
    Scenario,
    StudySpec,
    WorkloadSpec,
)

MINUTE_MS = 60_000
FIRST_MIN = 20
"""When the first update is published, in minutes."""
LOOK_MIN = 10
"""Time between snapshots, in minutes."""
PATIENCE_MS = 60_000
"""How long after its join a node is owed updates, in milliseconds."""

CALM = ChurnSpec()


def scenario(
    traces: Path,
    label: str,
    x: float,
    minutes: int,
    workload: WorkloadSpec,
    churn: ChurnSpec = CALM,
    overlay: str = "rappel",
    **params: Any,
) -> Scenario:
    """One update a minute on a feed drawn at random, up to a minute before the end."""
    return Scenario(
        overlay=overlay,
        study=StudySpec(series=label, x=x),
        params=params,
        workload=workload,
        latency=LatencySpec(model="matrix", file=str(LATENCIES.folder(traces))),
        churn=churn,
        publish=PublishSpec(by="publisher", events=minutes - FIRST_MIN, every_ms=MINUTE_MS),
        run=RunSpec(
            warmup_ms=FIRST_MIN * MINUTE_MS,
            duration_ms=minutes * MINUTE_MS,
            snapshots_ms=tuple(
                minute * MINUTE_MS for minute in range(LOOK_MIN, minutes + 1, LOOK_MIN)
            ),
            young_ms=PATIENCE_MS,
            measure_bytes=False,
        ),
    )


def one_feed(nodes: int) -> WorkloadSpec:
    return WorkloadSpec(nodes=nodes, topics=1, subscriptions_per_node="1")


def tree(scale: Scale, traces: Path) -> list[Scenario]:
    """6.2.2: half of the nodes crash between two updates, and come back later."""
    half_ms = MINUTE_MS // 2
    outage = ChurnSpec(
        outage=0.5,
        outage_ms=scale.outage_min * MINUTE_MS + half_ms,
        outage_end_ms=scale.return_min * MINUTE_MS + half_ms,
    )
    workload, size = one_feed(scale.subscribers + 1), scale.subscribers
    return [scenario(traces, "tree", size, scale.tree_min, workload, churn=outage)]


def still(scale: Scale, traces: Path) -> list[Scenario]:
    """6.5: one feed, without churn."""
    return [
        scenario(traces, "still", size, scale.still_min, one_feed(size + 1)) for size in scale.sizes
    ]


def churn(scale: Scale, traces: Path) -> list[Scenario]:
    """6.2.3 and 6.5: one feed, first without churn and then with continuous churn, so that both
    have the same publisher."""
    spec = replace(scale.churn, start_ms=scale.calm_min * MINUTE_MS)
    if spec.model == "file":
        spec = replace(spec, file=str(SESSIONS.folder(traces)))
    workload = one_feed(scale.peers)
    return [scenario(traces, "churn", scale.peers, scale.churn_min, workload, churn=spec)]


def friends(label: str, **params: Any) -> Experiment:
    """6.3: many feeds, subscriptions from a trace."""
    return lambda scale, traces: [
        scenario(
            traces, f"friends {label}", scale.feeds, scale.friends_min,
            WorkloadSpec(file=str(scale.groups.folder(traces))), **params,
        )
    ]  # fmt: skip


def crowd(overlay: str, **params: Any) -> Experiment:
    """6.4: a feed whose subscribers are all nodes, or a tenth of them. The others subscribe to one
    of nine further feeds."""

    def made(scale: Scale, traces: Path, topics: int) -> Scenario:
        nodes = topics * scale.compared
        workload = WorkloadSpec(
            nodes=nodes, topics=topics, subscriptions_per_node="1", popularity="uniform"
        )
        label = f"crowd {overlay}"
        return scenario(
            traces, label, nodes, scale.compared_min, workload, overlay=overlay, **params
        )

    return lambda scale, traces: [made(scale, traces, topics) for topics in (1, 10)]


def locality(scale: Scale, traces: Path) -> list[Scenario]:
    """Section 1: the best friends of users of the whole trace."""
    return [
        Scenario(
            overlay="interest-locality",
            study=StudySpec(series="locality", x=friends),
            params={"friends": friends, "users": scale.users},
            workload=WorkloadSpec(file=str(ALL_GROUPS.folder(traces))),
        )
        for friends in (2, 4, 6)
    ]


SCRIBE = {"overlay": "scribe", "root": "publisher"}
"""As in the paper's comparison, the root of a tree is the publisher of its feed."""

EXPERIMENTS: dict[str, Experiment] = {
    "tree": tree,
    "still": still,
    "churn": churn,
    "friends both": friends("both"),
    "friends interest": friends("interest", proximity=False),
    "friends four": friends("four", friends=4),
    "friends scribe": friends("scribe", **SCRIBE),
    "crowd rappel": crowd("rappel"),
    "crowd scribe": crowd(**SCRIBE),
    "locality": locality,
}
