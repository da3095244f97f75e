"""A node's state in Pastry: its leaf set, its routing table, and the routes that follow.

Identifiers have 128 bits and stand on a circle. Read as 32 digits of base 16, an identifier has a
place in the routing table of every other node: the row is the number of leading digits that both
share, the column the first digit in which they differ. This part is data and decisions only. Its
owner puts in nodes that have answered, and drops those that failed.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from orbweaver.core.ids import NodeId
from orbweaver.core.seeds import derive
from orbweaver.overlays.scribe.messages import ROWS

DIGIT_BITS = 4
"""b: bits of a digit (Pastry 2.1: typically 4)."""
ID_BITS = ROWS * DIGIT_BITS
ID_SPACE = 1 << ID_BITS
COLUMNS = 1 << DIGIT_BITS
MEASURED_MAX = 4096
"""Most round trips that are remembered, the latest ones."""


@lru_cache(maxsize=1 << 17)
def pastry_id(place: int) -> int:
    """Return the identifier of 128 bits that belongs to a place on the project's circle, which
    has 64: the place, and a hash of it for the other digits."""
    return place << 64 | derive("pastry", place)


def shared_digits(a: int, b: int) -> int:
    """Return how many leading digits two identifiers share."""
    return ROWS - ((a ^ b).bit_length() + DIGIT_BITS - 1) // DIGIT_BITS


def id_distance(a: int, b: int) -> int:
    """Return the distance between two identifiers, the shorter way round the circle."""
    ahead = (b - a) % ID_SPACE
    return min(ahead, ID_SPACE - ahead)


class PastryState:
    def __init__(
        self, me: NodeId, places: Mapping[NodeId, int], leaf_set: int, proximity: bool
    ) -> None:
        self._me = me
        self._places = places
        self._half = leaf_set // 2
        self._proximity = proximity
        self.id = pastry_id(places[me])
        self.ids: dict[NodeId, int] = {}
        """The nodes in the leaf set or the routing table, and their identifiers. A change makes a
        new dict."""
        self.leaves: tuple[NodeId, ...] = ()
        """The leaf set, clockwise: first the nodes after this one, last those before it."""
        self.table: dict[int, NodeId] = {}
        """The routing table: row * 16 + column -> node."""
        self._round_trips: dict[NodeId, float] = {}
        """Round trips in milliseconds, also of nodes that got no place."""
        self._ring: list[tuple[int, NodeId]] = [(0, me)]
        """This node and the leaf set, by their distance from this node clockwise."""
        self._ahead, self._behind = ID_SPACE, 0
        """The last distance that the leaf set covers on one side, and the first on the other."""

    # -- routing (Pastry 2.2)

    def next_hop(self, key: int, but: NodeId | None = None) -> NodeId | None:
        """Return where a message for `key` goes next, or None if this node is the closest one.
        `but` is passed over: the route of a node that joins must not end at itself."""
        ahead = (key - self.id) % ID_SPACE
        if ahead <= self._ahead or ahead >= self._behind:
            closest = self._closest(key, ahead, but)
            return None if closest == self._me else closest
        row = shared_digits(self.id, key)
        hop = self.table.get(self._slot(row, key))
        if hop is not None and hop != but:
            return hop
        mine = id_distance(self.id, key)  # the rare case
        best: tuple[int, int, NodeId] | None = None
        for node, other in self.ids.items():
            shared, distance = shared_digits(other, key), id_distance(other, key)
            if shared >= row and distance < mine and node != but:
                found = (-shared, distance, node)
                if best is None or found < best:
                    best = found
        return best[2] if best is not None else None

    def _closest(self, key: int, ahead: int, but: NodeId | None) -> NodeId:
        """Return the node numerically closest to `key` among this one and the leaf set."""
        ring = self._ring
        at = bisect_left(ring, (ahead, -1))
        around = (ring[at - 1], ring[at % len(ring)], ring[(at + 1) % len(ring)])
        nodes = [node for _, node in around if node != but] or [self._me]
        return min(nodes, key=lambda node: (id_distance(self._id_of(node), key), node))

    def closer(self, node: NodeId, key: int) -> bool:
        """Return whether a node is closer to `key` than this one."""
        return id_distance(self._id_of(node), key) < id_distance(self.id, key)

    # -- which nodes belong here

    def is_near(self, node: NodeId) -> bool:
        """Return whether a node is in the leaf set, or would be if it were put in."""
        if len(self.leaves) < 2 * self._half:
            return True
        ahead = (self._id_of(node) - self.id) % ID_SPACE
        return ahead <= self._ahead or ahead >= self._behind

    def wanted(self, nodes: Iterable[NodeId], only_near: bool = False) -> list[NodeId]:
        """Return which of the nodes could get places if all of them were there, or places in the
        leaf set only. Where proximity decides, the round trip has to be measured first."""
        new = [node for node in dict.fromkeys(nodes) if node not in self.ids and node != self._me]
        if not new:
            return []
        near = self._nearest(new)
        return [n for n in new if n in near or (not only_near and self._fits(n))]

    def _nearest(self, new: list[NodeId]) -> Collection[NodeId]:
        """Return which of the nodes `new` would be in a leaf set chosen among them, too."""
        here, places = self.id, self._places
        last, first = self._ahead, self._behind
        ahead = {node: (pastry_id(places[node]) - here) % ID_SPACE for node in new}
        near = [(far, node) for node, far in ahead.items() if far <= last or far >= first]
        if not near or len(self.leaves) + len(near) <= 2 * self._half:
            return {node for _, node in near}
        order = sorted([*self._ring[1:], *near])
        return {node for _, node in (*order[: self._half], *order[-self._half :])}

    def _fits(self, node: NodeId) -> bool:
        """Return whether the routing table could have a place for a node."""
        held = self.table.get(self._slot_of(node))
        if held is None:
            return True
        measured = self._round_trips.get(node)
        return self._proximity and (measured is None or measured < self._round_trip(held))

    def put(self, node: NodeId, round_trip_ms: float | None) -> bool:
        """Give a node that has answered the places for which it is fit. Return whether the state
        has changed."""
        if node == self._me:
            return False
        self._measure(node, round_trip_ms)
        slot = self._slot_of(node)
        held = self.table.get(slot)
        fits = held is None or (
            self._proximity and held != node and self._round_trip(node) < self._round_trip(held)
        )
        enters = node not in self.leaves and self.is_near(node)
        if not fits and not enters:
            return False
        if fits:
            self.table[slot] = node
        self._settle({node: self._id_of(node)})
        return True

    def drop(self, node: NodeId) -> int | None:
        """Remove a node. Return the row of the routing table in which it leaves a gap."""
        if node not in self.ids:
            return None
        slot = self._slot_of(node)
        gap = self.table.get(slot) == node
        if gap:
            del self.table[slot]
        self.leaves = tuple(leaf for leaf in self.leaves if leaf != node)
        self._settle({})
        return slot // COLUMNS if gap else None

    def row(self, row: int) -> list[NodeId]:
        slots = range(row * COLUMNS, (row + 1) * COLUMNS)
        return [self.table[slot] for slot in slots if slot in self.table]

    def rows(self) -> list[int]:
        """Return the rows that have entries."""
        return sorted({slot // COLUMNS for slot in self.table})

    def row_of(self, node: NodeId) -> int:
        """Return the row in which a node belongs."""
        return shared_digits(self.id, self._id_of(node))

    def edges(self) -> list[NodeId]:
        """Return the farthest nodes of the leaf set, one on either side. They know what comes
        after a node that failed (Pastry 2.4)."""
        half = min(self._half, len(self.leaves))
        return list(dict.fromkeys([*self.leaves[half - 1 : half], *self.leaves[-half:][:1]]))

    # -- inside

    def _settle(self, more: dict[NodeId, int]) -> None:
        """Choose the leaf set among all that are known, and forget nodes without a place."""
        ids, here = self.ids | more, self.id
        nodes = dict.fromkeys((*self.leaves, *self.table.values(), *more))
        order = sorted([((ids[node] - here) % ID_SPACE, node) for node in nodes])
        half = self._half
        whole = len(order) < 2 * half
        if not whole:
            order = [*order[:half], *order[-half:]]
        self._ahead = ID_SPACE if whole else order[half - 1][0]
        self._behind = 0 if whole else order[half][0]
        self._ring = [(0, self._me), *order]
        self.leaves = tuple(node for _, node in order)
        kept = dict.fromkeys((*self.leaves, *self.table.values()))
        self.ids = {node: ids[node] for node in kept}

    def _measure(self, node: NodeId, round_trip_ms: float | None) -> None:
        if round_trip_ms is None:
            return
        self._round_trips.pop(node, None)
        self._round_trips[node] = round_trip_ms
        if len(self._round_trips) > MEASURED_MAX:
            del self._round_trips[next(iter(self._round_trips))]

    def _round_trip(self, node: NodeId) -> float:
        return self._round_trips.get(node, math.inf)

    def _id_of(self, node: NodeId) -> int:
        known = self.ids.get(node)
        if known is not None:
            return known
        return self.id if node == self._me else pastry_id(self._places[node])

    def _slot_of(self, node: NodeId) -> int:
        identifier = self._id_of(node)
        return self._slot(shared_digits(self.id, identifier), identifier)

    def _slot(self, row: int, identifier: int) -> int:
        column = identifier >> (ID_BITS - DIGIT_BITS * (row + 1)) & (COLUMNS - 1)
        return row * COLUMNS + column
