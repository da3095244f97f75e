"""Signed events: one signature for all events of a tick.

A signature for each event would cost more than everything else together (some 50 us to
check, against a few for the rest). So the publisher signs, once for each tick of its loop,
the hashes of what it published in it: that is a *seal*. An event names its seal; who gets
the event must have the seal, has checked its signature once, and checks of the event only
that its hash is among those sealed.

A seal also says when it was made. That bounds for how long an event can be replayed to
nodes that have never seen it; it is the one place where clocks of different machines are
compared, with a tolerance of minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

import msgspec

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event, Seal
from orbweaver.net.identity import Identity, node_of, verify

_PURPOSE = b"orbweaver seal 1\0"
HASH = 16
EVENTS_MAX = 256
"""Events under one seal: beyond this, checking hashes costs more than the signature."""

_encode = msgspec.msgpack.Encoder().encode


def event_hash(event: Event) -> bytes:
    named = (event.topic, event.publisher, event.epoch, event.seq, event.payload)
    return blake2b(_encode(named), digest_size=HASH).digest()


class SealBody(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A seal on the wire."""

    key: bytes
    time_ms: int
    hashes: bytes
    signature: bytes


_body_decoder = msgspec.msgpack.Decoder(SealBody)


class BatchSeal(Seal):
    __slots__ = ("data", "hashes", "publisher", "time_ms")

    def __init__(self, publisher: NodeId) -> None:
        super().__init__(b"")
        self.publisher = publisher
        self.hashes: set[bytes] = set()
        self.time_ms = 0
        self.data = b""
        """The encoded body, ready to be passed on; empty while the seal is open."""

    def covers(self, event: Event) -> bool:
        return event.publisher == self.publisher and event_hash(event) in self.hashes


class Sealer:
    """The publisher's side: events are added during a tick, and signed at its end."""

    def __init__(self, identity: Identity, now: Callable[[], int]) -> None:
        self._identity = identity
        self._now = now
        self._open: BatchSeal | None = None
        self._hashes: list[bytes] = []

    def add(self, event: Event) -> None:
        """Put the event under the seal of this tick. The event is still to be sent, so it is
        given its seal although it is frozen."""
        if self._open is None:
            self._open = BatchSeal(self._identity.node)
        self._hashes.append(event_hash(event))
        msgspec.structs.force_setattr(event, "seal", self._open)
        if len(self._hashes) >= EVENTS_MAX:
            self.close()

    def close(self) -> None:
        seal = self._open
        if seal is None:
            return
        time_ms, hashes = self._now(), b"".join(self._hashes)
        signature = self._identity.sign(_signed_part(time_ms, hashes))
        seal.time_ms = time_ms
        seal.hashes.update(self._hashes)
        seal.data = _encode(SealBody(self._identity.public_key, time_ms, hashes, signature))
        seal.name = _name(seal.data)
        self._open = None
        self._hashes = []


class SealChecker:
    """The receivers' side. Remembers what it has checked, since every neighbour may bring
    the same seal."""

    SEALS_MAX = 1024

    def __init__(self) -> None:
        self._checked: dict[bytes, BatchSeal] = {}

    def check(self, data: bytes) -> BatchSeal:
        """The seal in these bytes, or a `ProtocolError`."""
        name = _name(data)
        seal = self._checked.get(name)
        if seal is None:
            seal = self._checked[name] = _read(name, data)
            if len(self._checked) > self.SEALS_MAX:
                del self._checked[next(iter(self._checked))]
        return seal


def _read(name: bytes, data: bytes) -> BatchSeal:
    try:
        body = _body_decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"undecodable seal: {error}") from None
    count, rest = divmod(len(body.hashes), HASH)
    if rest or not 0 < count <= EVENTS_MAX or len(body.key) != 32:
        raise ProtocolError("a seal of impossible size")
    if not verify(body.key, _signed_part(body.time_ms, body.hashes), body.signature):
        raise ProtocolError("a seal that its publisher did not sign")
    seal = BatchSeal(node_of(body.key))
    seal.name, seal.data, seal.time_ms = name, data, body.time_ms
    seal.hashes.update(body.hashes[i : i + HASH] for i in range(0, len(body.hashes), HASH))
    return seal


def _signed_part(time_ms: int, hashes: bytes) -> bytes:
    # The time is a signed 64-bit number; whoever sends another was refused by the decoder,
    # or is here.
    return _PURPOSE + _encode(time_ms) + hashes


def _name(data: bytes) -> bytes:
    return blake2b(data, digest_size=HASH).digest()
