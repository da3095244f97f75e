"""Find other nodes by the addresses that a node was given, and by cards that it remembers.

A node joins through any of several addresses. Later it looks, from time to time, for nodes that
are out of sight: at a given address that belongs to none of its connections, or by the card of a
node that is no neighbour. So two parts of a network meet again after each has forgotten the
other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.core.seeds import pick, sample
from orbweaver.net.host import Host
from orbweaver.net.logger import Logger
from orbweaver.net.peers.cards import join_address
from orbweaver.net.peers.peers import MYSELF
from orbweaver.net.settings import PORT, split_address

GRACE_S = 0.2
"""Seconds that other addresses may take after the first has answered."""
STRANGERS = 5
"""How many remembered nodes are tried at the start."""

log = Logger()


class Bootstrap:
    """The addresses to join, and the search for nodes out of sight."""

    def __init__(self, host: Host, addresses: Sequence[str]) -> None:
        self._host = host
        self._addresses = [split_address(text, PORT) for text in addresses]
        self.unanswered: dict[str, str] = {}
        """Addresses that did not let this node in at the last attempt, and why they did not."""
        self._foreign: dict[str, str] = {}
        """Addresses of nodes in another cluster or with another overlay, and what differs."""
        self._found: dict[tuple[str, int], NodeId] = {}
        """Given address -> the node found there. The node's card may name another address, if the
        given one is a host name or leads to the node indirectly."""

    async def join(self, patience_s: float) -> list[NodeId]:
        """Return the nodes that answer, and some remembered nodes that may.

        Without an answer in `patience_s` seconds the node starts alone, and goes on looking. Raise
        a `UsageError` if no address lets this node in and one belongs to another cluster or
        overlay, since no later attempt would succeed there.
        """
        found: list[NodeId] = []
        calls = [asyncio.create_task(self._call(address)) for address in self._addresses]
        if calls:
            try:
                await _some_answer(calls, patience_s)
                found = [node for call in calls if (node := _result(call)) is not None]
            finally:  # no call outlives a start that was given up
                for call in calls:
                    call.cancel()
                await asyncio.gather(*calls, return_exceptions=True)
            if not found and self._foreign:
                name, why = next(iter(self._foreign.items()))
                raise UsageError(
                    f"{name} belongs to another network: {why}; all nodes of a network have the "
                    "same cluster and overlay"
                )
            if not found and self.unanswered:
                log.warning("no address lets this node in yet", **self.unanswered)
        remembered = [card.node for card in self._host.book.cards()]
        strangers = sample(self._host.chance, remembered, STRANGERS)
        return list(dict.fromkeys([*found, *strangers]))

    async def look_around(self) -> None:
        """Meet one node that is out of sight, if there is any."""
        host = self._host
        links = frozenset(host.links())
        connected = [p for p in host.peers if p.connection is not None and p.connection.open]
        here = {host.me, *(p.node for p in connected)}
        unseen = [a for a in self._addresses if self._found.get(a) not in here]
        met = await self._call(pick(host.chance, unseen)) if unseen else None
        if met is None:
            known = [*(p.node for p in connected), *(card.node for card in host.book.cards())]
            strangers = [
                node
                for node in dict.fromkeys(known)
                if node not in links and not host.peers.avoids(node)
            ]
            met = pick(host.chance, strangers) if strangers else None
        if met is not None and host.running:
            host.tick()
            host.overlay.meet([met])

    async def _call(self, address: tuple[str, int]) -> NodeId | None:
        name = join_address(*address)
        self.unanswered.setdefault(name, "no answer yet")

        def explain(why: str, foreign: bool) -> None:
            self.unanswered[name] = why
            if foreign and name not in self._foreign:
                self._foreign[name] = why
                if self._host.running:
                    log.warning("another network", address=name, reason=why)
            if why != MYSELF:
                return
            if split_address(self._host.settings.listen)[1]:
                # All nodes were given the same list of addresses.
                self._found[address] = self._host.me
                del self.unanswered[name]
            else:  # the address cannot be ours: our port was chosen a moment ago
                self.unanswered[name] = (
                    "the node there has the key of this one; each node needs a key of its own"
                )

        connection = await self._host.peers.call(*address, explain)
        if connection is None or connection.peer is None:
            return None
        self._found[address] = connection.peer
        self.unanswered.pop(name, None)
        return connection.peer


async def _some_answer(calls: Sequence[asyncio.Task[NodeId | None]], patience_s: float) -> None:
    now = asyncio.get_running_loop().time
    end, waiting = now() + patience_s, set(calls)
    while waiting and end > now():
        done, waiting = await asyncio.wait(
            waiting, timeout=end - now(), return_when=asyncio.FIRST_COMPLETED
        )
        if any(_result(call) is not None for call in done):
            end = min(end, now() + GRACE_S)


def _result(call: asyncio.Task[NodeId | None]) -> NodeId | None:
    if call.done() and not call.cancelled() and call.exception() is None:
        return call.result()
    return None
