"""The handshake: who is at the other end, and is it who it says?

Each side sends a `Hello` with its card and a nonce, and answers the other's with a `Proof`:
the nonce and both ids, signed with the key in the card. Under TLS the certificate must be
for the same key. Nothing here does I/O; a `ProtocolError` says what is wrong.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId
from orbweaver.net.cards import Card, check_card
from orbweaver.net.frames import NONCE, VERSION, Hello, Proof
from orbweaver.net.identity import Identity, verify
from orbweaver.net.settings import Settings

if TYPE_CHECKING:
    from orbweaver.net.certificates import TlsObject

_PURPOSE = b"orbweaver hello 1\0"


class OtherNetwork(ProtocolError):
    """The far end is in another cluster or runs another overlay, so calling again is in vain."""


class Handshake:
    def __init__(self, identity: Identity, card: Card, settings: Settings, ours: bool) -> None:
        """`ours` if it is we who call."""
        self._identity = identity
        self._ours = ours
        self._card = card
        self._settings = settings
        self._nonce = os.urandom(NONCE)

    def hello(self) -> Hello:
        settings = self._settings
        return Hello(
            VERSION, settings.cluster, settings.overlay, self._card, self._nonce,
            settings.payload_bytes_max,
        )  # fmt: skip

    def check_terms(self, hello: Hello) -> None:
        """What costs nothing to check: whether the two can understand each other at all."""
        if hello.version != VERSION:
            raise ProtocolError(f"version {hello.version!r} does not go with {VERSION!r}")
        for name, mine, theirs in (
            ("cluster", self._settings.cluster, hello.cluster),
            ("overlay", self._settings.overlay, hello.overlay),
        ):
            if mine != theirs:
                raise OtherNetwork(f"{name} {theirs!r} does not go with {mine!r}")
        if len(hello.nonce) != NONCE:
            raise ProtocolError("a nonce of the wrong length")

    def answer(self, hello: Hello, tls: TlsObject | None) -> Proof:
        """The card is genuine, and the certificate, if there is one, is for its key."""
        node = check_card(hello.card)
        if tls is not None:
            from orbweaver.net.certificates import peer_public_key

            if peer_public_key(tls) != hello.card.key:
                raise ProtocolError("the certificate is not that of the card")
        signed = _signed_part(hello.nonce, self._ours, self._identity.node, node)
        return Proof(self._identity.sign(signed))

    def check_proof(self, proof: Proof, card: Card) -> None:
        signed = _signed_part(self._nonce, not self._ours, card.node, self._identity.node)
        if not verify(card.key, signed, proof.signature):
            raise ProtocolError("the key is not its own")


def _signed_part(nonce: bytes, calls: bool, prover: NodeId, other: NodeId) -> bytes:
    """Who calls is part of it: or somebody could call two nodes, tell each that it is the
    other, and hand their proofs across."""
    role = b"\1" if calls else b"\0"
    return b"".join((_PURPOSE, nonce, role, prover.to_bytes(8, "big"), other.to_bytes(8, "big")))
