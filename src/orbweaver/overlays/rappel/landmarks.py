"""How a node finds its coordinates before it goes online (sections 2.2 and 6.1.4).

The paper's landmarks are servers that have converged before. Here they are nodes that are online,
and only round trips to such nodes count. Where a whole network starts at the same time there are
none: then all measure each other until the time for it is over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Context
from orbweaver.core.seeds import pick, sample
from orbweaver.gossip.vivaldi import Coordinates, Vivaldi
from orbweaver.overlays.rappel.messages import PlaceProbe, PlaceProbeOk
from orbweaver.overlays.rappel.params import RappelParams

OTHERS = 3
"""How many further landmarks an answer to a probe names."""
LANDMARKS_MAX = 32
"""Most nodes that are probed for coordinates."""


def check_place(place: Coordinates, dimensions: int) -> None:
    """Raise a `ProtocolError` if these numbers cannot be a node's coordinates."""
    if not place.plausible(dimensions):
        raise ProtocolError(
            f"coordinates {place.position[:8]}, height {place.height}: they should be "
            f"{dimensions} finite numbers of milliseconds"
        )


class Landmarks:
    """The nodes that one node probes, and the coordinates that come of it."""

    def __init__(self, context: Context, params: RappelParams) -> None:
        self._context = context
        self._samples = params.samples
        self._counted = 0
        """How many round trips to nodes online were measured."""
        self._known: dict[NodeId, None] = {}
        self.vivaldi = Vivaldi(context.rng, params.dimensions, params.height)

    @property
    def done(self) -> bool:
        """Whether enough round trips to nodes online were measured."""
        return self._counted >= self._samples

    def meet(self, nodes: Iterable[NodeId]) -> None:
        for node in nodes:
            if node != self._context.me and len(self._known) < LANDMARKS_MAX:
                self._known[node] = None

    def forget(self, node: NodeId) -> None:
        self._known.pop(node, None)

    def probe(self) -> None:
        """Probe a random landmark."""
        if self._known:
            self._context.outbox.send(pick(self._context.rng, list(self._known)), PlaceProbe())

    def on_probe(self, sender: NodeId, neighbors: Collection[NodeId]) -> None:
        """Tell the sender this node's coordinates, and a few nodes to probe besides."""
        known = [*self._known, *neighbors]
        others = tuple(n for n in sample(self._context.rng, known, OTHERS) if n != sender)
        own = self.vivaldi
        self._context.outbox.send(
            sender, PlaceProbeOk(own.coordinates, own.error, own.frozen, others)
        )
        if not own.frozen:
            self.meet([sender])

    def on_probe_ok(self, sender: NodeId, message: PlaceProbeOk) -> None:
        if self.vivaldi.frozen:
            return
        self.meet(message.others[:OTHERS])
        round_trip_ms = self._context.outbox.round_trip_ms(sender)
        if round_trip_ms is not None:
            self.vivaldi.update(sender, round_trip_ms, message.place, message.error)
            self._counted += message.settled
