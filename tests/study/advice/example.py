"""An answer made by hand: results that no simulation has seen, and the advice that they give."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from orbweaver.study.advice import plan
from orbweaver.study.advice.evidence import Case, Evidence
from orbweaver.study.advice.judge import judge
from orbweaver.study.advice.question import Question
from orbweaver.study.advice.samples import Samples
from orbweaver.study.advice.value import Advice, Drawing
from orbweaver.study.run import Job, Result
from orbweaver.workload.scenario import Scenario, WorkloadSpec, make_workload
from orbweaver.workload.subscriptions import Subscriptions

NODES = 30
GOOD = {
    "nodes_up": NODES,
    "hit_ratio": 1.0,
    "degree_mean": 10.0,
    "degree_max": 20.0,
    "traffic_overhead": 0.0,
    "relays_per_event": 0.0,
    "upkeep_bytes_per_node_second": 1000.0,
    "event_bytes_per_publication": 6000.0,
    "delay_ms_p50": 120.0,
    "delay_ms_p95": 240.0,
    "load_share_top1": 0.05,
}
"""The metrics of an overlay that does everything well."""


def result(overlay: str, seed: int = 0, nodes: int = NODES, **metrics: float | None) -> Result:
    """Return a result with the metrics `GOOD` but for those given, a little apart by seed."""
    values = {name: value * (1 + 0.001 * seed) for name, value in GOOD.items()}
    return Result(
        name=overlay, overlay=overlay, params={}, nodes=nodes, topics=8, seed=seed, digest="",
        wall_seconds=1.0, events=0, complete=True,
        metrics=values | {"hit_ratio": 1.0, "nodes_up": nodes} | metrics, snapshots=[],
        degree_histogram={9: nodes // 2, 11: nodes - nodes // 2}, states={},
        fingerprint=overlay, version="",
    )  # fmt: skip


def subscriptions(nodes: int = NODES) -> Subscriptions:
    spec = WorkloadSpec(nodes=nodes, topics=8, subscriptions_per_node="3", popularity="zipf:0.8")
    return make_workload(Scenario(overlay="random", workload=spec), 0).subscriptions


def case(
    folder: Path, overlays: Sequence[str], question: Question | None = None, nodes: int = NODES
) -> Case:
    return Case(
        "example.csv", question or Question(), plan.Circumstances(),
        Samples(subscriptions(nodes), False, folder), overlays, "orbweaver advise example.csv",
    )  # fmt: skip


METRICS: dict[str, dict[str, float | None]] = {
    "spidercast": {},
    "ring-per-topic": {"degree_mean": 7.0, "delay_ms_p95": 900.0, "delay_ms_p50": 500.0},
    "vitis": {
        "degree_max": 10.0,
        "traffic_overhead": 0.12,
        "relays_per_event": 2.4,
        "upkeep_bytes_per_node_second": 3000.0,
    },
    "opt": {"hit_ratio": 0.996, "degree_mean": 9.0},
    "random": {"hit_ratio": 0.28},
}


def runner(jobs: Sequence[Job]) -> list[Result]:
    """Return results made by hand in place of runs."""
    return [result(scenario.overlay, seed, **METRICS[scenario.overlay]) for scenario, seed in jobs]


def example(question: Question | None = None) -> Advice:
    """Return the advice on `METRICS`, with a small drawing."""
    with tempfile.TemporaryDirectory() as folder:
        evidence = Evidence(case(Path(folder), list(METRICS), question))
        evidence.add(runner, list(METRICS), NODES, plan.SEEDS)
        whole = subscriptions()
        place = {topic: i for i, topic in enumerate(whole.topics)}
        interests = tuple(tuple(sorted(place[t] for t in topics)) for topics in whole.of_node)
        ring = tuple((i, i + 1) for i in range(NODES - 1))
        drawing = Drawing("spidercast", whole.labels, whole.topics, interests, ring)
        return judge(evidence, [], drawing)
