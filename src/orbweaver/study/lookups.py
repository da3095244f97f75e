"""Measure lookups in overlays where a topic has a place: how many links a lookup takes."""

from __future__ import annotations

from orbweaver.core.identifiers import PLACE_OF_TOPIC, Places
from orbweaver.core.ids import NodeId
from orbweaver.gossip.router import lookup
from orbweaver.metrics.averages import mean
from orbweaver.metrics.snapshot import Snapshot

BY_PLACE = frozenset(("vitis", "rvr"))
"""Overlays whose lookups go on to the neighbour that is nearest to the topic's place."""

RINGS = BY_PLACE | {"magnet", "magnet-strawman"}
"""Overlays in which each node links to its neighbours on the ring of places that follow from the
ids. In Magnet it is the control ring."""

LOOKUPS = 500
"""How many lookups `lookup_hops` takes the mean of."""


def lookup_hops(overlay: Snapshot, places: Places[NodeId]) -> float:
    """Return the mean number of hops of lookups in an overlay of `BY_PLACE`. They start at nodes
    and are for topics that are spread over the whole overlay. `places` are those of the nodes of
    the run."""
    nodes, topics = sorted(overlay.links), sorted(overlay.on_topic())
    hops = []
    for i in range(LOOKUPS if topics else 0):
        start, topic = nodes[i * len(nodes) // LOOKUPS], topics[i * len(topics) // LOOKUPS]
        place = PLACE_OF_TOPIC[topic]
        path = lookup(NodeId(start), place, places, lambda n: map(NodeId, overlay.links[n]))
        hops.append(len(path) - 1)
    return mean(hops)
