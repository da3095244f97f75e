"""The place of a node in one tree, and its range (ours).

Of the nodes to which its parent can pass a message, a node is the one chosen for all places from
its own to below that of the next one. So its *range* ends where the next neighbour of its parent
stands, or where its parent's range ends; the range of the home is the whole ring. With ranges, the
path from the home is the greedy one exactly. The condition printed in Algorithm 2, that the tree
has the edge to the next hop from here, stops too low where an ancestor knows a node closer to p.
"""

from __future__ import annotations

from orbweaver.core.identifiers import SPACE
from orbweaver.core.ids import NodeId
from orbweaver.gossip.ring import KeptRing


class Branch:
    """The place of this node in one tree."""

    __slots__ = ("asked_ms", "beat", "changed", "children", "depth", "end", "fresh_ms", "parent",
                 "root", "rooted", "stray", "tries")  # fmt: skip

    def __init__(self, root: NodeId, now: int) -> None:
        self.parent: NodeId | None = None
        self.rooted = False
        """This node is the home."""
        self.end = 0
        """Where this node's range ends."""
        self.stray = True
        """The greedy path to this node no longer comes through the parent, or there is none."""
        self.children: dict[NodeId, int] = {}
        """Child -> the end of its range, as it was told last."""
        self.changed = False
        """The children have not been told of the present root and depth."""
        self.depth = 0
        """Edges from the root to this node."""
        self.root = root
        self.beat = -1
        self.fresh_ms = now
        """When the last new beat of the root came."""
        self.asked_ms = -(1 << 40)
        self.tries = 0


def in_range(ring: KeptRing, branch: Branch, place: int) -> bool:
    """Return whether the greedy path from the home to a place comes through this node."""
    if branch.rooted:
        return True
    return 0 < (place - ring.here) % SPACE < (branch.end - ring.here) % SPACE


def is_outside(ring: KeptRing, parent: NodeId, end: int) -> bool:
    """Return whether a range that a parent gives does not reach beyond this node."""
    start = ring.places[parent]
    here = (ring.here - start) % SPACE
    return not 0 < here < ((end - start) % SPACE or SPACE)


def end_of(ring: KeptRing, branch: Branch, child: NodeId) -> int:
    """Return where the range of a child ends. A child that this node's own range does not reach
    gets its own place."""
    here, place = ring.here, ring.places[child]
    ahead = (place - here) % SPACE
    span = (branch.end - here) % SPACE
    if branch.rooted and not span:
        span = SPACE
    if not 0 < ahead < span:
        return place
    after = (ring.after(child) - here) % SPACE or SPACE
    return (here + min(after, span)) % SPACE
