"""Vivaldi gives nodes network coordinates (Dabek, Cox, Kaashoek, Morris; SIGCOMM 2004).

Each node has a point in a Euclidean space, and the distance of two points estimates the time
that a message takes between the two nodes. A measured round trip pulls or pushes the node along
the line to the peer, as a spring would. How far depends on the errors of both nodes: a node that
knows its place moves little because of a peer that does not (the adaptive timestep, Fig. 3).

As the authors of Rappel ran it: five dimensions without height, one-way times that are half the
round trip, and the smallest of a peer's last four samples in place of the sample, since queues
only ever lengthen a round trip. A node holds its coordinates while it is online.
"""

from __future__ import annotations

import math
from random import Random

import msgspec

from orbweaver.core.ids import NodeId

CE = 0.25
"""Weight of a new sample in the moving average of the error (Vivaldi, section 4.2: 0.25)."""
CC = 0.25
"""Share of the estimated way to the right place that one sample moves a node (0.25)."""
SAMPLES = 4
"""Round trips kept of each peer; the smallest counts (Rappel's simulator: 4)."""
PEERS_MAX = 256
"""Peers whose samples are remembered; the one measured least recently gives way."""
DISTANCE_MS_MIN = 0.1
"""Smallest distance in milliseconds. Utilities divide by distances."""
FAR_MS = 60_000.0
"""Largest coordinate in milliseconds, one way. A peer that claims a larger one lies."""


class Coordinates(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A coordinate is a node's place. Distances between places are one-way times in
    milliseconds."""

    position: tuple[float, ...]
    height: float = 0.0
    """Time in milliseconds that every message to or from the node takes besides (section 5.4)."""

    def plausible(self, dimensions: int) -> bool:
        """Return whether these numbers can be a node's place. NaN compares false."""
        for x in self.position:
            if not -FAR_MS <= x <= FAR_MS:
                return False
        return len(self.position) == dimensions and 0.0 <= self.height <= FAR_MS


def distance_ms(a: Coordinates, b: Coordinates) -> float:
    """Return the estimated one-way time between two nodes, at least `DISTANCE_MS_MIN`."""
    return max(DISTANCE_MS_MIN, math.dist(a.position, b.position) + a.height + b.height)


class Vivaldi:
    """Keeps the coordinates of one node up to date, until `freeze`."""

    def __init__(self, rng: Random, dimensions: int = 5, height: bool = False) -> None:
        self._rng = rng
        self._height = height
        # At one common origin no direction would lead away from a peer.
        self.coordinates = Coordinates(
            tuple(rng.random() - 0.5 for _ in range(dimensions)), 0.1 if height else 0.0
        )
        self.error = 1.0
        """Estimated relative error of the coordinates, from 0 (exact) to 1 (unknown)."""
        self.samples = 0
        """How many round trips have moved the coordinates."""
        self.frozen = False
        self._round_trips: dict[NodeId, tuple[float, ...]] = {}

    def freeze(self) -> None:
        """Hold the coordinates from now on: the node is online."""
        self.frozen = True
        self._round_trips.clear()

    def update(self, peer: NodeId, round_trip_ms: float, place: Coordinates, error: float) -> None:
        """Take a round trip to a peer that gave this place and error (Vivaldi, Fig. 3)."""
        if (
            self.frozen
            or not 0.0 <= round_trip_ms <= 2 * FAR_MS
            or not 0.0 <= error <= 1.0
            or not place.plausible(len(self.coordinates.position))
        ):
            return
        rtt_ms = max(2 * DISTANCE_MS_MIN, self._smallest(peer, round_trip_ms))
        one_way_ms = rtt_ms / 2
        mine = self.coordinates
        estimate_ms = distance_ms(mine, place)
        weight = self.error / (self.error + error) if self.error + error > 0 else 0.5
        relative = min(1.0, abs(estimate_ms - one_way_ms) / one_way_ms)
        self.error = min(1.0, relative * CE * weight + self.error * (1 - CE * weight))
        self._move(place, CC * weight * (one_way_ms - estimate_ms))
        self.samples += 1

    def _smallest(self, peer: NodeId, round_trip_ms: float) -> float:
        kept = (*self._round_trips.pop(peer, ()), round_trip_ms)[-SAMPLES:]
        self._round_trips[peer] = kept
        if len(self._round_trips) > PEERS_MAX:
            del self._round_trips[next(iter(self._round_trips))]
        return min(kept)

    def _move(self, place: Coordinates, force_ms: float) -> None:
        """Move away from `place` by so much; towards it if the force is negative."""
        mine = self.coordinates
        away = [a - b for a, b in zip(mine.position, place.position, strict=True)]
        flat_ms = math.hypot(*away)
        while flat_ms < 1e-9:  # the same place: any direction
            away = [self._rng.random() - 0.5 for _ in away]
            flat_ms = math.hypot(*away)
        heights_ms = mine.height + place.height
        along = force_ms * flat_ms / (flat_ms + heights_ms) if heights_ms else force_ms
        position = [x + along * d / flat_ms for x, d in zip(mine.position, away, strict=True)]
        if max(position) > FAR_MS or min(position) < -FAR_MS:
            position = [min(FAR_MS, max(-FAR_MS, x)) for x in position]
        height = mine.height
        if self._height:
            share = heights_ms / (flat_ms + heights_ms)
            height = min(FAR_MS, max(DISTANCE_MS_MIN, height + force_ms * share))
        self.coordinates = Coordinates(tuple(position), height)
