"""The processor time of one repair (O9, Fig. 10), by each algorithm, in one process.

A random node leaves an overlay that LowODA planned. OMen's repair joins its neighbours and its
backup set, OMen-G's all nodes that share a topic with it; LowODA-Re plans all links anew, by the
textbook and by our fast version. In all of them the components of the rest of the overlay are
given: what is timed is the choice of links. The numbers are the ones that do not repeat.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta

from orbweaver.core.ids import NodeId
from orbweaver.core.params import Params, build
from orbweaver.core.seeds import generator, sample
from orbweaver.core.topics import TopicTable
from orbweaver.design import fast, textbook
from orbweaver.design.plan import design, drawn_order, numbered
from orbweaver.design.rules import Rule
from orbweaver.metrics.averages import mean
from orbweaver.overlays.omen.repair import Joined, repair_tco_on_churn
from orbweaver.study.omen.population import PopulationParams, backups_of
from orbweaver.study.procedures import Findings, Procedure
from orbweaver.workload.links import Link
from orbweaver.workload.scenario import Scenario, Workload


class RepairsParams(Params, frozen=True):
    coverage: Annotated[int, Meta(ge=1, description="lambda", title="Sec. 6.4: 5")] = 5
    rho: Annotated[float, Meta(ge=1, description="rho of LowODA", title="not given")] = 3.0
    leaves: Annotated[int, Meta(ge=1, description="how many nodes leave, one by one", title="")] = (
        20
    )
    global_leaves: Annotated[
        int, Meta(ge=1, description="how many of these OMen-G repairs too", title="")
    ] = 3
    textbook: Annotated[
        bool, Meta(description="whether LowODA-Re's textbook version is timed", title="")
    ] = True


def carry_out(scenario: Scenario, workload: Workload, seed: int) -> Findings:
    params = build(RepairsParams, scenario.params, "omen-repairs")
    rule = Rule("lowoda", params.rho)
    of_node = workload.subscriptions.of_node
    table = TopicTable(workload.subscriptions.topics)
    masks = [table.interest(wanted).mask for wanted in of_node]
    everyone = [(NodeId(node), mask) for node, mask in enumerate(masks)]
    links = design(of_node, rule, seed).links
    degrees = _degrees(links)
    chosen = sample(generator("omen repairs", seed), range(len(of_node)), params.leaves)
    backups = PopulationParams(coverage=params.coverage)
    local: list[float] = []
    everywhere: list[float] = []
    sizes: list[int] = []
    for count, node in enumerate(chosen):
        wanted = masks[node]
        left = [(a, b) for a, b in links if node not in (a, b)]
        neighbors = [b if a == node else a for a, b in links if node in (a, b)]
        shadow = dict.fromkeys([*neighbors, *backups_of(NodeId(node), everyone, backups, seed)])
        sharing = [n for n, mask in everyone if n != node and mask & wanted]
        for group, times in ((list(shadow), local), (sharing, everywhere)):
            if times is everywhere and count >= params.global_leaves:
                continue
            interests = {NodeId(n): masks[n] for n in group}
            joined = connected(group, left, masks, wanted)
            times.append(timed(repair_tco_on_churn, interests, wanted, joined, degrees, params.rho))
        sizes.append(len(shadow))
    anew = _without(of_node, chosen[0], seed)
    again = timed(textbook.choose_links, anew, rule) if params.textbook else float("nan")
    _choose_fast(anew, rule)  # compiles at its first call
    quick = timed(_choose_fast, anew, rule)
    ms = 1000 * mean(local)
    return Findings(
        {
            "repair_ms_omen": ms,
            "repair_ms_omen_g": 1000 * mean(everywhere),
            "repair_ms_lowoda": 1000 * again,
            "repair_ms_lowoda_fast": 1000 * quick,
            # Over the leaves that both repair: the cost of one leave is far from that of another.
            "repair_share_omen_g": mean(local[: len(everywhere)]) / mean(everywhere),
            "repair_share_lowoda": ms / (1000 * again),
            "repair_share_lowoda_fast": ms / (1000 * quick),
            "shadow_mean": mean(sizes),
        }
    )


def timed(function: Callable[..., Any], *arguments: Any) -> float:
    """Return the processor time of a call, in seconds."""
    started = time.process_time()
    function(*arguments)
    return time.process_time() - started


def connected(
    group: Sequence[int], links: Sequence[Link], masks: Sequence[int], topics: int
) -> list[Joined]:
    """Return which nodes of a group are connected in which topics, through whatever nodes: for
    each topic, each node of a component with the first of it."""
    joined: dict[tuple[int, int], int] = {}
    inside = set(group)
    while topics:
        bit = topics & -topics
        topics ^= bit
        label = {node: node for node, mask in enumerate(masks) if mask & bit}
        for a, b in links:
            if a in label and b in label:
                label[_root(label, a)] = _root(label, b)
        first: dict[int, int] = {}
        for node in group:
            if node in label:
                other = first.setdefault(_root(label, node), node)
                if other != node:
                    joined[other, node] = joined.get((other, node), 0) | bit
    assert all(a in inside and b in inside for a, b in joined)
    return [(NodeId(a), NodeId(b), mask) for (a, b), mask in joined.items()]


def _root(label: dict[int, int], node: int) -> int:
    while label[node] != node:
        label[node] = label[label[node]]
        node = label[node]
    return node


def _degrees(links: Sequence[Link]) -> Mapping[NodeId, int]:
    found: dict[NodeId, int] = {}
    for link in links:
        for node in link:
            found[NodeId(node)] = found.get(NodeId(node), 0) + 1
    return found


def _without(of_node: Sequence[Sequence[str]], gone: int, seed: int) -> list[list[int]]:
    rest = [wanted for node, wanted in enumerate(of_node) if node != gone]
    topics = numbered(rest)
    return [topics[node] for node in drawn_order(len(rest), seed)]


def _choose_fast(interests: list[list[int]], rule: Rule) -> None:
    arrays = fast.as_arrays(interests)
    fast.choose_links(fast.count_contributions(arrays), arrays, rule)


REPAIRS = Procedure("omen-repairs", RepairsParams, carry_out)
