"""Build the parts of certificates, and read what is in them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509.oid import NameOID

from orbweaver.core.errors import UsageError

NAME_BYTES_MAX = 64
"""Longest name in a certificate, in bytes of UTF-8."""
_SKEW = timedelta(hours=1)
"""How long before it is made a certificate begins, for nodes whose clocks are behind."""
_HOST_NAME = re.compile(r"[A-Za-z0-9_*][A-Za-z0-9_.-]{0,252}")


class Shown(NamedTuple):
    """The contents of a certificate that are shown to people."""

    name: str
    authority: bool
    issuer: str
    public_key: bytes | None
    """The Ed25519 key, or None of an authority that was made elsewhere with another kind of key."""
    not_before: datetime
    not_after: datetime
    hosts: tuple[str, ...]


@contextmanager
def strict() -> Iterator[None]:
    """Raise a `ValueError` for certificates that `cryptography` reads with a warning, since a
    later release will refuse them, for example for a serial number that is not positive."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", CryptographyDeprecationWarning)
        try:
            yield
        except CryptographyDeprecationWarning as warning:
            raise ValueError(str(warning)) from None


def load(path: Path) -> list[x509.Certificate]:
    try:
        pem = path.read_bytes()
        with strict():
            return x509.load_pem_x509_certificates(pem)
    except FileNotFoundError:
        raise UsageError(f"there is no {path}; `orbweaver keys init` makes it") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{path} holds no valid certificate; it should hold some in PEM") from None


def show(path: Path) -> list[Shown]:
    """Return the contents of all certificates in a file."""
    return [describe(certificate) for certificate in load(path)]


def describe(certificate: x509.Certificate) -> Shown:
    key = certificate.public_key()
    hosts: tuple[str, ...] = ()
    authority = False
    for extension in certificate.extensions:
        if isinstance(extension.value, x509.SubjectAlternativeName):
            hosts = tuple(str(name.value) for name in extension.value)
        elif isinstance(extension.value, x509.BasicConstraints):
            authority = extension.value.ca
    return Shown(
        name=_text(certificate.subject),
        authority=authority,
        issuer=_text(certificate.issuer),
        public_key=key.public_bytes_raw() if isinstance(key, Ed25519PublicKey) else None,
        not_before=certificate.not_valid_before_utc,
        not_after=certificate.not_valid_after_utc,
        hosts=hosts,
    )


def builder(
    subject: x509.Name, issuer: x509.Name, key: bytes, start: datetime, end: datetime
) -> x509.CertificateBuilder:
    public_key = Ed25519PublicKey.from_public_bytes(key)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start - _SKEW)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def usage(authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def common_name(name: str) -> x509.Name:
    if not name or not name.isprintable() or len(name.encode()) > NAME_BYTES_MAX:
        raise UsageError(
            f"the name {name!r} should be printable, and have 1 to {NAME_BYTES_MAX} bytes"
        )
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _text(name: x509.Name) -> str:
    found = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if found else name.rfc4514_string()


def general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        pass
    if not _HOST_NAME.fullmatch(host):
        raise UsageError(f"{host!r} should be a host name or an address")
    return x509.DNSName(host)
