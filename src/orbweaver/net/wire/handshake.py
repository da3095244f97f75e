"""The handshake proves which node is at the other end of a connection.

Each side sends a `Hello` with its card and a nonce, and answers the other side's `Hello` with a
`Proof`: the nonce and both ids, signed with the key in the card. Under TLS the certificate must
have the same key. Nothing here does I/O; a `ProtocolError` says what is wrong.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId
from orbweaver.net.keys.identity import Identity, verify
from orbweaver.net.peers.cards import Card, check_card
from orbweaver.net.settings import Settings
from orbweaver.net.wire.frames import NONCE, VERSION, Hello, Proof

if TYPE_CHECKING:
    from orbweaver.net.keys.certificates import TlsObject

_PURPOSE = b"orbweaver hello 1\0"


class OtherNetwork(ProtocolError):
    """The far end is in another cluster or runs another overlay, so further calls would fail
    too."""


class Handshake:
    """One side of a handshake."""

    def __init__(self, identity: Identity, card: Card, settings: Settings, ours: bool) -> None:
        """Start a handshake. `ours` is True if this node has opened the connection."""
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
        """Check whether both sides can understand each other, which costs no signature."""
        if hello.version != VERSION:
            raise ProtocolError(
                f"wire version {hello.version!r} does not match {VERSION!r}; all nodes of a "
                "cluster should run versions of Orbweaver with the same wire version"
            )
        for name, mine, theirs in (
            ("cluster", self._settings.cluster, hello.cluster),
            ("overlay", self._settings.overlay, hello.overlay),
        ):
            if mine != theirs:
                raise OtherNetwork(f"{name} {theirs!r} does not match {mine!r}")
        if len(hello.nonce) != NONCE:
            raise ProtocolError(f"the nonce has {len(hello.nonce)} bytes, not {NONCE}")

    def answer(self, hello: Hello, tls: TlsObject | None) -> Proof:
        """Check that the card is genuine, and that the certificate, if there is one, has its key;
        return our proof."""
        node = check_card(hello.card)
        if tls is not None:
            from orbweaver.net.keys.certificates import peer_public_key

            if peer_public_key(tls) != hello.card.key:
                raise ProtocolError("the certificate and the card have different keys")
        signed = _signed_part(hello.nonce, self._ours, self._identity.node, node)
        return Proof(self._identity.sign(signed))

    def check_proof(self, proof: Proof, card: Card) -> None:
        signed = _signed_part(self._nonce, not self._ours, card.node, self._identity.node)
        if not verify(card.key, signed, proof.signature):
            raise ProtocolError("the far end does not have the key of its card")


def _signed_part(nonce: bytes, calls: bool, prover: NodeId, other: NodeId) -> bytes:
    """Return what a proof signs. The role of caller is part of it: otherwise an attacker could call
    two nodes, tell each that it is the other one, and pass their proofs across."""
    role = b"\1" if calls else b"\0"
    return b"".join((_PURPOSE, nonce, role, prover.to_bytes(8, "big"), other.to_bytes(8, "big")))
