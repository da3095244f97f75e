"""The centralised baselines under churn (Table 3): LowODA-Re and LowODA-Inc.

Both see all nodes that are up, and have a topic-connected overlay after each change at once.
LowODA-Re plans all links anew, so that its overlay follows from who is up and is planned only when
it is looked at. LowODA-Inc keeps the links of those that are up and adds what is missing, so that
it is replayed change by change. The changes are those that simulated overlays meet.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta

from orbweaver.core.params import Params, build
from orbweaver.design.plan import Plan, design
from orbweaver.design.rules import Rule
from orbweaver.metrics.averages import plain
from orbweaver.metrics.degree import degrees, histogram
from orbweaver.metrics.snapshot import Snapshot, from_graph
from orbweaver.metrics.summary import overlay_metrics
from orbweaver.study.procedures import Findings, Procedure
from orbweaver.workload.changes import joining_late, make_churn
from orbweaver.workload.links import Link
from orbweaver.workload.scenario import Scenario, Workload


class LowODAParams(Params, frozen=True):
    rho: Annotated[
        float, Meta(ge=1, description="rho of the LowODA rule", title="not given; as OMen's")
    ] = 3.0


def reconstruct(scenario: Scenario, workload: Workload, seed: int) -> Findings:
    return _replay(scenario, workload, seed, keeps=False)


def increment(scenario: Scenario, workload: Workload, seed: int) -> Findings:
    return _replay(scenario, workload, seed, keeps=True)


def _replay(scenario: Scenario, workload: Workload, seed: int, keeps: bool) -> Findings:
    rule = Rule("lowoda", build(LowODAParams, scenario.params, "LowODA").rho)
    of_node = workload.subscriptions.of_node
    end_ms = scenario.end_ms(len(workload.subscriptions.topics))
    changes = make_churn(scenario, seed, workload, end_ms)
    up = dict.fromkeys(range(len(of_node)))
    for node in sorted(joining_late(changes)):
        del up[node]
    times = sorted({min(scenario.run.warmup_ms, end_ms), *scenario.run.snapshots_ms})
    links = plan(of_node, up, (), rule, seed)
    looks, done = [], 0
    for time in times:
        while done < len(changes) and changes[done][0] <= time:
            _, node, kind = changes[done]
            done += 1
            if kind == "join":
                up[node] = None
            else:
                up.pop(node, None)
            if keeps:
                links = plan(of_node, up, links, rule, seed)
        if not keeps:
            links = plan(of_node, up, (), rule, seed)
        looks.append((time, from_graph({node: of_node[node] for node in up}, links)))
    last = looks[-1][1]
    return Findings(
        overlay_metrics(last),
        tuple(_seen(time, look) for time, look in looks),
        histogram(degrees(last)),
    )


def plan(
    of_node: Sequence[Collection[str]],
    up: Mapping[int, None],
    given: Sequence[Link],
    rule: Rule,
    seed: int,
) -> list[Link]:
    """Return links under which the nodes that are up are topic-connected, starting from those of
    the given links that have both ends up."""
    nodes = sorted(up)
    place = {node: i for i, node in enumerate(nodes)}
    kept = [(place[a], place[b]) for a, b in given if a in place and b in place]
    made: Plan = design([of_node[node] for node in nodes], rule, seed, kept)
    return [(nodes[a], nodes[b]) for a, b in made.links]


def _seen(time_ms: int, look: Snapshot) -> dict[str, Any]:
    return {
        "time_ms": time_ms,
        **plain(overlay_metrics(look, with_distances=False)),
        "subscriptions": sum(map(len, look.interests.values())),
    }


RECONSTRUCTED = Procedure("lowoda-re", LowODAParams, reconstruct)
INCREMENTAL = Procedure("lowoda-inc", LowODAParams, increment)
