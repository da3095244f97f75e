"""Metrics of overlays in which a topic has a place: how many nodes lead to that place."""

from __future__ import annotations

import math

from orbweaver.core.identifiers import PLACE_OF_NODE, PLACE_OF_TOPIC, Places
from orbweaver.core.ids import NodeId
from orbweaver.gossip.smallworld import lookup
from orbweaver.metrics.averages import mean
from orbweaver.metrics.snapshot import Snapshot
from orbweaver.records import Records

LOOKUPS = 500
"""How many lookups `lookup_hops` takes the mean of."""


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


def lookup_hops(
    records: Records, overlay: Snapshot, places: Places[NodeId] = PLACE_OF_NODE
) -> float:
    """Return the mean number of hops of lookups from nodes and for topics all over the overlay,
    or nan where none are made. `places` are those of the nodes of the run."""
    if math.isnan(per_topic(records, overlay, "relay_of")):
        return math.nan
    nodes, topics = sorted(overlay.links), sorted(overlay.on_topic())
    hops = []
    for i in range(LOOKUPS):
        start, topic = nodes[i * len(nodes) // LOOKUPS], topics[i * len(topics) // LOOKUPS]
        place = PLACE_OF_TOPIC[topic]
        path = lookup(NodeId(start), place, places, lambda n: map(NodeId, overlay.links[n]))
        hops.append(len(path) - 1)
    return mean(hops)
