"""One page of every kind, with long names and wide numbers, out of results that no run gave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.gossip.plumtree.messages import Push
from orbweaver.metrics.missed import Stops
from orbweaver.metrics.summary import MEANING
from orbweaver.metrics.trace import follow
from orbweaver.overlays.catalog import OVERLAYS
from orbweaver.pipeline.characterise import page as characterise
from orbweaver.pipeline.characterise.locality import Locality
from orbweaver.pipeline.characterise.popularity import Distribution, describe
from orbweaver.pipeline.characterise.tdi import Tdi
from orbweaver.pipeline.characterise.workload import Character
from orbweaver.records.recorder import Recorder, event_name
from orbweaver.report import comparison
from orbweaver.report.advice import write_advice
from orbweaver.report.ledger import write_study
from orbweaver.report.trace_page import write_trace
from orbweaver.study.advice.question import Question
from orbweaver.study.advice.value import Advice, Design, Drawing, Forecast, Possible
from orbweaver.study.claims import gather
from orbweaver.study.judge import judge
from orbweaver.study.paper import Paper
from orbweaver.study.results import Stored
from orbweaver.study.run import Result
from orbweaver.study.spidercast import SPIDERCAST
from orbweaver.study.vitis import VITIS
from orbweaver.workload.scenario import StudySpec
from tests.study.advice.example import example

NOWHERE = StudySpec()
TYPICAL = {
    "degree_mean": 9.97, "degree_max": 183, "components": 43_521, "partitioned_topics": 987,
    "diameter_max": 17, "diameter_mean": 6.5, "distance_mean": 3.61, "tdi": 34.85,
    "converged_ms": 29_871, "publications": 3000, "deliveries": 312_345, "hit_ratio": 0.9876,
    "hit_ratio_worst": 0.93, "prompt_ratio_worst": 0.91, "duplicates": 12.34,
    "duplicates_steady": 0.123, "delay_hops_mean": 15.51, "delay_hops_max": 41,
    "delay_ms_mean": 1234.5, "delay_ms_max": 23_456, "traffic_overhead": 0.682,
    "relays_per_event": 345.6, "load_correlation": 0.5, "load_share_top1": 0.123,
    "traffic_overhead_notices": 0.7, "burdened": 0.41, "clusters_per_topic": 12.3,
    "gateways_per_topic": 23.4, "relays_per_topic": 345.6, "lookup_hops_mean": 9.87,
    "control_messages_per_join": 5321.4, "control_bytes_per_node_second": 10_436,
}  # fmt: skip
"""As large as the numbers of a run of some thousand nodes are."""


def result(
    name: str, overlay: str, nodes: int, seed: int, scale: float = 1.0,
    study: StudySpec = NOWHERE,
) -> Result:  # fmt: skip
    metrics = {metric: TYPICAL.get(metric, 1.0) * scale * (1 + seed / 20) for metric in MEANING}
    metrics |= {"hit_ratio": min(1.0, metrics["hit_ratio"]), "topics": 1000}
    histogram = {9: 200, 10: 500, 12: 100, 183: 1}
    return Result(
        name=name, overlay=overlay, params={}, nodes=nodes, topics=1000, seed=seed, digest="",
        wall_seconds=0, events=0, complete=True, metrics=metrics, snapshots=[metrics, metrics],
        degree_histogram=histogram, states={"kr": {0: 1, 1: 3}}, fingerprint=name, version="",
        overhead_histogram={0: 20, 3: 7, 10: 1}, study=study,
    )  # fmt: skip


def compared(path: Path, churned: bool, seeds: int, spread: float) -> None:
    def runs(factor: float) -> dict[str, list[Result]]:
        return {
            name: [result("", name, 2000, seed, factor * spread**i) for seed in range(seeds)]
            for i, name in enumerate([*OVERLAYS, "my_module.of_a_long_name:MyOverlay"])
        }

    command = "orbweaver compare --out compare.html"
    workload = "2,000 nodes, 1,000 topics from a-table-of-my-own.csv"
    comparison.write_page(path, workload, command, runs(1), runs(1.1) if churned else None)


def of_paper(path: Path, paper: Paper) -> None:
    jobs = paper.jobs(list(paper.claims), "quick", [0, 1, 2])
    results = [
        result(s.name, s.overlay, 1000, seed, 1 + i % 7 * (i % 5) ** 2, s.study)
        for i, (s, seed) in enumerate(jobs)
    ]
    judged = judge(paper, list(paper.claims), "quick", [Stored("feed", r) for r in results])
    topics = {"spidercast": [(5, 2), (900, 14)]}
    write_study(path, [judged], judged.series, "orbweaver report measured", "feed", topics)


def of_no_paper(path: Path) -> None:
    results = [
        result(f"{name} with a name of its own", name, 2000, seed, 1 + 9 * i)
        for i, name in enumerate(OVERLAYS)
        for seed in range(3)
    ]
    write_study(path, [], gather(results), "orbweaver report measured", "feed", {"x": [(1, 0)]})


def distribution(law: float, largest: int, values: int) -> Distribution:
    """Of as many values, from 1 up to `largest`, falling with a power."""
    xs = np.unique(np.geomspace(1, largest, 60).astype(int))
    counts = np.maximum(1, values * (xs / xs[0]) ** -law).astype(int)
    return describe(dict(zip(xs.tolist(), counts.tolist(), strict=True)))


def workload(path: Path, popularity: Distribution, sizes: Distribution, tdi: Tdi) -> None:
    locality = Locality(
        1000, 5, [0.1 * k for k in range(1, 11)], [0.2, 0.3, 0.5, 0.6, 0.7, *[0.8] * 5],
        [(5, 5), (1035, 271)],
    )  # fmt: skip
    found = Character(
        94_238, 30_087, 293_360, 12, 3456, popularity, sizes, tdi,
        locality if tdi.method == "exact" else None,
    )  # fmt: skip
    characterise.write_page(path, "youtube", "orbweaver characterise data", found)


def event(path: Path) -> None:
    """Some nodes of an event get it one from another, others miss it."""
    recorder, told = Recorder(copies=True), Event("a/topic", NodeId(0), 0, 0)
    for node in range(40):
        recorder.node(0, NodeId(node), "join")
        recorder.interest(0, NodeId(node), told.topic, "subscribe")
    recorder.published(1000, told)
    for node in range(1, 30):
        sender, time, push = NodeId(node // 3), 1000 + 40 * node, Push(told, 1, 0)
        recorder.copy(time, sender, NodeId(node), push, "sent")
        if node % 7 == 6:
            recorder.copy(time, sender, NodeId(node), push, "lost", "loss")
        else:
            recorder.carried(time + 35, NodeId(node), push, True)
            recorder.copy(time + 35, NodeId(node), sender, push, "received")
            recorder.delivered(time + 35, NodeId(node), told, 1)
    records = recorder.finish(10_000)
    trace = follow(records, event_name(told))
    stops = Stops(records, trace)
    whys = [stops.why(node) for node in trace.missed()]
    write_trace(path, trace, whys, lambda node: f"{node:016x}", "orbweaver trace records")


def doubtful() -> Advice:
    """Advice without a pick, for more nodes than a picture holds, with all that may be there."""
    plain, nodes = example(Question(links_max=1)), 600
    curve = tuple((x / 2, min(1.0, x / 30)) for x in range(40))
    designs = (Design("GM", 9.1, 30.0, curve), Design("LowODA", 9.4, 17.0, curve[:30]))
    interests = tuple((n % 7, 7 + n % 50) for n in range(nodes))
    links = tuple((n, n + step) for step in range(1, 30) for n in range(nodes - step))
    labels, topics = (tuple(f"{what}-{i}" for i in range(nodes)) for what in ("node", "topic"))
    return msgspec.structs.replace(
        plain,
        possible=Possible(8.2, 16.4, designs, None),
        doubts=("the intervals are wide",),
        drawing=Drawing("a.long.name:Overlay", labels, topics, interests, links),
        forecasts=(
            Forecast("vitis", "delay_p95", 100_000, 812.5, 640.0, 1020.0, "12 log(n)^1.3",
                     ((100, 120.0), (200, 150.0), (400, 180.0))),
        ),
    )  # fmt: skip


def narrow(low: int, high: int) -> Distribution:
    return describe({x: 40 + x for x in range(low, high)})


PAGES: dict[str, Callable[[Path], None]] = {
    "compare": lambda path: compared(path, True, 3, 1.9),
    "compare, alike": lambda path: compared(path, False, 1, 1.0),
    "report of spidercast": lambda path: of_paper(path, SPIDERCAST),
    "report of vitis": lambda path: of_paper(path, VITIS),
    "report of no paper": of_no_paper,
    "characterise, wide": lambda path: workload(
        path, distribution(2.0, 7_591_000, 9_000_000), distribution(1.2, 1035, 90_000),
        Tdi(20, 34.9, "exact", 94_238, None),
    ),
    "characterise, narrow": lambda path: workload(
        path, narrow(60, 141), narrow(8, 13), Tdi(20, 34.9, "minhash", 4000, 0.45),
    ),
    "trace": event,
    "advise": lambda path: write_advice(path, example()),
    "advise, in doubt": lambda path: write_advice(path, doubtful()),
}  # fmt: skip
