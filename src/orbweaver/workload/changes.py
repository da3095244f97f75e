"""The changes of a scenario say which node comes or goes when. They are drawn from its model of
churn, or read from its table."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from orbweaver.core.seeds import generator, sample
from orbweaver.workload.churn import Change, load_churn, on_off, with_crowd, with_outage
from orbweaver.workload.scenario import Scenario, Workload
from orbweaver.workload.tables import table_in


def make_churn(scenario: Scenario, seed: int, workload: Workload, end_ms: int) -> list[Change]:
    """Return the changes of a run until `end_ms`, in order. They depend on the surroundings alone,
    and so are the same for every overlay. Groups of neighbours are chosen as the run goes."""
    spec = scenario.churn
    nodes, surroundings = workload.nodes, scenario.surroundings()
    changes = _usual_churn(scenario, seed, workload, end_ms)
    changes = with_crowd(changes, nodes, spec.crowd, spec.crowd_ms)
    if not spec.outage:
        return changes
    rng = generator("surroundings", surroundings, seed, "outage")
    hit = sample(rng, range(nodes), round(spec.outage * nodes))
    return with_outage(changes, set(hit), spec.outage_ms, spec.outage_end_ms)


def joining_late(changes: Iterable[Change]) -> set[int]:
    """Return the nodes whose first change is to join, so that they are down until then."""
    first: dict[int, str] = {}
    for _, node, kind in changes:
        first.setdefault(node, kind)
    return {node for node, kind in first.items() if kind == "join"}


def _usual_churn(scenario: Scenario, seed: int, workload: Workload, end_ms: int) -> list[Change]:
    spec = scenario.churn
    changes: list[Change] = []
    if spec.model == "file":
        labels = workload.subscriptions.labels
        table = table_in(Path(spec.file), "churn")
        in_order = spec.nodes == "in order"
        found = load_churn(table, labels, in_order, spec.start_ms, spec.speed, spec.skip_ms)
        changes = [(t, n, spec.down if kind == "leave" else kind) for t, n, kind in found]
        if spec.every_ms:
            rounds = enumerate(changes, 1)
            changes = [(spec.start_ms + i * spec.every_ms, n, kind) for i, (_, n, kind) in rounds]
    elif spec.model in ("exponential", "weibull"):
        shape = spec.shape if spec.model == "weibull" else None
        surroundings = scenario.surroundings()
        for node in range(workload.nodes):
            rng = generator("surroundings", surroundings, seed, f"churn {node}")
            changes.extend(
                on_off(rng, node, spec.start_ms, end_ms, spec.on_ms, spec.off_ms, shape, spec.down)
            )
        changes.sort()
    return changes
