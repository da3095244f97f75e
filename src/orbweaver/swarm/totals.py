"""Add up what a swarm has done from the reports of its members.

Each event is owed to every subscriber of its topic except its publisher. Members publish only on
topics to which they subscribe, so an event is owed to one node less than there are subscribers.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

import msgspec

from orbweaver.swarm.latencies import added, quantile
from orbweaver.swarm.messages import MemberPlan, MemberReport

RATE_S = 3.0
"""Seconds over which rates are measured."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a swarm."""

    overlay: str
    nodes: int
    seconds: float
    """How long the members published."""
    published: int
    expected: int
    delivered: int
    share: float
    repeated: int
    latency_ms_median: float | None
    latency_ms_p99: float | None
    degree_mean: float
    cpu_mean: float
    """Share of one core that a member used while the members published."""
    cpu_max: float
    memory_mean: float
    memory_max: float
    trouble: dict[str, int]
    lost: dict[str, str]
    """Members whose process ended before it was told to, and the last line of their logs."""

    @property
    def missing(self) -> int:
        return self.expected - self.delivered

    def as_plain(self) -> dict[str, Any]:
        return {**msgspec.to_builtins(self), "missing": self.missing}


class SwarmTotals:
    """Keeps sums over all members, updated with each report."""

    def __init__(self, plans: Sequence[MemberPlan]) -> None:
        self._subscribers = Counter(topic for plan in plans for topic in plan.topics)
        self.reports: dict[int, MemberReport] = {}
        """The last report of each member that has reported."""
        self._begun: dict[int, float] = {}
        self._ended: dict[int, float] = {}
        self._past: deque[tuple[float, int]] = deque()

    def begin(self) -> None:
        """Note that publications begin: processor time used before does not count."""
        self._begun = {member: report.cpu_s for member, report in self.reports.items()}

    def end(self) -> None:
        """Note that publications have ended: processor time used later does not count."""
        self._ended = {member: report.cpu_s for member, report in self.reports.items()}

    @property
    def published(self) -> int:
        return sum(sum(report.published.values()) for report in self.reports.values())

    @property
    def expected(self) -> int:
        return sum(
            count * (self._subscribers[topic] - 1)
            for report in self.reports.values()
            for topic, count in report.published.items()
        )

    @property
    def delivered(self) -> int:
        return sum(sum(report.delivered.values()) for report in self.reports.values())

    @property
    def missing(self) -> int:
        """Return how many expected deliveries are not reported, which may still be on their way.

        A delivery may be reported before its publication; the difference then counts as 0.
        """
        return max(0, self.expected - self.delivered)

    def links(self) -> list[int]:
        return [report.links for report in self.reports.values()]

    def queued(self) -> int:
        return sum(report.queued for report in self.reports.values())

    def counters(self) -> Counter[str]:
        total: Counter[str] = Counter()
        for report in self.reports.values():
            total.update(report.counters)
        return total

    def rate(self, now: float) -> float:
        """Return deliveries per second, over the calls of the last `RATE_S` seconds."""
        self._past.append((now, self.delivered))
        while len(self._past) > 2 and now - self._past[1][0] > RATE_S:
            self._past.popleft()
        before, count = self._past[0]
        return (self.delivered - count) / (now - before) if now > before else 0.0

    def latency(self, share: float) -> float | None:
        """Return the latency in seconds that this share of the deliveries does not exceed."""
        return quantile(added([report.latencies for report in self.reports.values()]), share)

    def summary(
        self, overlay: str, seconds: float, trouble: dict[str, int], lost: dict[str, str]
    ) -> Summary:
        reports = list(self.reports.items())
        used = [end - self._begun.get(member, 0.0) for member, end in self._ended.items()]
        cpu = [seconds_used / max(seconds, 1e-3) for seconds_used in used]
        memory = [float(r.memory) for _, r in reports]
        median, late = self.latency(0.5), self.latency(0.99)
        return Summary(
            overlay=overlay,
            nodes=len(reports),
            seconds=seconds,
            published=self.published,
            expected=self.expected,
            delivered=self.delivered,
            share=self.delivered / self.expected if self.expected else 1.0,
            repeated=sum(r.repeated for _, r in reports),
            latency_ms_median=None if median is None else 1000 * median,
            latency_ms_p99=None if late is None else 1000 * late,
            degree_mean=_mean([float(links) for links in self.links()]),
            cpu_mean=_mean(cpu),
            cpu_max=max(cpu, default=0.0),
            memory_mean=_mean(memory),
            memory_max=max(memory, default=0.0),
            trouble=trouble,
            lost=lost,
        )


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
