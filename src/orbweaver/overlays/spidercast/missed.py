"""A node asks for links again when neighbours that fell silent turn up (ours).

When a network is cut in two for longer than the failure detector waits, each side makes up for
the links it lost with its own nodes, and then no node lacks anything: the two sides meet again
in their views, and stay apart. A node therefore remembers the neighbours it lost, and asks for
these links again when it hears that the other end has been running all the time. Links that
neither end needs are shed afterwards as usual, so the topics stay whole.
"""

from __future__ import annotations

from typing import NamedTuple

from orbweaver.core.ids import NodeId
from orbweaver.gossip.cyclon import Cyclon
from orbweaver.gossip.descriptor import LIFE

MISSED_MAX = 64
"""How many lost neighbours a node remembers, the latest ones."""
TRIES = 3
"""How often a link is asked for again: an answer may be lost, and the node may be heard of a
moment before it can be reached."""


class Loss(NamedTuple):
    cycle: int
    """The cycle of the view in which the neighbour was lost."""
    version: int
    """The version of its interest that was known then, or the time if none was."""
    tasks: tuple[int, ...]
    """The tasks that had the link."""
    tries: int = TRIES


class Missed:
    def __init__(self, view: Cyclon) -> None:
        self._view = view
        self._losses: dict[NodeId, Loss] = {}

    def lost(self, peer: NodeId, now_ms: int, tasks: tuple[int, ...]) -> None:
        known = self._view.newest(peer)
        self._losses.pop(peer, None)
        self._losses[peer] = Loss(self._view.cycle, known[0].version if known else now_ms, tasks)
        if len(self._losses) > MISSED_MAX:
            del self._losses[next(iter(self._losses))]

    def found(self) -> list[tuple[NodeId, tuple[int, ...]]]:
        """Return the lost neighbours that have been heard of since, with the tasks that had
        them. A peer that was restarted is left out: it asks for links itself."""
        found = []
        for peer, loss in list(self._losses.items()):
            known = self._view.newest(peer)
            if known is None or known[1] <= loss.cycle:
                continue
            del self._losses[peer]
            if known[0].version < loss.version + LIFE:
                found.append((peer, loss.tasks))
                if loss.tries > 1:
                    again = loss._replace(cycle=self._view.cycle, tries=loss.tries - 1)
                    self._losses[peer] = again
        return found
