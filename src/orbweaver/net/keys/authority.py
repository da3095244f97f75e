"""The authority of a cluster: a node with a certificate that it signed may take part.

The authority's key is an Ed25519 key like a node's, in a file like a node's. With `ca.key` one can
let any node in, so it belongs on a machine that is no node; nodes need only `ca.pem`.

To renew a node's certificate before it ends, issue it again: the node keeps its key, and so its
id. To replace the authority, make a new one, and put the certificates of both into the `ca.pem`
of every node, one after the other. When all nodes run with both, issue their certificates by the
new authority, and take the old one out. To lock a node out, list its key in the file `revoked` of
all others (`net.keys.members`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID

from orbweaver.core.errors import UsageError
from orbweaver.net.keys.certificate_parts import (
    builder,
    common_name,
    describe,
    general_name,
    load,
    usage,
)
from orbweaver.net.keys.certificates import AUTHORITY, CERTIFICATE, KEY
from orbweaver.net.keys.identity import PUBLIC_KEY_BYTES, Identity
from orbweaver.records.files import whole_file

AUTHORITY_KEY = "ca.key"
"""Name of the file with the authority's private key."""
AUTHORITY_DAYS = 3650
"""For how many days an authority is valid."""


def make_authority(folder: Path, name: str, start: datetime | None = None) -> None:
    """Make `ca.key` and `ca.pem` in `folder`, valid for ten years."""
    subject = common_name(name)
    _make_folder(folder, 0o700)
    for file in (AUTHORITY_KEY, AUTHORITY):
        if (folder / file).exists():
            raise UsageError(
                f"{folder} has an authority already: there is a {file}; choose another folder"
            )
    identity = Identity.generate()
    start = start or datetime.now(UTC)
    end = start + timedelta(days=AUTHORITY_DAYS)
    made = (
        builder(subject, subject, identity.public_key, start, end)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage(authority=True), critical=True)
        .sign(_signing_key(identity), None)
    )
    identity.save(folder / AUTHORITY_KEY)
    _write(folder / AUTHORITY, made.public_bytes(Encoding.PEM))


def issue(
    authority: Path,
    public_key: bytes,
    name: str,
    days: int = 365,
    hosts: Sequence[str] = (),
    start: datetime | None = None,
) -> bytes:
    """Return a certificate in PEM for the node with this key, signed by the authority in the
    folder `authority`.

    The certificate ends when the authority does, if that is sooner. `hosts` are names and
    addresses for tools that check them; Orbweaver does not.
    """
    if not 1 <= days <= AUTHORITY_DAYS:
        raise UsageError(f"a certificate is valid for 1 to {AUTHORITY_DAYS} days, not {days}")
    if len(public_key) != PUBLIC_KEY_BYTES:
        raise UsageError(f"a public key has {PUBLIC_KEY_BYTES} bytes, not {len(public_key)}")
    subject = common_name(name)
    if not (authority / AUTHORITY_KEY).exists():
        raise UsageError(
            f"there is no {AUTHORITY_KEY} in {authority}; make an authority with "
            f"`orbweaver keys init {authority}`"
        )
    identity = Identity.load(authority / AUTHORITY_KEY)
    signer = _own(authority, identity)
    ends = signer.not_valid_after_utc
    if ends <= datetime.now(UTC):
        raise UsageError(
            f"the authority in {authority} ended on {ends:%Y-%m-%d}; make another with "
            "`orbweaver keys init`"
        )
    start = start or datetime.now(UTC)
    end = min(start + timedelta(days=days), ends)
    authority_key = Ed25519PublicKey.from_public_bytes(identity.public_key)
    draft = (
        builder(subject, signer.subject, public_key, start, end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage(authority=False), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage(
                [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
            ),
            critical=False,
        )
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key), critical=False
        )
    )
    if hosts:
        names = x509.SubjectAlternativeName([general_name(host) for host in hosts])
        draft = draft.add_extension(names, critical=False)
    return draft.sign(_signing_key(identity), None).public_bytes(Encoding.PEM)


def equip(
    authority: Path,
    folder: Path,
    name: str,
    days: int = 365,
    hosts: Sequence[str] = (),
    start: datetime | None = None,
    public_key: bytes | None = None,
) -> None:
    """Fill a node's folder, or renew the certificate in it.

    The key is made if there is none, unless the node keeps it elsewhere and only its
    `public_key` is given.
    """
    if folder.resolve().is_relative_to(authority.resolve()):
        raise UsageError(
            f"{folder} is inside the authority's folder {authority}, which holds {AUTHORITY_KEY} "
            "and must not be copied to a node; choose a folder outside"
        )
    key = folder / KEY
    own = Identity.load(key) if key.exists() else None
    if own is None and public_key is None:
        own = Identity.generate()
    if own is not None:
        if public_key not in (None, own.public_key):
            raise UsageError(f"{key} is not the key to certify; name another folder")
        public_key = own.public_key
    assert public_key is not None
    certificate = issue(authority, public_key, name, days, hosts, start)
    trusted = (authority / AUTHORITY).read_bytes()
    _make_folder(folder, 0o755)
    if own is not None and not key.exists():
        own.save(key)
    _write(folder / CERTIFICATE, certificate)
    _write(folder / AUTHORITY, trusted)


def _signing_key(identity: Identity) -> Ed25519PrivateKey:
    key = load_pem_private_key(identity.to_pem(), password=None)
    assert isinstance(key, Ed25519PrivateKey)
    return key


def _own(authority: Path, identity: Identity) -> x509.Certificate:
    """Return the certificate of the authority's own key; the file may hold other certificates
    too."""
    for certificate in load(authority / AUTHORITY):
        if describe(certificate).public_key == identity.public_key:
            return certificate
    raise UsageError(
        f"{authority / AUTHORITY} has no certificate of the key {authority / AUTHORITY_KEY}; "
        "restore the file that was made together with the key"
    )


def _make_folder(folder: Path, mode: int) -> None:
    try:
        folder.mkdir(mode, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {folder}: {error.strerror}") from None


def _write(path: Path, data: bytes) -> None:
    try:
        with whole_file(path) as temporary:
            temporary.write_bytes(data)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
