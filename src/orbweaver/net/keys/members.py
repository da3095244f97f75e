"""Which keys belong to a cluster: those that its authority has certified, and that are not revoked.

TLS proves it of the peer at the other end of a connection. Of the publisher of an event that others
pass on it is proved here, by the publisher's certificate, which comes with the event's seal.

Keys are revoked by the file `revoked` beside a node's certificate: one public key in hexadecimal
digits on each line, as `orbweaver keys show` prints it, and comments after `#`. The file is read
again when it has changed. A key is named, and not a certificate, since a certificate can be renewed
for the same key.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding

from orbweaver.core.errors import UsageError
from orbweaver.net.keys.certificate_parts import describe, load, strict
from orbweaver.net.keys.certificates import AUTHORITY, CERTIFICATE
from orbweaver.net.keys.identity import PUBLIC_KEY_BYTES
from orbweaver.net.logger import Logger

REVOKED = "revoked"
"""Name of the file with the revoked keys."""
KEPT_MAX = 4096
"""How many certificates are remembered, so that each is checked once."""

Membership = Literal["member", "former", "stranger"]
"""A key is a member's if it is certified. It is a former member's if it was revoked, or if by our
clock its certificate has ended or has not begun."""

log = Logger()


class Certified(NamedTuple):
    """What a certificate says that the authority has signed."""

    key: bytes
    begins_ms: float
    ends_ms: float


class Members:
    """The members of one cluster, as a node knows them."""

    def __init__(self, folder: Path) -> None:
        """`folder` is the node's folder, with its certificate and that of the authority."""
        self._authorities = load(folder / AUTHORITY)
        self.own_certificate = load(folder / CERTIFICATE)[0].public_bytes(Encoding.DER)
        """This node's certificate, for the seals of its events."""
        self._file = folder / REVOKED
        self._read: tuple[int, int] | None = None
        """When the file was written, and its size, as it was read last."""
        self._revoked: frozenset[bytes] = frozenset()
        self._known: dict[bytes, Certified | None] = {}
        self.refresh()

    def membership(self, key: bytes, certificate: bytes, now_ms: int) -> Membership:
        """Return what a certificate proves of a key."""
        if certificate not in self._known:
            self._known[certificate] = self._verify(certificate)
            if len(self._known) > KEPT_MAX:
                del self._known[next(iter(self._known))]
        known = self._known[certificate]
        if known is None or known.key != key:
            return "stranger"
        in_time = known.begins_ms <= now_ms <= known.ends_ms
        return "member" if in_time and not self.is_revoked(key) else "former"

    def is_revoked(self, key: bytes) -> bool:
        return key in self._revoked

    def refresh(self) -> None:
        """Read the list of revoked keys if it has changed. Raise a `UsageError` once if it cannot
        be read; the list before it holds."""
        try:
            status = self._file.stat()
            read, text = (status.st_mtime_ns, status.st_size), None
        except FileNotFoundError:
            read, text = None, ""
        except OSError as error:
            raise UsageError(f"cannot read {self._file}: {error.strerror}") from None
        if read == self._read:
            return
        self._read = read
        if text is None:
            try:
                text = self._file.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise UsageError(f"cannot read {self._file}: {error}") from None
        self._revoked = frozenset(_keys_in(text, self._file))
        log.info("the list of revoked keys was read", file=str(self._file), keys=len(self._revoked))

    def _verify(self, certificate: bytes) -> Certified | None:
        try:
            with strict():
                made = x509.load_der_x509_certificate(certificate)
            found = describe(made)
        except (ValueError, UnsupportedAlgorithm):
            return None
        if found.public_key is None or not any(_issued(made, by) for by in self._authorities):
            return None
        begin, end = found.not_before.timestamp(), found.not_after.timestamp()
        return Certified(found.public_key, 1000 * begin, 1000 * end)


def _issued(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _keys_in(text: str, file: Path) -> list[bytes]:
    keys = []
    for number, line in enumerate(text.splitlines(), 1):
        word = line.partition("#")[0].strip()
        try:
            key = bytes.fromhex(word)
        except ValueError:
            key = b"?"
        if key and len(key) != PUBLIC_KEY_BYTES:
            raise UsageError(
                f"{file}, line {number}: {word!r} should be a public key of 64 hexadecimal digits, "
                "as `orbweaver keys show` prints it"
            )
        if key:
            keys.append(key)
    return keys
