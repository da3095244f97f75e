"""Check whether a run kept what its overlay claims: facts of the run against `Overlay.claims`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orbweaver.core.topics import TopicTable
from orbweaver.metrics.snapshot import Snapshot
from orbweaver.overlays.catalog import find
from orbweaver.sim.faults import any_faults
from orbweaver.sim.simulation import Outcome, build_params
from orbweaver.workload.scenario import Scenario


def broken_claims(
    scenario: Scenario, outcome: Outcome, look: Snapshot, metrics: Mapping[str, Any]
) -> list[str]:
    """Return each claim of the overlay that a run did not keep, with what it did instead. `look` is
    the last snapshot, and `metrics` are those of the run.

    The bound of the degree and the counts that are always zero hold at all times. The others are
    for an overlay that has formed, so that they are judged only where nothing disturbed it and the
    run was not cut short.
    """
    overlay = find(scenario.overlay)
    params = build_params(scenario, overlay)
    claims = overlay.claims(params)
    broken = []
    table = TopicTable()
    for node, topics in look.interests.items():
        bound = overlay.degree_bound(params, table.interest(topics))
        links = len(look.links[node])
        if bound is not None and links > bound:
            broken.append(
                f"degree bound ({claims.degree_bound}): node {node} has {links} links at "
                f"{look.time_ms} ms where {bound} are allowed"
            )
            break
    for time_ms, name, value, nodes in outcome.records["states"].rows():
        if name in claims.always_zero and value:
            broken.append(f"{name} is always 0: it is {value} at {nodes:,} nodes at {time_ms} ms")
            break
    if not _undisturbed(scenario) or not outcome.complete:
        return broken
    relayed = sum(outcome.records["publications"]["relays"])
    if claims.noiseless and relayed:
        broken.append(f"noiseless: uninterested nodes received {relayed:,} copies of events")
    if claims.topic_connected and metrics["partitioned_topics"]:
        broken.append(
            f"topic-connected: {metrics['partitioned_topics']:,} of {metrics['topics']:,} topics "
            f"are partitioned at {look.time_ms} ms"
        )
    hit_ratio = metrics["hit_ratio"]
    if claims.total_delivery and hit_ratio is not None and hit_ratio < 1:
        broken.append(f"total delivery: the hit ratio is {hit_ratio:.6g}")
    return broken


def _undisturbed(scenario: Scenario) -> bool:
    """Return whether nodes stay, want the same topics, and no message is lost."""
    churn = scenario.churn
    still = churn.model == "none" and not churn.crowd and not churn.outage
    return still and not scenario.interests and not any_faults(scenario.faults)
