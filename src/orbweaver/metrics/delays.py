"""How long owed events take to arrive, and how much longer than straight from their publisher.

An event is owed to a node as in `metrics.deliveries`, so that a node that has only just joined
does not count as slow. Only deliveries that happened have a delay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from orbweaver.metrics.averages import mean
from orbweaver.metrics.deliveries import STAY_MS, subscribed
from orbweaver.records import Records

DirectMs = Callable[[int, int], float]
"""The one-way time between two nodes, in milliseconds."""
DIRECT_MS_MIN = 1.0
"""Shortest direct way that a stretch is taken of, in milliseconds: messages take at least as
long."""

PROMPT_MS = 1000
"""Longest delay of a prompt delivery, in milliseconds (Rappel 6.2.3)."""


class Delay(NamedTuple):
    """One delivery of an event that was owed."""

    published_ms: int
    publisher: int
    node: int
    ms: int


def delays(records: Records, grace_ms: int = 0) -> list[Delay]:
    """Return the owed deliveries that happened, or none if only counters were kept."""
    spans: dict[str, dict[int, list[tuple[int, int]]]] = {}
    for topic, intervals in subscribed(records).items():
        of_node = spans.setdefault(topic, {})
        for node, start, end in intervals:
            of_node.setdefault(node, []).append((start, end))
    table = records["publications"]
    events = {
        event: (time, publisher, spans.get(topic, {}))
        for time, event, topic, publisher in zip(
            table["time_ms"], table["event"], table["topic"], table["node"], strict=True
        )
    }
    found = []
    for _, event, node, _, latency_ms in records["deliveries"].rows():
        time, publisher, of_node = events[event]
        if node != publisher and any(
            start <= time - grace_ms and end > time + STAY_MS
            for start, end in of_node.get(node, ())
        ):
            found.append(Delay(time, publisher, node, latency_ms))
    return found


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed, or nan of
    nothing."""
    if not values:
        return math.nan
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def delay_metrics(found: Sequence[Delay], direct_ms: DirectMs | None = None) -> dict[str, float]:
    """Return the median and the 95th percentile of the delays, the largest, and the share that is
    at most `PROMPT_MS`; and, where direct ways are known, the percentiles of the stretch: the
    delay over the one-way time from the publisher."""
    times = [float(one.ms) for one in found]
    stretch = []
    if direct_ms is not None:
        stretch = [one.ms / max(DIRECT_MS_MIN, direct_ms(one.publisher, one.node)) for one in found]
    return {
        "delay_ms_p50": percentile(times, 0.5),
        "delay_ms_p95": percentile(times, 0.95),
        "delay_ms_max": max(times, default=math.nan),
        "delay_prompt": mean([float(ms <= PROMPT_MS) for ms in times]),
        "stretch_p50": percentile(stretch, 0.5),
        "stretch_p95": percentile(stretch, 0.95),
    }
