"""The peers of a node: one connection for each, whichever side opened it.

A connection is opened when there is something to send. It is kept while the overlay counts the
peer as its neighbour or while the connection is in use, and opened again when it breaks. A peer
that cannot be reached after a few attempts, with growing and jittered pauses, is given up and
reported lost. When two nodes call each other at the same time, both keep the connection that
the node with the smaller id has opened.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import TYPE_CHECKING

from orbweaver.core.ids import NodeId
from orbweaver.net.gate.standing import Standings
from orbweaver.net.gate.turns import is_heavy
from orbweaver.net.logger import Logger
from orbweaver.net.peers.arrivals import Arrivals
from orbweaver.net.peers.cards import AddressBook, Card, family
from orbweaver.net.peers.dials import Absences, Doubts
from orbweaver.net.peers.outqueue import OutQueue, Parcel
from orbweaver.net.wire.connection import Connection, Owner

TRIES_LINK, TRIES_OTHER = 4, 2
"""How many calls in a row may fail before a peer is given up: a neighbour, and another peer."""
PAUSE_S, PAUSE_S_MAX = 0.2, 3.0
"""Seconds of the first and of the longest pause between two calls to a peer."""
PENDING_MAX = 64
"""Most handshakes under way at once. With more, one is ended: the oldest of the address that has
most of them, since an honest handshake takes no longer than a round trip."""
CALLS_MAX = 32
"""Most calls under way at once: to peers that were reached before, and as many to others."""
WAITING_MAX = 256
"""Most peers that wait to be called; further ones are given up at once."""
UNREAD_MAX = 64 << 20
"""Most bytes of incomplete frames, over all connections."""
SHORT_S = 2.0
"""Age of a connection, in seconds, below which its end counts as a failed call."""
SHORT_MAX = 6
"""How many connections in a row may end within `SHORT_S` before the peer is given up."""
REVOKED = "the key of your certificate was revoked"
"""The reason for refusing a peer that is no longer a member."""
MYSELF = "that is myself"
"""The reason for refusing a connection from this node itself."""

if TYPE_CHECKING:
    from orbweaver.net.keys.members import Members

log = Logger()


class PeerState:
    """What this node holds of one peer: its connection, the call under way and the queue."""

    __slots__ = ("connection", "dialling", "link", "messages_in", "node", "queue", "short")

    def __init__(self, node: NodeId) -> None:
        self.node = node
        self.connection: Connection | None = None
        self.dialling: asyncio.Task[None] | None = None
        self.link = False
        """Whether the overlay counts the peer as a neighbour."""
        self.queue = OutQueue()
        self.messages_in = 0
        self.short = 0
        """How many connections in a row have ended within `SHORT_S`."""


class Peers:
    """All peers of a node, and all its connections."""

    def __init__(
        self,
        owner: Owner,
        book: AddressBook,
        tls: ssl.SSLContext | None,
        chance: Random,
        ready: Callable[[PeerState], None],
        lost: Callable[[NodeId], None],
        unsent: Callable[[NodeId, Iterable[Parcel]], None],
        members: Members | None = None,
    ) -> None:
        """`ready` is called with a peer that can be written to, `lost` with a node that is given
        up, and `unsent` before with the events, and messages about events, that waited for it."""
        self._owner = owner
        self._book = book
        self._tls = tls
        self._chance = chance
        self._ready = ready
        self._lost = lost
        self._unsent = unsent
        self._members = members
        self._peers: dict[NodeId, PeerState] = {}
        self._all: dict[Connection, None] = {}
        """Every connection, also one whose peer is not known yet."""
        self._absences = Absences(book)
        self._closing = False
        self._loop = asyncio.get_running_loop()
        self.doubts = Doubts()
        self.payload_least = self.payload_most = owner.settings.payload_bytes_max
        """Largest payload that every connected peer accepts, and that at least one accepts."""
        self._lines = (asyncio.Semaphore(CALLS_MAX), asyncio.Semaphore(CALLS_MAX))
        self._waiting = 0
        self._arrivals = Arrivals(self._loop.time())
        self._standings = Standings(owner.settings.upkeep_per_s, by_address=tls is None)

    def __iter__(self) -> Iterator[PeerState]:
        return iter(list(self._peers.values()))

    # -- connections

    def expects(self, address: str) -> bool:
        """Return whether a connection from an address is accepted."""
        self._owner.counters.connections_in += 1
        expected = self._arrivals.admits(address, self._loop.time())
        self._owner.counters.connections_refused += not expected
        return expected

    def accept(self, address: str) -> Connection | None:
        """Make a connection for the listening socket, or return None if there is no room.

        Room is made at the expense of the address with most connections that are no links.
        """
        pending = [known for known in self._all if not known.open and not known.ours]
        if len(pending) >= PENDING_MAX:
            self._make_room(pending)
        elif len(self._all) >= self._owner.settings.connections_max:
            idle = [known for known in self._all if known.open and not self._is_link(known)]
            if not idle and not pending:
                self._owner.counters.connections_refused += 1
                return None
            self._make_room([*pending, *idle])
        connection = Connection(self._owner, ours=False, address=address)
        self._all[connection] = None
        return connection

    def _make_room(self, connections: Iterable[Connection]) -> None:
        self._owner.counters.connections_refused += 1
        oldest = min(_most_common(connections), key=lambda known: known.used)
        self._all.pop(oldest, None)
        oldest.abort()

    def _is_link(self, connection: Connection) -> bool:
        peer = self._peers.get(connection.peer) if connection.peer is not None else None
        return peer is not None and peer.link and peer.connection is connection

    def is_heavy(self, connection: Connection) -> bool:
        """Return whether a connection is among those that take most of this node's time."""
        return is_heavy(connection, self._all, self._loop.time())

    async def call(
        self,
        host: str,
        port: int,
        explain: Callable[[str, bool], None] = lambda why, foreign: None,
        expected: NodeId | None = None,
    ) -> Connection | None:
        """Open a connection to an address, and return it after the handshake.

        Return None if no node answers, if another node than `expected` does, or if the handshake
        fails. Then `explain` is called with the reason, and with whether the node there belongs
        to another cluster or overlay.
        """
        made: list[Connection] = []

        def factory() -> Connection:
            made.append(Connection(self._owner, ours=True, expected=expected))
            self._all[made[-1]] = None
            return made[-1]

        connected = False
        try:
            await self._connect(factory, host, port)
            connected = True
        except (OSError, TimeoutError, ValueError) as error:  # ValueError: an impossible name
            self._owner.counters.dials_failed += 1
            explain(_why(error), False)
            return None
        finally:  # a host name may have had several addresses that failed
            for failed in made[:-1] if connected else made:
                self._all.pop(failed, None)
        connection = made[-1]
        self._owner.counters.connections_out += 1
        if await connection.settled:
            assert connection.card is not None
            self.doubts.found(connection.card, self._loop.time())
            return connection
        why = connection.reason or (
            "it closed the connection at once; does only one side run TLS, or are there too many "
            "calls from this address?"
        )
        explain(why, connection.foreign)
        return None

    async def _connect(self, factory: Callable[[], Connection], host: str, port: int) -> None:
        """Connect to the first address of a host that answers. Each address has its share of the
        time, so that a silent one does not take it all."""
        patience_s = self._owner.settings.connect_s
        addresses = [host]
        if family(host) is None:
            # A name is looked up apart: within create_connection a lookup goes on after its
            # caller was cancelled, and logs an error if it fails then.
            async with asyncio.timeout(patience_s):
                found = await self._loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            addresses = [str(sockaddr[0]) for *_, sockaddr in found]
        name = host if self._tls is not None else None
        for address in addresses:
            try:
                async with asyncio.timeout(patience_s / len(addresses)):
                    await self._loop.create_connection(
                        factory, address, port, ssl=self._tls, server_hostname=name
                    )
                return
            except (OSError, TimeoutError):
                if address == addresses[-1]:
                    raise

    def admits(self, card: Card, address: str | None) -> str:
        """Return why a peer is refused, or nothing if it is let in. Its address is None if it is
        not proven."""
        if card.node == self._owner.identity.node:
            return MYSELF
        if self._is_revoked(card):
            return REVOKED
        if self._standings.refuses(card.node, address, self._loop.time()):
            return "come back later"
        return ""

    def _is_revoked(self, card: Card) -> bool:
        return self._members is not None and self._members.is_revoked(card.key)

    def opened(self, connection: Connection) -> None:
        assert connection.peer is not None
        now = self._loop.time()
        connection.standing = self._standings.of(connection.peer, connection.address, now)
        self._note_limits()
        peer = self.get(connection.peer)
        self._absences.end(peer.node)
        rival = peer.connection
        if rival is not None and rival.open:
            if rival.ours == connection.ours:
                rival.abort()  # the peer called again, so the old connection has no other end
            elif connection.ours == (self._owner.identity.node < peer.node):
                rival.retire()
            else:
                connection.retire()
                return
        peer.connection = connection
        self._ready(peer)

    def closed(self, connection: Connection) -> None:
        self._all.pop(connection, None)
        self._note_limits()
        peer = self._peers.get(connection.peer) if connection.peer is not None else None
        if peer is None or peer.connection is not connection:
            return
        peer.connection = None
        lasted = self._loop.time() - connection.opened_at
        peer.short = peer.short + 1 if lasted < SHORT_S else 0
        if peer.link or len(peer.queue):
            self.dial(peer)
        elif peer.dialling is None:
            if peer.short:  # so that the next message to the peer does not cause a call
                self._absences.add(peer.node, self._loop.time())
            del self._peers[peer.node]

    def _note_limits(self) -> None:
        own = self._owner.settings.payload_bytes_max
        limits = [known.payload_bytes_max for known in self._all if known.open] or [own]
        self.payload_least, self.payload_most = min(limits), max(limits)

    # -- peers

    def get(self, node: NodeId) -> PeerState:
        peer = self._peers.get(node)
        if peer is None:
            peer = self._peers[node] = PeerState(node)
        return peer

    def known(self, node: NodeId) -> PeerState | None:
        return self._peers.get(node)

    def forget(self, peer: PeerState) -> None:
        """Drop the state of a peer that has no connection, no call under way and no link."""
        if peer.connection is None and peer.dialling is None and not peer.link:
            self._peers.pop(peer.node, None)

    def connected(self) -> int:
        return sum(connection.open for connection in self._all)

    def dial(self, peer: PeerState) -> None:
        """Call a peer without a connection, or give it up if it may not be called."""
        if peer.dialling is None and peer.connection is None and not self._closing:
            if (
                peer.node not in self._book
                or self.avoids(peer.node)
                or self._waiting >= WAITING_MAX
                or peer.short > SHORT_MAX
            ):
                self._give_up(peer)
            else:
                self._waiting += 1
                peer.dialling = self._loop.create_task(self._dial(peer))

    async def _dial(self, peer: PeerState) -> None:
        pause_s = PAUSE_S
        tries = 0
        try:
            for _ in range(peer.short):
                await self._pause(pause_s)
                pause_s = min(2 * pause_s, PAUSE_S_MAX)
            while peer.connection is None:
                card = self._book.get(peer.node)
                if card is None or not self.doubts.may_call(card, self._loop.time()):
                    break
                async with self._lines[self.doubts.was_found(card)]:
                    connection = await self.call(card.host, card.port, expected=peer.node)
                tries += 1
                if connection is not None or peer.connection is not None:
                    return
                if tries >= (TRIES_LINK if peer.link else TRIES_OTHER):
                    break
                await self._pause(pause_s)
                pause_s = min(2 * pause_s, PAUSE_S_MAX)
        finally:
            peer.dialling = None
            self._waiting -= 1
        if peer.connection is None:
            self._give_up(peer)

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds * (0.5 + self._chance.random()))

    def avoids(self, node: NodeId) -> bool:
        """Return whether a call to the node failed a short while ago."""
        return self._absences.avoids(node, self._loop.time())

    def _give_up(self, peer: PeerState) -> None:
        if not self.avoids(peer.node) and self._absences.add(peer.node, self._loop.time()):
            self._owner.counters.peers_lost += 1
            if peer.node in self._book:
                log.info("peer lost", peer=f"{peer.node:016x}")
        self._owner.counters.dropped_unreachable += len(peer.queue)
        self._unsent(peer.node, peer.queue.data)
        peer.queue.clear()
        if self._peers.get(peer.node) is peer:
            del self._peers[peer.node]
        # Not at once: the overlay may be in the middle of sending to the peer.
        self._loop.call_soon(self._lost, peer.node)

    # -- upkeep

    def look_after(self) -> None:
        """Ping silent peers, cut off dead, stalled and revoked ones, and close idle connections.
        The host calls this once a second."""
        now = self._loop.time()
        settings = self._owner.settings
        self._bound_unread()
        for connection in list(self._all):
            peer = self._peers.get(connection.peer) if connection.peer is not None else None
            stalled = connection.paused_since
            if stalled is not None and now - stalled > settings.stall_s:
                log.warning("peer does not read", peer=f"{connection.peer or 0:016x}")
                connection.abort()
            elif not connection.open:
                continue
            elif connection.card is not None and self._is_revoked(connection.card):
                connection.refuse(REVOKED)
            elif now - connection.heard > settings.dead_s:
                connection.abort()
            elif now - connection.used > settings.idle_s and (peer is None or not peer.link):
                connection.retire()
            elif now - connection.heard > settings.ping_s:
                connection.ping()

    def _bound_unread(self) -> None:
        unread = sum(connection.unread for connection in self._all)
        if unread > UNREAD_MAX:
            for connection in sorted(self._all, key=lambda known: -known.unread):
                log.warning("incomplete frames take too much memory", bytes=unread)
                connection.abort()
                unread -= connection.unread
                if unread <= UNREAD_MAX:
                    return

    def abort(self) -> None:
        """Cut every connection, as if the process had been killed."""
        self._closing = True
        for connection in list(self._all):
            connection.abort()

    async def close(self) -> None:
        self._closing = True
        tasks = [peer.dialling for peer in self._peers.values() if peer.dialling is not None]
        for task in tasks:
            task.cancel()
        for connection in self._all:
            if connection.open:
                connection.retire()
            else:
                connection.abort()
        endings = [connection.ended for connection in self._all]
        if endings:
            await asyncio.wait(endings, timeout=1.0)
        for connection in list(self._all):
            connection.abort()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)


def _most_common(connections: Iterable[Connection]) -> list[Connection]:
    """Return those from the address that has most of the connections, in the same order."""
    by_address: dict[str, list[Connection]] = {}
    for connection in connections:
        by_address.setdefault(connection.address, []).append(connection)
    return max(by_address.values(), key=len)


def _why(error: Exception) -> str:
    """Return why a call failed, without the address, which asyncio puts in."""
    if isinstance(error, OSError) and error.errno is not None:
        system = error.errno > 0 and not isinstance(error, ssl.SSLError)
        return (os.strerror(error.errno) if system else error.strerror or str(error)).lower()
    return "no answer in time" if isinstance(error, TimeoutError) else str(error)
