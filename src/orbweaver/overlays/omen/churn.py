"""Churn handling (Algorithms 5 and 6) and what a coordinator keeps to be prepared for it.

The immediate successor of a node on the ring is the coordinator of its churn events: it puts
them into `exe_queue` and handles them one after another. The next L - 1 successors put them on
`standby` and take over when the coordinator fails, or when a timer ends without a notification
that the event was handled.

Where we add to the paper: events that are handled independently of each other, as it has them,
can leave a topic cut when two neighbours leave together. On the path a1-a2-v1-v2-b1-b2 with
B(v1) = {a1} and B(v2) = {b2}, no shadow set has a live node of either side. So events of
neighbours are *chained*: in a shadow set, a dead neighbour is replaced by its own neighbours and
backups, and the topics of both are repaired together (`shadow_of`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import msgspec

from orbweaver.core.ids import NodeId
from orbweaver.overlays.omen.messages import Kind
from orbweaver.overlays.omen.views import LocalView

HANDLED_MAX = 256
"""How many handled events are remembered, so that a late notice does not bring one up again."""
WAITING_MAX = 256
"""How many events wait at one node at most."""
ASK_CYCLES = 3
"""A node that lacks a neighbour for a topic asks to be linked up once in so many cycles."""
OFTEN_MAX = 10
"""How many times it asks so often."""
RARE_CYCLES = 30
"""Once in how many cycles it asks from then on."""


class ChurnEvent(NamedTuple):
    """One node joined or left. The incarnation tells the lives of a node apart."""

    node: NodeId
    incarnation: int
    kind: Kind


class JoinRequests:
    """When a node asks to be linked up in topics that no neighbour shares: often at first, and
    then rarely, because it may be the only one that wants them. Where it had a neighbour a moment
    ago, it leaves the coordinator of that neighbour's departure the time to link it up."""

    def __init__(self) -> None:
        self._wanted = 0
        self._lacks = 0
        self._cycles = 0

    def due(self, wanted: int, lacks: int) -> bool:
        """Return whether to ask in this cycle, given the masks of this node's topics and of those
        that no neighbour shares."""
        new = lacks & ~self._lacks
        had = self._wanted & ~self._lacks
        if new:
            self._cycles = 1 if new & ~had else 1 - ASK_CYCLES
        else:
            self._cycles += 1
        self._wanted, self._lacks = wanted, lacks
        if not lacks or self._cycles < 1:
            return False
        many = self._cycles > OFTEN_MAX * ASK_CYCLES
        return self._cycles % (RARE_CYCLES if many else ASK_CYCLES) == 1


