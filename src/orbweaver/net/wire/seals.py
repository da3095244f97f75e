"""Events are signed with one signature for all events of a tick.

A signature for each event would cost more than everything else together: about 50 us to check,
against a few for the rest. So the publisher signs, once for each tick of its loop, the hashes of
the events that it published in the tick; the result is a *seal*. An event names its seal. A
receiver must have the seal, checks the seal's signature once, and for each event checks only that
the event's hash is in the seal.

A seal also says when it was made. The time bounds for how long an event can be replayed to nodes
that have never seen it. It is the only place where clocks of different machines are compared, with
a tolerance of minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

import msgspec

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event, Seal
from orbweaver.net.keys.identity import Identity, node_of, verify

_PURPOSE = b"orbweaver seal 1\0"
HASH = 16
"""Bytes of the hash of an event or a seal."""
EVENTS_MAX = 256
"""Most events under one seal: with more, checking hashes costs more than the signature."""

_encode = msgspec.msgpack.Encoder().encode


def event_hash(event: Event) -> bytes:
    """Return the hash that stands for an event in its seal."""
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
    """A signature of one publisher under the events of one tick."""

    __slots__ = ("data", "hashes", "publisher", "time_ms")

    def __init__(self, publisher: NodeId) -> None:
        super().__init__(b"")
        self.publisher = publisher
        self.hashes: set[bytes] = set()
        self.time_ms = 0
        self.data = b""
        """The encoded body, ready to be passed on; empty while the seal is open."""

    def covers(self, event: Event) -> bool:
        """Return whether the event is under this seal."""
        return event.publisher == self.publisher and event_hash(event) in self.hashes


class Sealer:
    """The publisher's side: events are added during a tick, and signed at its end."""

    def __init__(self, identity: Identity, now: Callable[[], int]) -> None:
        self._identity = identity
        self._now = now
        self._open: BatchSeal | None = None
        self._hashes: list[bytes] = []

    def add(self, event: Event) -> None:
        """Put the event under the seal of this tick. The event is frozen, but has not been sent
        yet, so it can still be given its seal."""
        if self._open is None:
            self._open = BatchSeal(self._identity.node)
        self._hashes.append(event_hash(event))
        msgspec.structs.force_setattr(event, "seal", self._open)
        if len(self._hashes) >= EVENTS_MAX:
            self.close()

    def close(self) -> None:
        """Sign the open seal, if there is one."""
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
    """The receiver's side. It remembers checked seals, since every neighbour may bring the same
    seal."""

    SEALS_MAX = 1024
    """How many checked seals are remembered."""

    def __init__(self) -> None:
        self._checked: dict[bytes, BatchSeal] = {}

    def check(self, data: bytes) -> BatchSeal:
        """Return the seal in these bytes. Raise a `ProtocolError` if it is not genuine."""
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
        raise ProtocolError(f"a seal cannot be decoded: {error}") from None
    count, rest = divmod(len(body.hashes), HASH)
    if rest or not 0 < count <= EVENTS_MAX or len(body.key) != 32:
        raise ProtocolError(
            f"a seal has {len(body.hashes)} bytes of hashes and a key of {len(body.key)}; it "
            f"should have 1 to {EVENTS_MAX} hashes of {HASH} bytes and a key of 32"
        )
    if not verify(body.key, _signed_part(body.time_ms, body.hashes), body.signature):
        raise ProtocolError("a seal was not signed by its publisher")
    seal = BatchSeal(node_of(body.key))
    seal.name, seal.data, seal.time_ms = name, data, body.time_ms
    seal.hashes.update(body.hashes[i : i + HASH] for i in range(0, len(body.hashes), HASH))
    return seal


def _signed_part(time_ms: int, hashes: bytes) -> bytes:
    # A time beyond a signed 64-bit number does not pass the decoder.
    return _PURPOSE + _encode(time_ms) + hashes


def _name(data: bytes) -> bytes:
    return blake2b(data, digest_size=HASH).digest()
