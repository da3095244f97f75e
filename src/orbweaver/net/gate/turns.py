"""Divide the time of this node among the addresses that it hears from.

In one turn of the event loop, what an address has sent is handled for at most `TURN_S`; the rest
waits for the next turn, and the address is not read meanwhile. So a peer that sends as much as it
can, under however many ids, delays the others by no more than `TURN_S` in each turn. As long as no
other peer has sent anything, nothing is lost: the next turn comes at once.

Connections from one address take turns too (deficit round robin, Shreedhar and Varghese, 1995).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from time import perf_counter
from typing import Protocol

from orbweaver.net.gate.standing import Fading

TURN_S = 0.005
"""Seconds for which one address is served in one turn of the loop. The frame that is begun is
finished."""


class Served(Protocol):
    """A connection whose frames are handled in turns."""

    address: str
    use: Fading
    """The seconds for which the connection was served of late."""

    def serve(self, seconds: float) -> bool:
        """Handle frames that have come, for about `seconds`. Return whether frames are left."""
        ...


class RoundRobin:
    """The order in which connections are served."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._spent: dict[str, float] = {}
        """Address -> seconds for which it was served in this turn."""
        self._waiting: dict[str, deque[Served]] = {}
        """Address -> connections that wait for their turn."""
        self._served: list[Served] = []
        """Connections that were served in this turn and have more. In the next turn they come after
        those that wait."""
        self._next: asyncio.Handle | None = None

    def take(self, connection: Served) -> None:
        """Serve a connection that has got something: at once, or when it is its turn."""
        address = connection.address
        if address in self._waiting or self._spent.get(address, 0.0) >= TURN_S:
            self._wait(connection)
        else:
            self._serve(connection)

    def _serve(self, connection: Served) -> None:
        address = connection.address
        spent = self._spent.get(address, 0.0)
        if self._next is None:
            self._next = self._loop.call_soon(self._new_turn)
        began = perf_counter()
        more = connection.serve(TURN_S - spent)
        took = perf_counter() - began
        self._spent[address] = spent + took
        connection.use.add(took, self._loop.time())
        if more:
            self._served.append(connection)

    def _wait(self, connection: Served) -> None:
        self._waiting.setdefault(connection.address, deque()).append(connection)

    def _new_turn(self) -> None:
        self._next = None
        self._spent.clear()
        served, self._served = self._served, []
        for connection in served:
            self._wait(connection)
        for address, waiting in list(self._waiting.items()):
            while waiting and self._spent.get(address, 0.0) < TURN_S:
                self._serve(waiting.popleft())
            if not waiting:
                del self._waiting[address]
        if self._waiting and self._next is None:
            self._next = self._loop.call_soon(self._new_turn)


def is_heavy(connection: Served, connections: Iterable[Served], now: float) -> bool:
    """Return whether a connection is among those that take most of this node's time: from an
    address that takes at least half as much as the one that takes most, and there at least half
    as much as the heaviest connection. When peers have to be slowed down, the light ones need
    not wait."""
    uses: dict[str, list[float]] = {}
    for each in connections:
        uses.setdefault(each.address, []).append(each.use.value(now))
    here = uses.get(connection.address, [0.0])
    most = max(sum(others) for others in uses.values()) if uses else 0.0
    return 2 * sum(here) >= most and 2 * connection.use.value(now) >= max(here)
