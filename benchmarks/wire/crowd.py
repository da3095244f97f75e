"""Measures many nodes on many topics: the highest rate without a loss, and what it costs."""

from __future__ import annotations

import dataclasses
import json
import random
import time
from collections.abc import Callable, Sequence
from statistics import mean, median
from typing import Any

from rich.table import Table

from wire.process import Failed, Worker

Say = Callable[[str], None]
PATIENCE_S = 20.0
FORM_TIMES = 12
"""Attempts to get a few events through before the overlay counts as formed."""


@dataclasses.dataclass(frozen=True)
class Plan:
    nodes: int
    topics: int
    topics_of_node: int
    size: int
    rates: Sequence[float]
    """Events per second of all nodes together, step by step; 0 is a network at rest."""
    seconds: float
    seed: int = 0


@dataclasses.dataclass(frozen=True)
class Step:
    rate: float
    sent: int
    per_s: float
    deliveries: int
    lost: int
    repeated: int
    p50_ms: float
    p99_ms: float
    cpu_share: float
    cpu_share_max: float
    control_per_s: float
    links: float
    counters: dict[str, int]


class Crowd:
    def __init__(self, overlay: str, plan: Plan) -> None:
        self._plan = plan
        rng = random.Random(plan.seed)
        names = [f"crowd/{number}" for number in range(plan.topics)]
        self._topics = [rng.sample(names, plan.topics_of_node) for _ in range(plan.nodes)]
        self._round = 0
        self._workers: list[Worker] = []
        join: list[str] = []
        try:
            for number, topics in enumerate(self._topics):
                spec = {
                    "overlay": overlay, "topics": topics, "number": number, "size": plan.size,
                    "join": join,
                }  # fmt: skip
                worker = Worker("-m", "wire.crowd_node", json.dumps(spec))
                self._workers.append(worker)
                if number < 2:
                    join = [*join, worker.hear()["address"]]
            for worker in self._workers[2:]:
                worker.hear()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        for worker in self._workers:
            worker.stop()

    def form(self) -> None:
        for _ in range(FORM_TIMES):
            if not self.step(2.0 * self._plan.nodes, 2.0, patience_s=3.0).lost:
                return
        raise Failed("the overlay does not form")

    def step(self, rate: float, seconds: float, patience_s: float = PATIENCE_S) -> Step:
        self._round += 1
        self._all(do="begin", round=self._round)
        started = time.monotonic()
        published = self._all(do="publish", rate=rate / self._plan.nodes, seconds=seconds)
        seconds_needed = time.monotonic() - started
        sent: dict[str, int] = {}
        for own in published:
            for topic, count in own["sent"].items():
                sent[topic] = sent.get(topic, 0) + count
        # A node is owed what others have published on its topics.
        owed = [
            {topic: sent.get(topic, 0) - own["sent"].get(topic, 0) for topic in topics}
            for topics, own in zip(self._topics, published, strict=True)
        ]
        for worker, topics in zip(self._workers, owed, strict=True):
            worker.order(do="report", expect=sum(topics.values()), patience_s=patience_s)
        reports = [worker.hear() for worker in self._workers]
        lost = sum(
            topics[topic] - report["got"].get(topic, 0)
            for topics, report in zip(owed, reports, strict=True)
            for topic in topics
        )
        latencies = sorted(us for report in reports for us in report["latencies_us"]) or [0]
        total = sum(sent.values())
        return Step(
            rate=rate,
            sent=total,
            per_s=total / seconds_needed,
            deliveries=sum(sum(report["got"].values()) for report in reports),
            lost=lost,
            repeated=sum(report["repeated"] for report in reports),
            p50_ms=median(latencies) / 1000,
            p99_ms=latencies[int(0.99 * len(latencies))] / 1000,
            cpu_share=mean(own["cpu_share"] for own in published),
            cpu_share_max=max(own["cpu_share"] for own in published),
            control_per_s=mean(own["control_per_s"] for own in published),
            links=mean(own["links"] for own in published),
            counters={
                name: sum(report["counters"][name] for report in reports)
                for name in reports[0]["counters"]
            },
        )

    def _all(self, **order: Any) -> list[dict[str, Any]]:
        for worker in self._workers:
            worker.order(**order)
        return [worker.hear() for worker in self._workers]


def measure(overlay: str, plan: Plan, say: Say) -> list[Step]:
    """Raise the rate step by step, until something is lost or the rate is not reached."""
    say(f"{overlay}: starting {plan.nodes} nodes")
    crowd = Crowd(overlay, plan)
    steps: list[Step] = []
    try:
        crowd.form()
        for rate in plan.rates:
            say(f"{overlay}: {rate:g} events/s")
            steps.append(crowd.step(rate, plan.seconds))
            if steps[-1].lost or steps[-1].per_s < 0.5 * rate:
                break
    except Failed as error:
        say(f"{overlay}: {error}")
    finally:
        crowd.stop()
    return steps


def table(plan: Plan, found: dict[str, list[Step]]) -> Table:
    made = Table(
        title=f"{plan.nodes} nodes, {plan.topics} topics, {plan.topics_of_node} for each node, "
        f"{plan.size} B, signed"
    )
    made.add_column("overlay")
    for column in (
        "events/s", "reached", "deliveries", "lost", "twice", "p50 ms", "p99 ms", "links",
        "CPU s per node and s", "most", "control B per node and s", "caught up",
    ):  # fmt: skip
        made.add_column(column, justify="right")
    for overlay, steps in found.items():
        for step in steps:
            made.add_row(
                overlay, f"{step.rate:g}", f"{step.per_s:,.0f}", f"{step.deliveries:,}",
                f"{step.lost:,}", f"{step.repeated:,}", f"{step.p50_ms:.1f}", f"{step.p99_ms:.1f}",
                f"{step.links:.1f}", f"{step.cpu_share:.3f}", f"{step.cpu_share_max:.3f}",
                f"{step.control_per_s:,.0f}", f"{step.counters['caught_up']:,}",
            )  # fmt: skip
    made.caption = "control: encoded overlay messages that carry no event; caught up: since start"
    return made
