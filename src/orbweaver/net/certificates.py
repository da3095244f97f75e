"""TLS between the nodes of one cluster, where the certificate's key is the node's own.

A node has a folder with three files, which `orbweaver keys issue` makes:

    node.key   its private key, the same that signs its events
    node.pem   its certificate: the public half, signed by the cluster's authority
    ca.pem     the certificate of the authority; of several, if one is taking over

Both ends show a certificate, and TLS 1.3 proves that each has the key in it. So when the
handshake is done, `node_of(peer_public_key(...))` is the peer's id, and no further proof is
needed. A host still has to compare it with the id that it meant to reach.

Names of hosts are not compared. A node is called by its id, may move to another address or
be behind one that it does not know, and a node that may use any address is no less the node
that it is. What a name would prove, that the right machine was reached, the id proves.

Under TLS 1.3 a client is done before the server has looked at the client's certificate. So
a client that is refused does connect, and then finds the connection at its end: mostly
without a word, since asyncio closes before the alert that says why has gone out.

Certificates are made in `orbweaver.net.authority`.
"""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from orbweaver.core.errors import ProtocolError, UsageError
from orbweaver.net.identity import Identity

KEY, CERTIFICATE, AUTHORITY = "node.key", "node.pem", "ca.pem"


class Certificate(NamedTuple):
    """What a node has to know of a certificate."""

    public_key: bytes
    not_before: datetime
    not_after: datetime


class TlsObject(Protocol):
    """What `transport.get_extra_info("ssl_object")` gives, whichever loop it is."""

    def getpeercert(self, binary_form: bool = ..., /) -> object: ...


def server_context(folder: Path) -> ssl.SSLContext:
    """For those who accept connections: no peer without a certificate of the cluster."""
    context = _context(folder, ssl.PROTOCOL_TLS_SERVER)
    # A ticket would let a peer come back without its certificate being looked at again.
    context.num_tickets = 0
    return context


def client_context(folder: Path) -> ssl.SSLContext:
    """For those who connect."""
    return _context(folder, ssl.PROTOCOL_TLS_CLIENT)


def peer_public_key(tls: TlsObject) -> bytes:
    """The Ed25519 key that the other end has just proved to have."""
    der = tls.getpeercert(True)
    if not isinstance(der, bytes):
        raise ProtocolError("the peer has shown no certificate")
    return parse(der).public_key


def own_certificate(folder: Path) -> Certificate:
    """The certificate of a node's folder; worth a look for when it ends."""
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
    # Every peer would refuse it, and none of them would say why to whoever starts this node.
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
    """Return the key and the dates of a certificate in DER. Raise a `ProtocolError` if it has
    none, or is malformed."""
    # Loaded here, since it takes 18 MB that a node without TLS has no use for.
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from orbweaver.net.certificate_parts import strict

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
