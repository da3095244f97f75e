"""TLS between the nodes of one cluster, with the node's own key in its certificate.

A node has a folder with three files, which `orbweaver keys issue` makes:

    node.key   its private key, the same that signs its events
    node.pem   its certificate: the public half, signed by the cluster's authority
    ca.pem     the certificate of the authority, or of two while one replaces the other

and perhaps a fourth, `revoked`, with the keys that are no longer members (`net.keys.members`).

Both ends show a certificate, and TLS 1.3 proves that each has the key in it. So when the
handshake is done, `node_of(peer_public_key(...))` is the peer's id, and no further proof is
needed. A host still has to compare it with the id that it meant to reach.

Host names are not compared. A node is addressed by its id, and may move to another address or be
reached by one that it does not know. The id proves what a host name would prove: that the right
machine was reached.

Under TLS 1.3 a client has finished before the server checks the client's certificate. So a
refused client does connect, and then finds the connection closed, mostly without a reason, since
asyncio closes it before the alert has been sent.

Certificates are made in `orbweaver.net.keys.authority`.
"""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from orbweaver.core.errors import ProtocolError, UsageError
from orbweaver.net.keys.identity import Identity

KEY, CERTIFICATE, AUTHORITY = "node.key", "node.pem", "ca.pem"


class Certificate(NamedTuple):
    """The parts of a certificate that a node uses."""

    public_key: bytes
    not_before: datetime
    not_after: datetime


class TlsObject(Protocol):
    """The type of `transport.get_extra_info("ssl_object")`, in any event loop."""

    def getpeercert(self, binary_form: bool = ..., /) -> object: ...


def server_context(folder: Path) -> ssl.SSLContext:
    """Return the context for accepting connections: only from peers with a certificate of the
    cluster."""
    context = _context(folder, ssl.PROTOCOL_TLS_SERVER)
    # With a ticket a peer could reconnect without a new check of its certificate.
    context.num_tickets = 0
    return context


def client_context(folder: Path) -> ssl.SSLContext:
    """Return the context for opening connections."""
    return _context(folder, ssl.PROTOCOL_TLS_CLIENT)


def peer_public_key(tls: TlsObject) -> bytes:
    """Return the Ed25519 key that the peer has just proved to have."""
    der = tls.getpeercert(True)
    if not isinstance(der, bytes):
        raise ProtocolError("the peer has shown no certificate")
    return parse(der).public_key


def own_certificate(folder: Path) -> Certificate:
    """Return the certificate in a node's folder."""
    path = folder / CERTIFICATE
    text = _read(path)
    begin = text.find(ssl.PEM_HEADER)
    end = text.find(ssl.PEM_FOOTER, begin) + len(ssl.PEM_FOOTER)
    try:
        return parse(ssl.PEM_cert_to_DER_cert(text[begin:end]))
    except (ValueError, ProtocolError):
        raise UsageError(
            f"{path} is not a PEM certificate with an Ed25519 key; "
            f"make it again with `orbweaver keys issue`"
        ) from None


def _context(folder: Path, side: ssl._SSLMethod) -> ssl.SSLContext:
    identity = Identity.load(folder / KEY)
    own = own_certificate(folder)
    if own.public_key != identity.public_key:
        raise UsageError(
            f"{folder / CERTIFICATE} was made for another key than {folder / KEY}; "
            f"make it again with `orbweaver keys issue`"
        )
    # Every peer would refuse the certificate, and this node would not learn why.
    if own.not_after <= datetime.now(UTC):
        raise UsageError(
            f"{folder / CERTIFICATE} ended on {own.not_after:%Y-%m-%d}; "
            f"renew it with `orbweaver keys issue`"
        )
    context = ssl.SSLContext(side)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(folder / CERTIFICATE, folder / KEY)
    try:
        context.load_verify_locations(cadata=_read(folder / AUTHORITY))
    except (ValueError, ssl.SSLError):
        raise UsageError(
            f"{folder / AUTHORITY} holds no PEM certificate; copy it from the folder that "
            f"`orbweaver keys init` made"
        ) from None
    return context


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="ignore")
    except FileNotFoundError:
        raise UsageError(f"there is no {path}; `orbweaver keys issue` makes it") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def parse(der: bytes) -> Certificate:
    """Return the key and the dates of a certificate in DER. Raise a `ProtocolError` if it has no
    Ed25519 key, or is malformed."""
    # Imported here, since it takes 18 MB, which a node without TLS does not need.
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from orbweaver.net.keys.certificate_parts import strict

    try:
        with strict():
            certificate = x509.load_der_x509_certificate(der)
        key = certificate.public_key()
        if not isinstance(key, Ed25519PublicKey):
            raise ProtocolError("the peer's certificate has no Ed25519 key")
        begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        return Certificate(key.public_bytes_raw(), begin, end)
    except (ValueError, UnsupportedAlgorithm):
        raise ProtocolError("the peer's certificate cannot be read") from None
