"""Send small gossip by UDP, where a lost message does no harm.

Peer sampling asks a different node in each cycle; a connection for each such exchange would
cost more than the exchange. So a membership message to a node without a connection goes as one
datagram, if it fits together with the cards of the nodes that it names; other messages go by
TCP. A datagram is signed as a whole, names its receiver, and carries a stamp that grows, so it
can neither be forged nor usefully repeated. Datagrams are not encrypted, so they are off with
TLS.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import cast

import msgspec

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId
from orbweaver.net.counters import Counters
from orbweaver.net.gate.limits import Bucket
from orbweaver.net.keys.identity import SIGNATURE_BYTES, Identity, verify
from orbweaver.net.peers.cards import Card, family

SIZE_MAX = 1200
"""Largest datagram, in bytes: it crosses any path in one piece."""
PER_S = 2000.0
"""How many datagrams are checked per second, from all senders together: each check costs a
signature."""
SENDERS_MAX = 4096
"""How many senders' last stamps are remembered."""


class Letter(msgspec.Struct, frozen=True, array_like=True):
    """The content of a datagram."""

    to: NodeId
    card: Card
    """The sender's card."""
    stamp: int
    """A number that grows with each datagram of the sender."""
    cards: tuple[Card, ...]
    message: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Letter).decode


class Datagrams(asyncio.DatagramProtocol):
    """The UDP socket of a node."""

    def __init__(
        self,
        identity: Identity,
        scope: str,
        counters: Counters,
        received: Callable[[Letter], None],
    ) -> None:
        """`scope` keeps clusters and overlays apart. `received` is called with each genuine
        letter."""
        self._identity = identity
        self._purpose = b"orbweaver datagram 1\0" + scope.encode() + b"\0"
        self._counters = counters
        self._received = received
        self._loop = asyncio.get_running_loop()
        self._bucket = Bucket(PER_S, PER_S, self._loop.time())
        self._stamps: dict[NodeId, int] = {}
        self._transport: asyncio.DatagramTransport | None = None
        self._own_family: int | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)
        self._own_family = transport.get_extra_info("socket").family

    def send(self, to: Card, mine: Card, stamp: int, cards: Iterable[Card], message: bytes) -> bool:
        """Send a message to the node of a card. Return False if it cannot go as a datagram."""
        if len(message) > SIZE_MAX or self._transport is None:
            return False
        body = _encode(Letter(to.node, mine, stamp, tuple(cards), message))
        if SIGNATURE_BYTES + len(body) > SIZE_MAX:
            return False
        # Looking up a host name would block the loop. A datagram to an address of the other
        # family is not sent, and not every loop reports it.
        if family(to.host) != self._own_family:
            return False
        signature = self._identity.sign(self._purpose + body)
        try:
            self._transport.sendto(signature + body, (to.host, to.port))
        except (OSError, ValueError):
            return False
        self._counters.datagrams_out += 1
        return True

    def datagram_received(self, data: bytes, address: object) -> None:
        self._counters.datagrams_in += 1
        if len(data) > SIZE_MAX:
            return
        try:
            letter = self._open(data)
            if letter is not None:
                self._received(letter)
        except ProtocolError:
            self._counters.bad_datagrams += 1

    def error_received(self, error: Exception) -> None:
        """Ignore that the receiver does not listen: a peer that is needed is also called by TCP."""

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _open(self, data: bytes) -> Letter | None:
        """Check and decode a datagram. Return None if there is no time to check another signature;
        a datagram that is wrong without its signature takes no such time."""
        signature, body = data[:SIGNATURE_BYTES], data[SIGNATURE_BYTES:]
        try:
            letter = _decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ProtocolError(f"undecodable datagram: {error}") from None
        sender = letter.card.node
        if letter.to != self._identity.node or sender == letter.to:
            raise ProtocolError("the datagram is for another node")
        if letter.stamp <= self._stamps.get(sender, -1):
            raise ProtocolError("the datagram repeats an earlier one, or is older")
        if not self._bucket.allow(1, self._loop.time()):
            return None
        if not verify(letter.card.key, self._purpose + body, signature):
            raise ProtocolError("the datagram was not signed by its sender")
        self._stamps.pop(sender, None)
        self._stamps[sender] = letter.stamp
        if len(self._stamps) > SENDERS_MAX:
            del self._stamps[next(iter(self._stamps))]
        return letter
