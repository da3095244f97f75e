"""What nodes say of themselves at a snapshot: `Overlay.status`, as hosts record it."""

from __future__ import annotations

import math

from orbweaver.metrics.snapshot import Snapshot
from orbweaver.records import Records


def per_topic(records: Records, overlay: Snapshot, state: str) -> float:
    """Return how many nodes count a topic in this state, mean over topics, or nan if no node
    reports such a state."""
    found = [
        value * nodes
        for time_ms, name, value, nodes in records["states"].rows()
        if time_ms == overlay.time_ms and name == state
    ]
    topics = len(overlay.on_topic())
    return sum(found) / topics if found and topics else math.nan


def largest(records: Records, overlay: Snapshot, state: str) -> float:
    """Return the largest value of this state at a node, or nan if no node reports such a state."""
    rows = records["states"].rows()
    found = [value for at_ms, name, value, _ in rows if (at_ms, name) == (overlay.time_ms, state)]
    return max(found, default=math.nan)
