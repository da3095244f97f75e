"""Fingers on the skewed ring, by the medians of random walks (OSCAR, Sec. 2.2)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from random import Random
from weakref import WeakKeyDictionary

from orbweaver.core.errors import UsageError
from orbweaver.core.identifiers import SPACE
from orbweaver.core.ids import NodeId
from orbweaver.core.overlay import Context, Directory
from orbweaver.core.seeds import below, pick, sample
from orbweaver.core.topics import Interest
from orbweaver.gossip.newscast import Newscast
from orbweaver.gossip.oscar import Medians, draw_finger, halves
from orbweaver.overlays.magnet.messages import RingDescriptor, Walk, Walked
from orbweaver.overlays.magnet.params import MagnetParams
from orbweaver.overlays.magnet.table import Table

HOPS_MAX = 64
"""Most steps of a walk that a node takes part in."""
AGAIN_MS = 10_000
"""Milliseconds after which a node looks anew for all fingers if half of them have moved."""
NOWHERE = -1
"""In place of where a finger stood: it was chosen from another place of this node."""
DRAWN = 16
"""Nodes that the oracle names in each partition."""
WALK_MS = 2000
"""Milliseconds after which the walks of a level that have not come back are given up."""


class AllPlaces:
    """The places of all nodes of one simulation: the oracle behind `medians=exact`."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self.places: dict[NodeId, int] = {}
        self._order: list[NodeId] = []
        self._made_ms = -1

    def partitions(self, me: NodeId, now: int, rng: Random) -> list[list[NodeId]]:
        """Return the exact partitions of the nodes that are up, as seen from one, with some nodes
        drawn from each."""
        if now >= self._made_ms + 1000 or self._made_ms < 0:
            self._made_ms = now
            up = self._directory.interest_of
            self._order = sorted([n for n in self.places if up(n) is not None], key=self._key)
        order = self._order
        first = bisect_left(order, self._key(me), key=self._key) + 1
        return [
            [order[(first + ahead) % len(order)] for ahead in sample(rng, half, DRAWN)]
            for half in halves(range(len(order) - 1))
        ]

    def _key(self, node: NodeId) -> tuple[int, NodeId]:
        return self.places[node], node


_ORACLES: WeakKeyDictionary[Directory, AllPlaces] = WeakKeyDictionary()


def places_of_all(context: Context) -> AllPlaces:
    """Return the oracle of the simulation that a node is in."""
    if context.directory is None:
        raise UsageError(
            "medians 'exact' ask an oracle, which only a simulation has; set medians=walks"
        )
    known = _ORACLES.get(context.directory)
    if known is None:
        known = _ORACLES[context.directory] = AllPlaces(context.directory)
    return known


