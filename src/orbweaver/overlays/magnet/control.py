"""Fingers on the control ring, found by lookups of places at harmonic distances (Symphony).

Places on the control ring are hashes, so distances between places will do (Sec. 2.1: the control
DHT can be any name-independent one).
"""

from __future__ import annotations

import math

from orbweaver.core.identifiers import SPACE
from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Context
from orbweaver.overlays.magnet.messages import Find, Found
from orbweaver.overlays.magnet.params import MagnetParams
from orbweaver.overlays.magnet.table import Table

HOPS_MAX = 64
"""Most hops of a lookup."""


class ControlFingers:
    """The fingers of one node on the control ring."""

    def __init__(self, context: Context, params: MagnetParams, table: Table) -> None:
        self._context = context
        self._params = params
        self._table = table
        self._draws: list[float] = []
        """For each finger a number that gives its length. Drawn once."""
        self._finding: dict[int, None] = {}
        """Places that are being looked up."""
        self._due_ms = 0
        self._turn = 0

    @property
    def looked_up(self) -> bool:
        """Whether this node has looked for its fingers."""
        return self._due_ms > 0

    def step(self) -> None:
        """Look up the fingers that are missing: of a node that has all, one each period."""
        now, ring = self._context.outbox.now(), self._table.control
        fingers, count = self._table.control_fingers, self._params.control_fingers
        if now < self._due_ms or not self._table.is_quiet(skewed=False):
            return
        while len(self._draws) < count:
            self._draws.append(self._context.rng.random())
        full = len(fingers) >= min(count, len(self._table.peers))
        self._due_ms = now + (self._params.finger_ms if full else self._params.cycle_ms)
        if self._turn > 3 * count and not full:
            self._due_ms = now + 10 * self._params.cycle_ms  # fewer nodes than fingers
        for _ in range(min(count, max(1, count - len(fingers)))):
            place = (ring.here + self._length(self._turn % count)) % SPACE
            self._turn += 1
            self._finding[place] = None
            if len(self._finding) > 2 * count:
                del self._finding[next(iter(self._finding))]
            self.on_find(self._context.me, Find(self._context.me, place, 0))

    def _length(self, turn: int) -> int:
        """Return the length of a finger, harmonic in the number of nodes, as in Symphony."""
        size = math.log(max(2.0, self.nodes()))
        return int(math.exp(size * (self._draws[turn] - 1.0)) * (SPACE - 1))

    def nodes(self) -> float:
        """Estimate the number of nodes from those next to this one on the control ring."""
        ring = self._table.control
        around = ring.nodes
        if not around:
            return 1.0
        here, places = ring.here, ring.places
        ahead = max(((places[n] - here) % SPACE for n in ring.successors), default=0)
        behind = max(((here - places[n]) % SPACE for n in ring.predecessors), default=0)
        if len(self._table.peers) <= len(around):
            return len(around) + 1.0
        return max(len(around) + 1.0, len(around) * SPACE / max(1, ahead + behind))

    def on_find(self, sender: NodeId, message: Find) -> None:
        hop = self._table.control.router.next_hop(message.place)
        if hop is not None and message.hops < HOPS_MAX:
            onward = Find(message.origin, message.place, message.hops + 1)
            self._context.outbox.send(hop, onward)
        elif message.origin != self._context.me:
            found = Found(message.place, self._table.descriptor())
            self._context.outbox.send(message.origin, found)

    def on_found(self, sender: NodeId, message: Found) -> None:
        if message.about.node != sender:
            return
        fingers, count = self._table.control_fingers, self._params.control_fingers
        if message.place not in self._finding:
            return
        del self._finding[message.place]
        while len(fingers) >= count and sender not in fingers:
            del fingers[next(iter(fingers))]
        self._table.add_control_finger(message.about, message.place)
