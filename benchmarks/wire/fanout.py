"""Measures one publisher with one subscriber and with many: rate, latency, loss, and cost."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from statistics import median

from rich.table import Table

from wire.contenders import CONTENDERS, Contender
from wire.process import Failed
from wire.session import Result, session

Say = Callable[[str], None]
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
BASE, BROKER = "bare node", "mosquitto, QoS 0"


@dataclasses.dataclass(frozen=True)
class Plan:
    sizes: Sequence[int]
    seconds: float
    rounds: int
    rate: float
    """Messages per second where latency is measured."""


class Score:
    """The rounds of one system with one size of payload."""

    def __init__(self) -> None:
        self.fast: list[Result] = []
        self.paced: list[Result] = []

    @property
    def per_s(self) -> float:
        return median(result.per_s for result in self.fast)

    @property
    def best_per_s(self) -> float:
        return max(result.per_s for result in self.fast)

    @property
    def by_cpu(self) -> float:
        """Return the deliveries per second that the processor time would allow on an otherwise idle
        machine: the busiest process has one core, all processes together have all cores."""
        return max(_by_cpu(result) for result in self.fast)

    def latency_ms(self, share: float) -> float:
        """Return the median latency of the rounds, in ms."""
        return median(quantile(result.latencies_us, share) for result in self.paced) / 1000

    @property
    def lost(self) -> int:
        return sum(result.lost for result in self.fast + self.paced)

    @property
    def repeated(self) -> int:
        return sum(result.repeated for result in self.fast + self.paced)

    def cpu_us(self, of: Callable[[Result], float], among: Callable[[Result], int]) -> float:
        return min(1e6 * of(result) / max(1, among(result)) for result in self.fast)


def _by_cpu(result: Result) -> float:
    each = [result.publisher_cpu_s, result.broker_cpu_s, *result.each_cpu_s]
    return result.got / max(max(each), sum(each) / CORES, 1e-9)


def quantile(values: Sequence[int], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


Scores = dict[tuple[str, int], Score]


def measure(subscribers: int, plan: Plan, names: Sequence[str], say: Say) -> Scores:
    """Measure all systems in turn, once for each round."""
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
            say(f"round {number + 1}, {subscribers} subscribers: {contender.name}")
            try:
                _one(contender, subscribers, plan, scores)
            except Failed as error:
                say(f"{contender.name}: {error}")
                out.add(contender.name)
    return scores


def _one(contender: Contender, subscribers: int, plan: Plan, scores: Scores) -> None:
    with session(contender.system, contender.spec, subscribers, contender.broker) as running:
        for size in plan.sizes:
            running.round(size, 0.3)  # caches fill, trees form
            score = scores.setdefault((contender.name, size), Score())
            score.paced.append(running.round(size, plan.seconds, plan.rate))
            score.fast.append(running.round(size, plan.seconds))


def table(subscribers: int, plan: Plan, scores: Scores) -> Table:
    made = Table(title=f"1 publisher, {subscribers} subscribers; {plan.rounds} rounds")
    made.add_column("system")
    for column in (
        "payload", "deliveries/s", "best", "of bare", "by CPU", "of bare", "p50 ms", "p99 ms",
        "lost", "CPU us: pub", "sub", "broker",
    ):  # fmt: skip
        made.add_column(column, justify="right")
    for (name, size), score in sorted(scores.items(), key=lambda item: item[0][1]):
        base = scores.get((BASE, size))
        made.add_row(
            name, f"{size}", f"{score.per_s:,.0f}", f"{score.best_per_s:,.0f}",
            f"{score.per_s / base.per_s:.2f}" if base else "-",
            f"{score.by_cpu:,.0f}", f"{score.by_cpu / base.by_cpu:.2f}" if base else "-",
            f"{score.latency_ms(0.5):.2f}", f"{score.latency_ms(0.99):.2f}",
            f"{score.lost:,}" + (f" (+{score.repeated} twice)" if score.repeated else ""),
            f"{score.cpu_us(lambda r: r.publisher_cpu_s, lambda r: r.sent):.1f}",
            f"{score.cpu_us(lambda r: sum(r.each_cpu_s), lambda r: r.got):.1f}",
            f"{score.cpu_us(lambda r: r.broker_cpu_s, lambda r: r.sent):.1f}",
        )  # fmt: skip
    made.caption = (
        "median of the rounds; by CPU: what the processor time used would allow on "
        f"{CORES} otherwise idle cores; CPU us: for each message published (pub, broker) "
        f"or delivered (sub); latency at {plan.rate:g} messages a second"
    )
    return made


def manners() -> Table:
    made = Table(title="When a receiver is too slow")
    made.add_column("system")
    made.add_column("what happens")
    for contender in CONTENDERS:
        made.add_row(contender.name, contender.slow)
    return made


GOALS = (
    ("unsigned", BASE, 0.5),
    ("unsigned", BROKER, 2.0),
    ("signed", BROKER, 2.0),
    ("signed", "signed one by one", 10.0),
)


def goals(subscribers: int, plan: Plan, scores: Scores) -> Table:
    made = Table(title=f"Ratios, {subscribers} subscribers")
    for column in ("", "payload", "by wall", "by CPU", "goal"):
        made.add_column(column, justify="right" if column != "" else "left")
    for one, other, goal in GOALS:
        for size in plan.sizes:
            mine, theirs = scores.get((one, size)), scores.get((other, size))
            if mine is not None and theirs is not None:
                made.add_row(
                    f"{one} / {other}", f"{size}", f"{mine.per_s / theirs.per_s:.2f}",
                    f"{mine.by_cpu / theirs.by_cpu:.2f}", f"{goal:g}",
                )  # fmt: skip
    return made
