"""Check the ring: whether each node is linked to those next to it in the order of places."""

from __future__ import annotations

import math

from orbweaver.core.identifiers import Places
from orbweaver.core.ids import NodeId
from orbweaver.metrics.snapshot import Snapshot


def ring_right(overlay: Snapshot, places: Places[NodeId]) -> float:
    """Return the share of the nodes that are linked to the next node of the snapshot and to the one
    before, or nan of a single node."""
    nodes = sorted(overlay.links, key=lambda node: (places[NodeId(node)], node))
    if len(nodes) < 2:
        return math.nan
    after = [*nodes[1:], nodes[0]]
    before = [nodes[-1], *nodes[:-1]]
    sides = zip(nodes, before, after, strict=True)
    right = sum({one, other} <= set(overlay.links[node]) for node, one, other in sides)
    return right / len(nodes)
