"""Deliveries: who should have got what, and who did, how soon, and how often."""

from __future__ import annotations

import dataclasses
import math

from orbweaver.records import Records

Interval = tuple[int, int, int]
"""(node, subscribed from, until)"""
NEVER = 1 << 62


@dataclasses.dataclass(frozen=True)
class DeliveryMetrics:
    publications: int
    deliveries: int
    expected: int
    hit_ratio: float
    """Of the deliveries that should have happened, the share that did."""
    duplicates: float
    """Copies beyond the first for each delivery."""
    duplicates_steady: float
    """The same for the last event on each topic, when the trees have been found."""
    hops_mean: float
    hops_max: int
    latency_ms_mean: float
    latency_ms_max: int


def subscribed(records: Records) -> dict[str, list[Interval]]:
    """For each topic, who was subscribed and when."""
    since: dict[tuple[int, str], int] = {}
    intervals: dict[str, list[Interval]] = {}
    for time, node, topic, kind in records["interests"].rows():
        if kind == "subscribe":
            since[(node, topic)] = time
        elif kind == "unsubscribe" and (node, topic) in since:
            start = since.pop((node, topic))
            intervals.setdefault(topic, []).append((node, start, time))
    for (node, topic), start in since.items():
        intervals.setdefault(topic, []).append((node, start, NEVER))
    return intervals


def deliveries(records: Records, grace_ms: int = 0, stay_ms: int = 5000) -> DeliveryMetrics:
    """An event is owed to those who had been subscribed for `grace_ms` when it was
    published and stayed for `stay_ms` after, its publisher excepted."""
    intervals = subscribed(records)
    got: dict[str, set[int]] = {}
    for _, event, node, _, _ in records["deliveries"].rows():
        got.setdefault(event, set()).add(node)
    table = records["publications"]
    rows_kept = bool(got) or not any(table["deliveries"])
    expected = hits = 0
    last: dict[str, tuple[int, int]] = {}
    for time, event, topic, publisher, copies, _, delivered, *_ in table.rows():
        owed = {
            node
            for node, start, end in intervals.get(topic, ())
            if start <= time - grace_ms and end > time + stay_ms and node != publisher
        }
        expected += len(owed)
        # With counters only, the best that can be said is how many were delivered.
        hits += len(owed & got.get(event, set())) if rows_kept else min(delivered, len(owed))
        last[topic] = (copies, delivered)
    total = sum(table["deliveries"])
    steady_copies = sum(copies for copies, _ in last.values())
    steady_total = sum(count for _, count in last.values())
    return DeliveryMetrics(
        publications=len(table),
        deliveries=total,
        expected=expected,
        hit_ratio=_ratio(hits, expected),
        duplicates=_ratio(sum(table["copies"]) - total, total),
        duplicates_steady=_ratio(steady_copies - steady_total, steady_total),
        hops_mean=_ratio(sum(table["hops_sum"]), total),
        hops_max=max(table["hops_max"], default=0),
        latency_ms_mean=_ratio(sum(table["latency_ms_sum"]), total),
        latency_ms_max=max(table["latency_ms_max"], default=0),
    )


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
