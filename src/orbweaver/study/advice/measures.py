"""What a planner asks of an overlay, computed from the results of runs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence

from orbweaver.metrics.averages import interval95, mean
from orbweaver.metrics.load import BUSIEST
from orbweaver.study.advice.question import Care, Question
from orbweaver.study.advice.value import Estimate
from orbweaver.study.run import Result

Value = Callable[[Result, Question], float]
"""Computes a measure of one run; nan if the run does not tell."""


@dataclasses.dataclass(frozen=True)
class Measure:
    """A number of which less is better."""

    title: str
    unit: str
    """What follows the number; empty for a plain number, and `share` for a share from 0 to 1."""
    value: Value


def _metric(name: str) -> Value:
    def value(result: Result, question: Question) -> float:
        found = result.metrics.get(name)
        return math.nan if found is None else float(found)

    return value


def _lost(result: Result, question: Question) -> float:
    return 1 - _metric("hit_ratio")(result, question)


def _traffic(result: Result, question: Question) -> float:
    """Return the bytes that a node sends in a second at the planner's rate. The rate of the run
    does not matter, since the simulator has no limit of bandwidth: what each event costs is
    multiplied, and the upkeep added."""
    upkeep = _metric("upkeep_bytes_per_node_second")(result, question)
    of_event = _metric("event_bytes_per_publication")(result, question)
    return upkeep + question.rate * of_event / _metric("nodes_up")(result, question)


def _busiest(result: Result, question: Question) -> float:
    share = _metric("load_share_top1")(result, question)
    return share * result.nodes / max(1, result.nodes // BUSIEST)


MEASURES: Mapping[str, Measure] = {
    "lost": Measure("events lost", "share", _lost),
    "links": Measure("links of a node, mean", "", _metric("degree_mean")),
    "links_max": Measure("links of a node, largest", "", _metric("degree_max")),
    "relayed": Measure(
        "received events that a node did not ask for", "share", _metric("traffic_overhead")
    ),
    "relays": Measure(
        "nodes that an event passes which did not ask for it", "", _metric("relays_per_event")
    ),
    "traffic": Measure("sent by a node", "B/s", _traffic),
    "delay_p50": Measure("until half of the deliveries", "ms", _metric("delay_ms_p50")),
    "delay_p95": Measure("until 95 of 100 deliveries", "ms", _metric("delay_ms_p95")),
    "busiest": Measure("load of the busiest 1 % of nodes, over the mean", "times", _busiest),
}
"""By name; the results, the page and the command all use these names."""

CARES: Mapping[Care, str] = {
    "delay": "delay_p95",
    "traffic": "traffic",
    "links": "links",
    "fairness": "busiest",
}
"""The measure of each thing that a planner may care about."""


def estimate(values: Sequence[float]) -> Estimate | None:
    """Return the mean and its interval, or None where no run has a value."""
    there = tuple(value for value in values if math.isfinite(value))
    if not there:
        return None
    half = interval95(there)
    return Estimate(mean(there), None if math.isnan(half) else half, there)


def measure(results: Sequence[Result], question: Question) -> dict[str, Estimate]:
    """Return the measures of the runs of one overlay on samples of one size."""
    found = {
        name: estimate([one.value(result, question) for result in results])
        for name, one in MEASURES.items()
    }
    return {name: value for name, value in found.items() if value is not None}
