"""The load of a node is how many messages it carries, of any type: those it sent and received.

An overlay is fair if the load of a node follows from its own subscriptions (Rappel, Sec. 1).
"""

from __future__ import annotations

import math
from collections import Counter
from statistics import StatisticsError, correlation, linear_regression

from orbweaver.metrics.deliveries import subscribed
from orbweaver.metrics.snapshot import Snapshot
from orbweaver.metrics.traffic import node_ms
from orbweaver.records import Records

BUSIEST = 100
"""The busiest nodes are one in `BUSIEST` of all nodes, rounded down, and at least one."""


def messages_carried(records: Records) -> dict[int, int]:
    """Return how many messages each node sent and received in the whole run."""
    return {node: sent + received for node, sent, received, _ in records["loads"].rows()}


def bytes_sent(records: Records) -> dict[int, int]:
    """Return how many bytes each node sent in the whole run."""
    return {node: size for node, _, _, size in records["loads"].rows()}


def per_second(records: Records, end_ms: int) -> dict[int, float]:
    """Return how many messages each node sent and received in a second, while it was up."""
    up_ms = node_ms(records, end_ms)
    return {
        node: 1000 * count / up_ms[node]
        for node, count in messages_carried(records).items()
        if up_ms.get(node)
    }


def subscriptions(records: Records, overlay: Snapshot) -> dict[int, int]:
    """Return the number of subscriptions of each node of the snapshot."""
    at_ms = overlay.time_ms
    found = Counter(
        node
        for intervals in subscribed(records).values()
        for node, start, end in intervals
        if start <= at_ms < end
    )
    return {node: found[node] for node in overlay.interests}


def load_correlation(loads: dict[int, int], records: Records, overlay: Snapshot) -> float:
    """Return Pearson's correlation between the load of a node and the number of its subscriptions,
    over the nodes of the snapshot. It is nan if all nodes have the same load, for example none, or
    equally many subscriptions."""
    wanted = subscriptions(records, overlay)
    try:
        return correlation(list(wanted.values()), [loads.get(node, 0) for node in wanted])
    except StatisticsError:
        return math.nan


def load_per_subscription(rates: dict[int, float], records: Records, overlay: Snapshot) -> float:
    """Return by how much the load of a node grows with each further subscription: the slope of the
    straight line nearest to the nodes of the snapshot, or nan where there is no such line."""
    wanted = subscriptions(records, overlay)
    try:
        line = linear_regression(list(wanted.values()), [rates.get(node, 0.0) for node in wanted])
    except StatisticsError:
        return math.nan
    return line.slope


def load_share_top1(records: Records) -> float:
    """Return the share of all load that the busiest 1 % of nodes carry, or nan without load."""
    found = messages_carried(records)
    nodes = {*found, *records["nodes"]["node"]}
    loads = sorted((found.get(node, 0) for node in nodes), reverse=True)
    total = sum(loads)
    return sum(loads[: max(1, len(loads) // BUSIEST)]) / total if total else math.nan
