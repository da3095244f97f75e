"""Measures the distribution of latency: one publisher at a rate, in rounds that take turns."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from statistics import median

from rich.table import Table

from wire.contenders import CONTENDERS, Contender
from wire.fanout import Say, quantile
from wire.process import Failed
from wire.session import Result, session

SHARES = (0.5, 0.9, 0.99, 0.999, 1.0)
GOAL_MS = 10.0
"""Goal for the p99 latency of our nodes in ms, on a machine that is otherwise idle."""


@dataclasses.dataclass(frozen=True)
class Plan:
    subscribers: int
    size: int
    """Size of payloads, in bytes."""
    rate: float
    """Messages per second."""
    seconds: float
    settle_s: Sequence[float]
    """Seconds from the first delivery at the last subscriber to the first message counted."""
    rounds: int


Scores = dict[tuple[str, float], list[Result]]


def measure(plan: Plan, names: Sequence[str], say: Say) -> Scores:
    """Run each contender once in every round, with processes started for that round: trees are
    found anew each time, and it is while they change that events are late."""
    scores: Scores = {}
    out: set[str] = set()
    for number in range(plan.rounds):
        for contender in CONTENDERS:
            if contender.name in out or (names and contender.name not in names):
                continue
            if reason := contender.missing():
                out.add(contender.name)
                say(f"{contender.name}: left out, {reason}")
                continue
            for settle_s in plan.settle_s:
                say(f"round {number + 1}, {settle_s:g} s after joining: {contender.name}")
                try:
                    found = _one(contender, plan, settle_s)
                except Failed as error:
                    say(f"{contender.name}: {error}")
                    out.add(contender.name)
                    break
                scores.setdefault((contender.name, settle_s), []).append(found)
    return scores


def _one(contender: Contender, plan: Plan, settle_s: float) -> Result:
    with session(contender.system, contender.spec, plan.subscribers, contender.broker) as running:
        time.sleep(settle_s)
        return running.round(plan.size, plan.seconds, plan.rate)


def table(plan: Plan, scores: Scores) -> Table:
    made = Table(title=f"Latency in ms, 1 publisher, {plan.subscribers} subscribers")
    made.add_column("system")
    for column in (
        "settled s", "rounds", "deliveries", "p50", "p90", "p99", "p99.9", "max",
        "p99 of a round: median", "worst", "lost",
    ):  # fmt: skip
        made.add_column(column, justify="right")
    for (name, settle_s), results in scores.items():
        pooled = [us for result in results for us in result.latencies_us]
        each = [quantile(result.latencies_us, 0.99) for result in results]
        made.add_row(
            name, f"{settle_s:g}", f"{len(results)}", f"{len(pooled):,}",
            *(f"{quantile(pooled, share) / 1000:.2f}" for share in SHARES),
            f"{median(each) / 1000:.2f}", f"{max(each) / 1000:.2f}",
            f"{sum(result.lost for result in results):,}",
        )  # fmt: skip
    made.caption = (
        f"{plan.rate:g} messages of {plan.size} bytes a second for {plan.seconds:g} s; quantiles "
        f"over the deliveries of all rounds; goal for our nodes: p99 below {GOAL_MS:g} ms"
    )
    return made