class Fingers:
    """The fingers of one node on the skewed ring. `likeness` compares an interest with the node's
    own, where fingers are biased."""

    def __init__(
        self,
        context: Context,
        params: MagnetParams,
        table: Table,
        newscast: Newscast,
        likeness: Callable[[Interest], float],
    ) -> None:
        self._context = context
        self._params = params
        self._table = table
        self._newscast = newscast
        self._likeness = likeness
        self._oracle = places_of_all(context) if params.medians == "exact" else None
        self._medians: Medians[RingDescriptor] | None = None
        self._ticket = 0
        self._walking = 0
        """Walks of this level that have not come back."""
        self._until_ms = 0
        self._due_ms = 0
        self._asked: dict[NodeId, None] = {}
        """Nodes that were asked to be fingers."""
        self._partitions: Sequence[Sequence[NodeId]] = ()
        """What is known of how the nodes are spread."""
        self._places: dict[NodeId, int] = {}
        """Where the nodes of the partitions stood."""
        self._began_ms = 0

    def moved(self, place: int) -> None:
        """This node stands at a place: the fingers that it has are no fingers there, and are drawn
        anew as if they had moved."""
        for node in self._table.fingers:
            self._table.fingers[node] = NOWHERE
        if self._oracle is not None:
            self._oracle.places[self._context.me] = place
        self._medians = None
        self._partitions = ()
        self._due_ms = 0

    @property
    def drawn(self) -> bool:
        """Whether the fingers on the skewed ring have been drawn from where this node stands."""
        return self._due_ms > 0 and self._medians is None

    def step(self, settled: bool) -> None:
        """Look for fingers where any are missing, and once a period for another one, when the nodes
        have `settled`."""
        now = self._context.outbox.now()
        if not settled:
            return
        if self._medians is not None:
            if now >= self._until_ms:
                self._close(now)
        elif self._table.skewed.nodes:
            fingers, size = self._table.fingers, self._params.fingers
            again = now - self._began_ms >= AGAIN_MS and 2 * len(self._moved()) >= size
            if now >= self._due_ms or again:
                self._begin(now)
            elif len(fingers) < size:
                self._asked = {}  # a node that has not answered by now does not
                self._draw()

    def _begin(self, now: int) -> None:
        """Look at how the nodes are spread, and give up the fingers that have moved, or one."""
        fingers, params = self._table.fingers, self._params
        drop = self._moved() or list(fingers)[: len(fingers) >= params.fingers]
        for node in drop:
            del fingers[node]
        jitter = below(self._context.rng, 1 + params.finger_ms // 2)
        self._due_ms = now + params.finger_ms * 3 // 4 + jitter
        self._began_ms = now
        if self._oracle is not None:
            rng = self._context.rng
            self._partitions = self._oracle.partitions(self._context.me, now, rng)
            self._draw()
        else:
            self._medians = Medians()
            self._launch(now)

    def _moved(self) -> list[NodeId]:
        """Return the fingers that stand elsewhere now."""
        places = self._table.skewed.places
        return [node for node, place in self._table.fingers.items() if places[node] != place]

    def _draw(self) -> None:
        """Ask nodes to be fingers in place of those that are missing."""
        fingers, size = self._table.fingers, self._params.fingers
        for _ in range(4 * size):
            if len(fingers) + len(self._asked) >= size:
                break
            node = draw_finger(self._partitions, self._context.rng)
            if node is not None and node not in fingers and node != self._context.me:
                self._asked[node] = None
                self._table.ask(node, skewed=True)

    def on_told(self, about: RingDescriptor) -> None:
        """A node that was asked has answered: it is a finger if the oracle named it."""
        if about.node in self._asked:
            del self._asked[about.node]
            known = self._places.get(about.node, about.place)
            if known == about.place and len(self._table.fingers) < self._params.fingers:
                self._table.add_finger(about)

    def _launch(self, now: int) -> None:
        assert self._medians is not None
        here, me = self._table.skewed.here, self._context.me
        span = self._medians.span
        successors = self._table.skewed.successors
        if successors and span <= (self._table.skewed.places[successors[-1]] - here) % SPACE:
            self._finish()  # what is left to halve are the successors
            return
        before = here if span == SPACE else (here + span) % SPACE
        starts = self._inside(here, before, me)
        if not starts:
            self._finish()
            return
        self._ticket += 1
        self._walking = self._params.walks - self._medians.sampled
        self._until_ms = now + WALK_MS
        for _ in range(self._walking):
            walk = Walk(me, self._ticket, here, before, self._params.walk_hops)
            self._context.outbox.send(pick(self._context.rng, starts), walk)

    def on_walk(self, sender: NodeId, message: Walk) -> None:
        """Pass a walk on to a random node of its range, or end it here."""
        if message.hops > HOPS_MAX:
            return
        if message.hops > 1:
            onward = self._inside(message.after, message.before, message.origin)
            if onward:
                walk = Walk(message.origin, message.ticket, message.after, message.before,
                            message.hops - 1)  # fmt: skip
                self._context.outbox.send(pick(self._context.rng, onward), walk)
                return
        self._context.outbox.send(message.origin, Walked(message.ticket, self._table.descriptor()))

    def _inside(self, after: int, before: int, origin: NodeId) -> list[NodeId]:
        """Return the nodes of a range to which a walk can go on from here."""
        span = (before - after) % SPACE or SPACE
        found = self._table.skewed.router.between(after, before)
        for entry in self._newscast.entries():
            assert isinstance(entry, RingDescriptor)
            if 0 < (entry.place - after) % SPACE < span:
                found.append(entry.node)
        return [node for node in found if node not in (origin, self._context.me)]

    def on_walked(self, sender: NodeId, message: Walked) -> None:
        about = message.about
        if self._medians is None or message.ticket != self._ticket or about.node != sender:
            return
        if not self._walking:
            return
        self._walking -= 1
        self._medians.take((about.place - self._table.skewed.here) % SPACE, about)
        if not self._walking:
            self._close(self._context.outbox.now())

    def _close(self, now: int) -> None:
        """End a level of medians."""
        assert self._medians is not None
        if self._medians.close():
            self._launch(now)
        else:
            self._finish()

    def _finish(self) -> None:
        assert self._medians is not None
        partitions, self._medians = self._medians.partitions, None
        fingers, size = self._table.fingers, self._params.fingers
        likeness = None
        if self._params.biased:
            likeness = lambda about: self._likeness(about.interest)  # noqa: E731
        for _ in range(4 * size):
            if len(fingers) >= size:
                break
            about = draw_finger(partitions, self._context.rng, likeness)
            if about is not None and about.node not in fingers:
                self._table.add_finger(about)
        self._partitions = [[about.node for about in found] for found in partitions]
        self._places = {about.node: about.place for found in partitions for about in found}
        if not partitions:
            self._due_ms = min(self._due_ms, self._context.outbox.now() + 5 * self._params.cycle_ms)
