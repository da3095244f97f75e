"""Events are signed with one signature for all events of a tick.

A signature for each event would cost more than everything else together: about 50 us to check,
against a few for the rest. So the publisher signs, once for each tick of its loop, the hashes of
the events that it published in the tick; the result is a *seal*. An event names its seal. A
receiver must have the seal, checks the seal's signature once, and for each event checks only that
the event's hash is in the seal. So each event of a run can be passed on and checked without the
others.

The name of the cluster is part of what is signed, and the topic is part of an event's hash: an
event is worth nothing in another cluster or on another topic. A seal also says when it was made.
The time bounds for how long an event can be replayed to nodes that have never seen it. It is the
only place where clocks of different machines are compared, with a tolerance of minutes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

from orbweaver.core.errors import ProtocolError
from orbweaver.core.messages import RUN_EVENTS_MAX, Event, Seal
from orbweaver.net.keys.identity import Identity, node_of, verify

if TYPE_CHECKING:
    from orbweaver.net.keys.members import Membership

_PURPOSE = b"orbweaver seal 2\0"
HASH = 16
"""Bytes of the hash of an event or a seal."""
CERTIFICATE_BYTES_MAX = 4096
"""Largest certificate in a seal, in bytes."""
EVENTS_MAX = RUN_EVENTS_MAX
"""Most events under one seal: with more, checking hashes costs more than the signature."""

_encode = msgspec.msgpack.Encoder().encode


def event_hashes(first: Event, more: Sequence[bytes] = ()) -> list[bytes]:
    """Return the hashes that stand for the events of a run in their seal."""
    stream = blake2b(_encode((first.topic, first.publisher, first.epoch)), digest_size=HASH)
    hashes = []
    for seq, payload in enumerate((first.payload, *more), first.seq):
        hashed = stream.copy()
        hashed.update(_encode(seq) + payload)
        hashes.append(hashed.digest())
    return hashes


class SealBody(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A seal on the wire."""

    key: bytes
    time_ms: int
    hashes: bytes
    signature: bytes
    certificate: bytes = b""
    """The publisher's certificate, where the cluster has an authority. It is not signed again."""


_body_decoder = msgspec.msgpack.Decoder(SealBody)


class BatchSeal(Seal):
    """A signature of one publisher under the events of one tick."""

    __slots__ = ("certificate", "data", "hashes", "key", "membership", "publisher", "time_ms")

    def __init__(
        self, data: bytes, key: bytes, time_ms: int, hashes: bytes, certificate: bytes = b""
    ) -> None:
        super().__init__(_name(data))
        self.key = key
        """The publisher's public key."""
        self.publisher = node_of(key)
        self.certificate = certificate
        self.membership: Membership = "stranger"
        """What the certificate proved when the seal last came."""
        self.hashes = {hashes[i : i + HASH] for i in range(0, len(hashes), HASH)}
        self.time_ms = time_ms
        self.data = data
        """The encoded body, ready to be passed on."""

    def covers(self, first: Event, more: Sequence[bytes] = ()) -> bool:
        """Return whether all events of a run are under this seal."""
        return first.publisher == self.publisher and self.hashes.issuperset(
            event_hashes(first, more)
        )


def seal_events(
    identity: Identity,
    cluster: str,
    hashes: Iterable[bytes],
    time_ms: int,
    certificate: bytes = b"",
) -> BatchSeal:
    """Sign the hashes of events that this node publishes."""
    key, joined = identity.public_key, b"".join(hashes)
    signature = identity.sign(_signed_part(cluster, time_ms, joined))
    data = _encode(SealBody(key, time_ms, joined, signature, certificate))
    return BatchSeal(data, key, time_ms, joined, certificate)


class SealChecker:
    """The receiver's side. It remembers checked seals, since every neighbour may bring the same
    seal."""

    SEALS_MAX = 1024
    """How many checked seals are remembered."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._checked: dict[bytes, BatchSeal] = {}

    def check(self, data: bytes) -> BatchSeal:
        """Return the seal in these bytes. Raise a `ProtocolError` if it is not genuine."""
        name = _name(data)
        seal = self._checked.get(name)
        if seal is None:
            seal = self._checked[name] = _read(self._cluster, data)
            if len(self._checked) > self.SEALS_MAX:
                del self._checked[next(iter(self._checked))]
        return seal


def _read(cluster: str, data: bytes) -> BatchSeal:
    try:
        body = _body_decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"a seal cannot be decoded: {error}") from None
    count, rest = divmod(len(body.hashes), HASH)
    if len(body.certificate) > CERTIFICATE_BYTES_MAX:
        raise ProtocolError(
            f"a certificate of {len(body.certificate)} bytes should have at most "
            f"{CERTIFICATE_BYTES_MAX}"
        )
    if rest or not 0 < count <= EVENTS_MAX or len(body.key) != 32:
        raise ProtocolError(
            f"a seal has {len(body.hashes)} bytes of hashes and a key of {len(body.key)}; it "
            f"should have 1 to {EVENTS_MAX} hashes of {HASH} bytes and a key of 32"
        )
    if not verify(body.key, _signed_part(cluster, body.time_ms, body.hashes), body.signature):
        raise ProtocolError(
            f"a seal was not signed by its publisher, or not in cluster {cluster!r}"
        )
    return BatchSeal(data, body.key, body.time_ms, body.hashes, body.certificate)


def _signed_part(cluster: str, time_ms: int, hashes: bytes) -> bytes:
    # A time beyond a signed 64-bit number does not pass the decoder.
    return _PURPOSE + _encode((cluster, time_ms)) + hashes


def _name(data: bytes) -> bytes:
    return blake2b(data, digest_size=HASH).digest()
