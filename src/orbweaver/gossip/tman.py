"""T-Man lets a topology emerge from gossip (Jelasity and Babaoglu; Vitis, Algorithms 2-3).

Once a cycle a node sends all candidates it knows, its neighbours and a random sample, to a
random neighbour, gets the candidates of that neighbour in return, and selects its table anew from
both. The overlay decides what a good neighbour is. Entries older than `age_max_ms` are of nodes
that have gone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from orbweaver.core.ids import NodeId
from orbweaver.gossip.descriptor import Aged, Descriptor


def buffer(
    about: Descriptor, neighbors: Aged, sample: Aged, age_max_ms: int
) -> tuple[tuple[Descriptor, ...], tuple[int, ...]]:
    """Return what to send: the node itself, its neighbours and the sample, with their ages.

    A node that is in both lists is sent as it is known as a neighbour.
    """
    entries, ages = [about, *neighbors[0]], [0, *neighbors[1]]
    held = {entry.node for entry in neighbors[0]}
    for entry, age in zip(*sample, strict=True):
        if age <= age_max_ms and entry.node not in held:
            entries.append(entry)
            ages.append(age)
    return tuple(entries), tuple(ages)


def freshest(
    me: NodeId,
    entries: Sequence[Descriptor],
    ages: Sequence[int],
    wanted: Collection[Descriptor],
    age_max_ms: int,
) -> list[tuple[Descriptor, int]]:
    """Return the newest entry of each node, with its age, among those `entries` that are also
    in `wanted` (the same objects). Entries of `me` and of nodes that have gone are left out."""
    chosen = {id(entry) for entry in wanted}
    fresh: dict[NodeId, tuple[Descriptor, int]] = {}
    for entry, age in zip(entries, ages, strict=False):
        if id(entry) not in chosen or age > age_max_ms or entry.node == me:
            continue
        known = fresh.get(entry.node)
        if known is None or (entry.version, -age) > (known[0].version, -known[1]):
            fresh[entry.node] = (entry, age)
    return list(fresh.values())
