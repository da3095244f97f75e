"""Measure traffic: what messages are for, and how many copies reach nodes without interest."""

from __future__ import annotations

import math
from collections import Counter

from orbweaver.metrics.averages import mean
from orbweaver.records import Records

_COPIES = ("interesting", "uninteresting")
_NOTICES = ("notices", "uninteresting_notices")


def overhead_by_node(records: Records, notices: bool = False) -> list[float]:
    """Return the share of uninteresting copies for each node that received any event.

    With `notices`, each notice counts as a copy: where events are pulled once, the result is
    what pushing the events would have cost.
    """
    wanted, unwanted = (records["traffic"][c] for c in (_NOTICES if notices else _COPIES))
    pairs = zip(wanted, unwanted, strict=True)
    return [bad / (good + bad) for good, bad in pairs if good + bad]


def traffic_overhead(records: Records, notices: bool = False) -> float:
    """Return the mean of `overhead_by_node`."""
    return mean(overhead_by_node(records, notices))


def overhead_histogram(records: Records) -> dict[int, int]:
    """Return how many nodes have how much overhead, in tenths: 0 is less than 10 %, 9 is 90 % and
    more."""
    tenths = Counter(min(9, int(10 * share)) for share in overhead_by_node(records))
    return dict(sorted(tenths.items()))


BURDENED = 0.2
"""Share of uninteresting copies above which a node counts as burdened."""


def burdened(records: Records, notices: bool = False) -> float:
    """Return the share of nodes with an overhead above `BURDENED`."""
    found = overhead_by_node(records, notices)
    return sum(share > BURDENED for share in found) / len(found) if found else math.nan


def sent(records: Records, start_ms: int = 0, end_ms: int | None = None) -> dict[str, int]:
    """Return how many messages of each purpose were sent between two moments.

    If the sends were not recorded at a moment, the last recording before it counts. Without
    `end_ms` the period lasts until the end of the run.
    """
    return _sum_sends(records, "count", start_ms, end_ms)


def sent_by_kind(records: Records, start_ms: int = 0, end_ms: int | None = None) -> dict[str, int]:
    """Return the same for each type of message, by its name on the wire."""
    return _sum_sends(records, "count", start_ms, end_ms, by="kind")


def sent_bytes(records: Records, start_ms: int = 0, end_ms: int | None = None) -> dict[str, int]:
    return _sum_sends(records, "bytes", start_ms, end_ms)


def control_messages_per_change(
    records: Records, start_ms: int = 0, end_ms: int | None = None, refused: bool = True
) -> float:
    """Return how many messages that make and unmake links were sent for each join or leave.

    SpiderCast's DISCONNECT is a request, and a peer that refuses it does not answer. Without
    `refused`, only DISCONNECTs that were answered with DISCONNECTOK count.
    """
    stop = math.inf if end_ms is None else end_ms
    # Nodes that are up from the start join at time 0, which belongs to a period from 0.
    since = start_ms if start_ms else -1
    changes = sum(since < time <= stop for time in records["nodes"]["time_ms"])
    built = sent(records, start_ms, end_ms).get("build", 0)
    if not refused:
        kinds = sent_by_kind(records, start_ms, end_ms)
        built -= kinds.get("disconnect", 0) - kinds.get("disconnect-ok", 0)
    return built / changes if changes else math.nan


def node_ms(records: Records, end_ms: int, start_ms: int = 0) -> dict[int, int]:
    """Return how long each node was up between two moments, in milliseconds."""
    since: dict[int, int] = {}
    up: dict[int, int] = {}
    for time, node, kind in records["nodes"].rows():
        if kind == "join":
            since[node] = max(time, start_ms)
        elif node in since:
            up[node] = up.get(node, 0) + max(0, time - since.pop(node))
    for node, time in since.items():
        up[node] = up.get(node, 0) + max(0, end_ms - time)
    return up


def node_seconds(records: Records, end_ms: int, start_ms: int = 0) -> float:
    """Return how long nodes were up between two moments, in seconds, summed over all nodes."""
    return sum(node_ms(records, end_ms, start_ms).values()) / 1000


OF_EVENTS = ("data", "repair")
"""Purposes of the messages that carry, announce or pull events. The others build links, keep them
and look for peers, whether there are events or not."""


def upkeep_bytes(records: Records, start_ms: int, end_ms: int) -> float:
    """Return the bytes of all messages that are not of events, for each node and second between
    two moments; nan where sizes were not measured."""
    sizes = sent_bytes(records, start_ms, end_ms)
    total = sum(size for purpose, size in sizes.items() if purpose not in OF_EVENTS)
    seconds = node_seconds(records, end_ms, start_ms)
    return total / seconds if seconds and any(sizes.values()) else math.nan


def event_bytes(records: Records, start_ms: int, end_ms: int) -> float:
    """Return the bytes of all messages of events, for each event published between two moments;
    nan where there is none, and where sizes were not measured."""
    sizes = sent_bytes(records, start_ms, end_ms)
    total = sum(sizes.get(purpose, 0) for purpose in OF_EVENTS)
    events = sum(start_ms <= time <= end_ms for time in records["publications"]["time_ms"])
    return total / events if events and any(sizes.values()) else math.nan


def _sum_sends(
    records: Records, column: str, start_ms: int, end_ms: int | None, by: str = "purpose"
) -> dict[str, int]:
    times = records["sends"]["time_ms"]
    end = max((time for time in times if end_ms is None or time <= end_ms), default=0)
    # Messages sent at time 0 belong to a period from 0.
    start = max((time for time in times if time <= start_ms), default=-1) if start_ms else -1
    totals: dict[str, int] = {}
    values = records["sends"][column]
    for time, name, value in zip(times, records["sends"][by], values, strict=True):
        if time == end:
            totals[name] = totals.get(name, 0) + value
        if time == start:
            totals[name] = totals.get(name, 0) - value
    return totals
