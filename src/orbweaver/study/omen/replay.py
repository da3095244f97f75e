"""The replay of a churn trace change by change, without a network, and the centralised baselines
that are replayed (Table 3): LowODA-Re and LowODA-Inc.

Both see all nodes that are up, and have a topic-connected overlay after each change at once.
LowODA-Re plans all links anew, so that its overlay follows from which nodes are up, and is planned
only when it is looked at. LowODA-Inc keeps the links of those that are up and adds what is missing.
The changes are those that simulated overlays meet.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Any, Protocol

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

Up = Mapping[int, None]
"""The nodes that are up."""


class Replayed(Protocol):
    """An overlay that is replayed. It is told of each change after `up` has changed."""

    def join(self, node: int, up: Up) -> None: ...

    def leave(self, node: int, up: Up) -> None: ...

    def links(self, up: Up) -> Sequence[Link]: ...


def replay(
    scenario: Scenario, workload: Workload, seed: int, started: Callable[[Up], Replayed]
) -> Findings:
    """Play the churn of a scenario and return what the overlay is at each snapshot. `started`
    returns the overlay of the nodes that are up at first."""
    of_node = workload.subscriptions.of_node
    end_ms = scenario.end_ms(len(workload.subscriptions.topics))
    changes = make_churn(scenario, seed, workload, end_ms)
    up = dict.fromkeys(range(len(of_node)))
    for node in sorted(joining_late(changes)):
        del up[node]
    overlay = started(up)
    looks: list[dict[str, Any]] = []
    done = 0
    for time_ms in sorted({min(scenario.run.warmup_ms, end_ms), *scenario.run.snapshots_ms}):
        while done < len(changes) and changes[done][0] <= time_ms:
            _, node, kind = changes[done]
            done += 1
            joins = kind == "join"
            if joins and node not in up:
                up[node] = None
                overlay.join(node, up)
            elif not joins and node in up:
                del up[node]
                overlay.leave(node, up)
        last = from_graph({node: of_node[node] for node in up}, overlay.links(up))
        looks.append(_seen(time_ms, last))
    return Findings(overlay_metrics(last), tuple(looks), histogram(degrees(last)))


def _seen(time_ms: int, look: Snapshot) -> dict[str, Any]:
    return {
        "time_ms": time_ms,
        **plain(overlay_metrics(look, with_distances=False)),
        "subscriptions": sum(map(len, look.interests.values())),
    }


class LowODAParams(Params, frozen=True):
    rho: Annotated[
        float, Meta(ge=1, description="rho of the LowODA rule", title="not given; as OMen's")
    ] = 3.0


class Reconstructed:
    """LowODA-Re."""

    def __init__(self, of_node: Sequence[Collection[str]], rule: Rule, seed: int) -> None:
        self._of_node = of_node
        self._rule = rule
        self._seed = seed

    def join(self, node: int, up: Up) -> None:
        """Do nothing: the links are planned when they are looked at."""

    leave = join

    def links(self, up: Up) -> Sequence[Link]:
        return plan(self._of_node, up, (), self._rule, self._seed)


class Incremented:
    """LowODA-Inc."""

    def __init__(self, of_node: Sequence[Collection[str]], up: Up, rule: Rule, seed: int) -> None:
        self._of_node = of_node
        self._rule = rule
        self._seed = seed
        self._links = plan(of_node, up, (), rule, seed)

    def join(self, node: int, up: Up) -> None:
        self._links = plan(self._of_node, up, self._links, self._rule, self._seed)

    leave = join

    def links(self, up: Up) -> Sequence[Link]:
        return self._links


def reconstruct(scenario: Scenario, workload: Workload, seed: int) -> Findings:
    rule = Rule("lowoda", build(LowODAParams, scenario.params, "LowODA").rho)
    of_node = workload.subscriptions.of_node
    return replay(scenario, workload, seed, lambda up: Reconstructed(of_node, rule, seed))


def increment(scenario: Scenario, workload: Workload, seed: int) -> Findings:
    rule = Rule("lowoda", build(LowODAParams, scenario.params, "LowODA").rho)
    of_node = workload.subscriptions.of_node
    return replay(scenario, workload, seed, lambda up: Incremented(of_node, up, rule, seed))


def plan(
    of_node: Sequence[Collection[str]], up: Up, given: Sequence[Link], rule: Rule, seed: int
) -> list[Link]:
    """Return links under which the nodes that are up are topic-connected, starting from those of
    the given links that have both ends up."""
    nodes = sorted(up)
    place = {node: i for i, node in enumerate(nodes)}
    kept = [(place[a], place[b]) for a, b in given if a in place and b in place]
    made: Plan = design([of_node[node] for node in nodes], rule, seed, kept)
    return [(nodes[a], nodes[b]) for a, b in made.links]


RECONSTRUCTED = Procedure("lowoda-re", LowODAParams, reconstruct)
INCREMENTAL = Procedure("lowoda-inc", LowODAParams, increment)
