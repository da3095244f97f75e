"""Neighbours that fell silent and turn up again.

When a network is cut in two for longer than the failure detector waits, each side covers what
it lost from its own nodes, and then nobody lacks anything: the sides meet again in their views,
and stay apart. Therefore a node remembers whom it lost, and asks for these links again when it
hears that the other end has been there all the time. What is then more than either end needs
is shed as usual, on either side alike, so that the topics stay whole.
"""

from __future__ import annotations

from typing import NamedTuple

from orbweaver.core.ids import NodeId
from orbweaver.gossip.cyclon import Cyclon
from orbweaver.gossip.descriptor import LIFE

MISSED_MAX = 64
"""Those lost last are remembered."""
TRIES = 3
"""An answer may be lost, and the way be found a moment later than the word."""


class Loss(NamedTuple):
    cycle: int
    version: int
    """That it had, or the time if that is not known."""
    tasks: tuple[int, ...]
    """That had the link."""
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
        """Those of whom there has been word since, and the tasks that had them. Those that
        were started anew are missed no more: they ask for links themselves."""
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
