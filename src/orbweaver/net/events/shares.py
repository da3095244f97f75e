"""Decide whose events leave a window that is full.

Each event is held for its publisher, by way of the neighbour that brought it. While there is
room, any holder may take it. When room is short, the neighbours that take up most are cut down to
one level, and for each of these neighbours the publishers that take up most. So a holder with
less than an equal share loses nothing, and one peer cannot push out what other peers brought,
however many keys or topics it makes up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from orbweaver.core.ids import NodeId

Holder = tuple[NodeId | None, NodeId]
"""(the neighbour that brought an event, or None for this node itself; the event's publisher)"""

K = TypeVar("K")


def cuts(held: Mapping[Holder, int], excess: int) -> dict[Holder, int]:
    """Return how much each holder has to give up, so that together they give up `excess`."""
    peers: dict[NodeId | None, dict[Holder, int]] = {}
    for holder, amount in held.items():
        peers.setdefault(holder[0], {})[holder] = amount
    of_peers = level({peer: sum(own.values()) for peer, own in peers.items()}, excess)
    return {
        holder: cut
        for peer, share in of_peers.items()
        for holder, cut in level(peers[peer], share).items()
    }


def level(held: Mapping[K, int], excess: int) -> dict[K, int]:
    """Return what to cut off the largest amounts so that they become equal. In all, `excess` or a
    little more is cut off."""
    ordered = sorted(held.items(), key=lambda item: -item[1])
    total = 0
    for count, (_, amount) in enumerate(ordered, 1):
        total += amount
        following = ordered[count][1] if count < len(ordered) else 0
        if total - count * following >= excess or count == len(ordered):
            height = max(0, total - excess) // count
            return {key: own - height for key, own in ordered[:count] if own > height}
    return {}
