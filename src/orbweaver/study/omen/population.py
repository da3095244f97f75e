"""Backup sets of a whole population that knows itself (Sec. 6.3: OMen-G, L = 1; Sec. 6.4).

No network is simulated: with global candidates a backup set is what the algorithm of Sec. 4.2
chooses among all other nodes, and gossip is only how a node comes to know them. So each node's set
is built once, by the function that OMen's nodes call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from orbweaver.core.ids import NodeId
from orbweaver.core.params import Params, build
from orbweaver.core.seeds import generator, shuffled
from orbweaver.core.topics import TopicTable
from orbweaver.design.plan import design
from orbweaver.design.rules import Rule
from orbweaver.metrics.averages import mean
from orbweaver.overlays.omen.backups import (
    Candidate,
    Choice,
    build_backups_greedy,
    build_backups_primal_dual,
)
from orbweaver.study.procedures import Findings, Procedure
from orbweaver.workload.scenario import Scenario, Workload

FEW = 5
"""In-degree below which a node hardly serves (Sec. 6.3)."""
SMALL_SHARE = 0.05
"""Share of all nodes below which a local view is small (Sec. 6.4)."""
VIEW_ENTRIES = 80
"""Entries that nearly no local view exceeds (Fig. 6)."""


class PopulationParams(Params, frozen=True):
    coverage: Annotated[int, Meta(ge=0, description="lambda", title="Sec. 6.3: 3")] = 3
    backups: Annotated[
        Literal["primal-dual", "greedy"],
        Meta(description="how backup sets are built", title="Sec. 6.3"),
    ] = "primal-dual"
    subscriber: Annotated[
        Choice,
        Meta(description="which subscriber of a topic becomes a backup", title="see docs"),
    ] = "random"
    rho: Annotated[
        float, Meta(ge=0, description="LowODA's rho for N(v') of local views; 0: none", title="")
    ] = 0.0


def carry_out(scenario: Scenario, workload: Workload, seed: int) -> Findings:
    params = build(PopulationParams, scenario.params, "omen-backups")
    topics = TopicTable(workload.subscriptions.topics)
    everyone = [
        (NodeId(node), topics.interest(wanted).mask)
        for node, wanted in enumerate(workload.subscriptions.of_node)
    ]
    backups = [backups_of(node, everyone, params, seed) for node, _ in everyone]
    served = Counter(node for chosen in backups for node in chosen)
    in_degrees = [served[node] for node, _ in everyone]
    views = backups
    if params.rho:
        rule = Rule("lowoda", params.rho)
        views = _with_neighbors(backups, design(workload.subscriptions.of_node, rule, seed).links)
    sizes = [len(view) for view in views]
    nodes = len(everyone)
    return Findings(
        {
            "backups_mean": mean([len(chosen) for chosen in backups]),
            "in_degree_mean": mean(in_degrees),
            "in_degree_min": min(in_degrees),
            "in_degree_max": max(in_degrees),
            "in_degree_few": sum(n < FEW for n in in_degrees) / nodes,
            "view_mean": mean(sizes),
            "view_max": max(sizes),
            "views_small": sum(size < SMALL_SHARE * nodes for size in sizes) / nodes,
            "views_short": sum(size <= VIEW_ENTRIES for size in sizes) / nodes,
        },
        degree_histogram=dict(sorted(Counter(in_degrees).items())),
    )


def backups_of(
    node: NodeId, everyone: Sequence[Candidate], params: PopulationParams, seed: int
) -> list[NodeId]:
    """Return the backup set of a node, chosen among all others in random order, which decides
    between equal ones."""
    rng = generator("omen backups", seed, node)
    _, wanted = everyone[node]
    others = shuffled(rng, [one for one in everyone if one[0] != node and one[1] & wanted])
    if params.backups == "greedy":
        chosen = build_backups_greedy(wanted, others, params.coverage)
    else:
        chosen = build_backups_primal_dual(wanted, others, params.coverage, rng, params.subscriber)
    return [other for other, _ in chosen]


def _with_neighbors(
    backups: Sequence[Sequence[NodeId]], links: Sequence[tuple[int, int]]
) -> list[list[NodeId]]:
    views = [dict.fromkeys(chosen) for chosen in backups]
    for a, b in links:
        views[a][NodeId(b)] = None
        views[b][NodeId(a)] = None
    return [list(view) for view in views]


BACKUPS = Procedure("omen-backups", PopulationParams, carry_out)