class ChurnHandling:
    """exeQ and standbyL of one node. The caller gives the time, in milliseconds."""

    def __init__(self, standby_ms: int) -> None:
        self._standby_ms = standby_ms
        self.exe_queue: dict[ChurnEvent, int] = {}
        """Events that this node is to handle, and when it learned of each (localtime)."""
        self.standby: dict[ChurnEvent, tuple[NodeId | None, int]] = {}
        """Events that another node is to handle: that node, and when the event is overdue."""
        self.joining: dict[NodeId, int] = {}
        """Nodes that asked to be linked up, and the mask of the topics they lack."""
        self._handled: dict[ChurnEvent, None] = {}

    # Alg. 5, handleChurnEvent
    def handle_churn_event(
        self, event: ChurnEvent, coordinator: NodeId | None, me: NodeId, now: int
    ) -> bool:
        """Take up an event. Return False if it is known already, or one too many."""
        known = event in self.exe_queue or event in self.standby or event in self._handled
        if known or len(self.exe_queue) + len(self.standby) >= WAITING_MAX:
            return False
        if coordinator == me:
            if event.kind == "leave":
                self.take_over(event.node, now)
            self.exe_queue[event] = now
        else:
            self.standby[event] = (coordinator, now + self._standby_ms)
        return True

    def handle_join(self, node: NodeId, number: int, lacks: int, me: NodeId, now: int) -> bool:
        """Take up the request of a node to be linked up, unless an earlier one waits here."""
        if any(event.node == node and event.kind == "join" for event in self.exe_queue):
            return False
        taken = self.handle_churn_event(ChurnEvent(node, number, "join"), me, me, now)
        if taken:
            self.joining[node] = lacks
        return taken

    def take_over(self, coordinator: NodeId, now: int) -> None:
        """Move the unfinished events of a coordinator that has left to this node."""
        for event in [e for e, (assigned, _) in self.standby.items() if assigned == coordinator]:
            del self.standby[event]
            self.exe_queue[event] = now

    # Alg. 5, processExeQ
    def next_event(
        self, now: int, in_range: Collection[NodeId], ready: Collection[NodeId]
    ) -> ChurnEvent | None:
        """Take the oldest event out of the queue once it can be handled.

        None means that there is no event, or that the backup set of its node is not ready yet.
        Events of nodes outside the range go back to standby.
        """
        for event in sorted(self.exe_queue, key=self.exe_queue.__getitem__):
            if event.node not in in_range:
                del self.exe_queue[event]
                self.standby[event] = (None, now + self._standby_ms)
            elif event.node in ready:
                del self.exe_queue[event]
                return event
            else:
                return None
        return None

    # Alg. 5, processStandbyL
    def process_standby(self, now: int, in_range: Collection[NodeId]) -> None:
        """Queue the events whose timer has ended. Those of nodes that are out of range are
        forgotten: they are in the range of others."""
        for event in [e for e, (_, due) in self.standby.items() if due <= now]:
            del self.standby[event]
            if event.node in in_range:
                self.exe_queue[event] = now

    # Alg. 5, gcChurnEvent
    def gc_churn_event(self, event: ChurnEvent) -> None:
        """Forget an event that was handled, and remember that it was."""
        self.standby.pop(event, None)
        self.exe_queue.pop(event, None)
        self._handled.pop(event, None)
        self._handled[event] = None
        if len(self._handled) > HANDLED_MAX:
            del self._handled[next(iter(self._handled))]

    def lives(self, node: NodeId, incarnation: int) -> None:
        """Note that a node is there, so that a departure which it was suspected of is none. When
        it leaves later, that is a new event."""
        event = ChurnEvent(node, incarnation, "leave")
        for events in (self.exe_queue, self.standby, self._handled):
            events.pop(event, None)

    def pending(self) -> list[NodeId]:
        """Return the nodes of all events that wait here, those to handle first."""
        return list(dict.fromkeys(event.node for event in [*self.exe_queue, *self.standby]))


class Shadow(msgspec.Struct, frozen=True, gc=False):
    """The shadow set of one churn event, or of a chain of them."""

    dead: tuple[NodeId, ...]
    """The nodes of the chain, the first one first."""
    topics: int
    """The topics to repair: those of all nodes of the chain."""
    neighbors: dict[NodeId, int]
    """The live neighbours of the chain, and the masks of their topics."""
    backups: dict[NodeId, int]
    """The live backups that are not among the neighbours."""
    unknown: tuple[NodeId, ...]
    """Nodes that are dead and adjacent to the chain, of which there is no view here."""
    unsure: int = 0
    """The topics of these: in them, the chain may have more neighbours."""

    def interests(self) -> dict[NodeId, int]:
        """Return S, the shadow set, with the topics of its nodes."""
        return self.neighbors | self.backups


def shadow_of(node: NodeId, views: Mapping[NodeId, LocalView], dead: Collection[NodeId]) -> Shadow:
    """Return S = N(v') + B(v') for the departure of `node`.

    Members that are dead themselves are left out. A dead *neighbour* is replaced by its own
    neighbours and backups, and so on along the chain.
    """
    chain: dict[NodeId, int] = {node: 0}
    unknown: dict[NodeId, int] = {}
    neighbors: dict[NodeId, int] = {}
    backups: dict[NodeId, int] = {}
    topics = 0
    waiting = [node]
    while waiting:
        at = waiting.pop(0)
        view = views.get(at)
        if view is None:
            unknown[at] = chain[at]
            continue
        topics |= view.topics
        for peer, mask in view.neighbors.items():
            if peer not in dead and peer != node:
                neighbors[peer] = mask
            elif peer not in chain:
                chain[peer] = mask
                waiting.append(peer)
        backups.update((p, m) for p, m in view.backups.items() if p not in dead and p != node)
    others = {peer: mask for peer, mask in backups.items() if peer not in neighbors}
    unsure = 0
    for mask in unknown.values():
        unsure |= mask
    return Shadow(tuple(chain), topics, neighbors, others, tuple(unknown), unsure)
