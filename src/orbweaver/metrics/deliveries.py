"""Compute which events each node should have got, which it got, how soon and how often."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from itertools import pairwise

from orbweaver.records import Records

Interval = tuple[int, int, int]
"""(node, start, end) of a subscription, in milliseconds."""
NEVER = 1 << 62
"""End of a subscription that lasts beyond the end of the run, in milliseconds."""
PARTS = 20
"""Number of stretches of a run, with equally many events each, among which the worst is sought."""
STAY_MS = 5000
"""How long a node must stay subscribed after a publication to be owed it, in milliseconds."""
PROMPT_MS = 2000
"""Longest latency of a prompt delivery, in milliseconds. A later one has waited until the
overlay found a path, rather than for the network."""


@dataclasses.dataclass(frozen=True)
class DeliveryMetrics:
    publications: int
    deliveries: int
    expected: int
    hit_ratio: float
    """Share of the expected deliveries that happened."""
    hit_ratio_worst: float
    """The hit ratio in the worst of the `PARTS` stretches of the run."""
    prompt_ratio_worst: float
    """Share of the expected deliveries that happened within `PROMPT_MS`, in the worst stretch."""
    duplicates: float
    """Copies beyond the first, for each delivery."""
    duplicates_steady: float
    """Copies beyond the first, for each delivery of the last event on each topic, when the
    dissemination trees have settled."""
    hops_mean: float
    hops_max: int
    latency_ms_mean: float
    latency_ms_max: int


def subscribed(records: Records) -> dict[str, list[Interval]]:
    """Return, for each topic, which nodes were subscribed and when."""
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


def owed_nodes(
    intervals: Sequence[Interval], time_ms: int, publisher: int, grace_ms: int = 0
) -> set[int]:
    """Return the nodes to which an event is owed, out of the subscriptions to its topic.

    It is owed to every node, except its publisher, that had been subscribed for `grace_ms` when
    the event was published and stayed subscribed for `STAY_MS` afterwards.
    """
    return {
        node
        for node, start, end in intervals
        if start <= time_ms - grace_ms and end > time_ms + STAY_MS and node != publisher
    }


def deliveries(records: Records, grace_ms: int = 0) -> DeliveryMetrics:
    """Return the delivery metrics of a run.

    Events are owed as in `owed_nodes`.
    """
    intervals = subscribed(records)
    got: dict[str, set[int]] = {}
    prompt: dict[str, set[int]] = {}
    for _, event, node, _, latency_ms in records["deliveries"].rows():
        got.setdefault(event, set()).add(node)
        if latency_ms <= PROMPT_MS:
            prompt.setdefault(event, set()).add(node)
    table = records["publications"]
    rows_kept = bool(got) or not any(table["deliveries"])
    owed_and_got: list[tuple[int, int]] = []
    owed_and_prompt: list[tuple[int, int]] = []
    last: dict[str, tuple[int, int]] = {}
    for time, event, topic, publisher, copies, _, delivered, *_ in table.rows():
        owed = owed_nodes(intervals.get(topic, ()), time, publisher, grace_ms)
        # With counters only, nothing is known beyond how many deliveries there were.
        hits = len(owed & got.get(event, set())) if rows_kept else min(delivered, len(owed))
        owed_and_got.append((len(owed), hits))
        if rows_kept:
            owed_and_prompt.append((len(owed), len(owed & prompt.get(event, set()))))
        last[topic] = (copies, delivered)
    total = sum(table["deliveries"])
    steady_copies = sum(copies for copies, _ in last.values())
    steady_total = sum(count for _, count in last.values())
    return DeliveryMetrics(
        publications=len(table),
        deliveries=total,
        expected=sum(owed for owed, _ in owed_and_got),
        hit_ratio=_hit_ratio(owed_and_got),
        hit_ratio_worst=_worst(owed_and_got),
        prompt_ratio_worst=_worst(owed_and_prompt),
        duplicates=_ratio(sum(table["copies"]) - total, total),
        duplicates_steady=_ratio(steady_copies - steady_total, steady_total),
        hops_mean=_ratio(sum(table["hops_sum"]), total),
        hops_max=max(table["hops_max"], default=0),
        latency_ms_mean=_ratio(sum(table["latency_ms_sum"]), total),
        latency_ms_max=max(table["latency_ms_max"], default=0),
    )


def _hit_ratio(owed_and_got: Sequence[tuple[int, int]]) -> float:
    return _ratio(sum(got for _, got in owed_and_got), sum(owed for owed, _ in owed_and_got))


def _worst(owed_and_got: Sequence[tuple[int, int]]) -> float:
    events = len(owed_and_got)
    parts = max(1, min(PARTS, events))
    ends = [i * events // parts for i in range(parts + 1)]
    found = [_hit_ratio(owed_and_got[start:end]) for start, end in pairwise(ends)]
    return min((ratio for ratio in found if not math.isnan(ratio)), default=math.nan)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
