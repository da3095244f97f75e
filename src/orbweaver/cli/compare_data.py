"""Takes the sample of a user's table that `orbweaver compare` runs on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from orbweaver.workload.sampling import sampled, topics_are_nodes
from orbweaver.workload.scenario import Scenario, WorkloadSpec
from orbweaver.workload.subscriptions import load_subscriptions, write_subscriptions
from orbweaver.workload.tables import table_in

SAMPLE_NODES = 500
"""Number of nodes in the sample. A smaller table is taken whole."""


def take_sample(scenarios: Sequence[Scenario], folder: Path) -> tuple[list[Scenario], str]:
    """Return the scenarios on a sample of their table, and a sentence about the sample.

    The sample is written into `folder`. The scenarios stay as they are if they have no table, if
    the table is small, or if other files or settings name nodes that the sample might lack."""
    spec = scenarios[0].workload
    if not spec.file or any(map(_names_nodes, scenarios)):
        return list(scenarios), ""
    source = Path(spec.file)
    whole = load_subscriptions(table_in(source, "subscriptions"), spec.reading())
    if len(whole.labels) <= SAMPLE_NODES:
        return list(scenarios), ""
    part, how = sampled(whole, SAMPLE_NODES, topics_are_nodes(source, whole))
    file = folder / f"{source.name.partition('.')[0]}.csv"
    write_subscriptions(part, file)
    text = (
        f"a sample of {len(whole.labels):,} nodes and {len(whole.topics):,} topics: {how}; "
        "--full takes them all"
    )
    return [replace(one, workload=WorkloadSpec(file=str(file))) for one in scenarios], text


def _names_nodes(scenario: Scenario) -> bool:
    churn = scenario.churn
    by_name = churn.model == "file" and churn.nodes == "by name"
    return by_name or churn.crowd > 0 or bool(scenario.interests or scenario.links.file)
