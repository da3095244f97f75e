"""The identity of a node is an Ed25519 key, and an id that is a hash of the public key.

No authority hands out node ids. A node makes a key, and its id is a hash of the public half, so
that a signature with the key proves that the id is the signer's own. With TLS the same key is in
the node's certificate (`orbweaver.net.keys.certificates`).

A key file is PEM (PKCS 8), as OpenSSL writes and reads it:

    openssl genpkey -algorithm ed25519 -out node.key

The DER inside is always the same 16 bytes, followed by the 32 bytes of the private key (RFC
8410). So it is read here by comparing the 16 bytes, without the library that knows every other
kind of key and takes 18 MB.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import re
from hashlib import blake2b
from pathlib import Path

from nacl.bindings import crypto_sign, crypto_sign_open, crypto_sign_seed_keypair
from nacl.exceptions import BadSignatureError

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId

PUBLIC_KEY_BYTES = 32
SIGNATURE_BYTES = 64
_SEED_BYTES = 32
_DER_PREFIX = bytes.fromhex("302e020100300506032b657004220420")
_PEM = re.compile(
    r"-----BEGIN PRIVATE KEY-----\s+([A-Za-z0-9+/\s]{1,100})-----END PRIVATE KEY-----\s*"
)
_FILE_BYTES_MAX = 10_000


def node_of(public_key: bytes) -> NodeId:
    """Return the id of the node with this key: 63 bits, so that it fits a signed 64-bit column."""
    digest = blake2b(public_key, digest_size=8).digest()
    return NodeId(int.from_bytes(digest, "big") >> 1)


def verify(public_key: bytes, data: bytes, signature: bytes) -> bool:
    """Return whether the owner of `public_key` signed `data`. Keys and signatures of any length may
    be given."""
    # The library reads past the end of a key or a signature that is too short.
    if len(public_key) != PUBLIC_KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    try:
        crypto_sign_open(signature + data, public_key)
    except BadSignatureError:
        return False
    return True


class Identity:
    """A node's key. Its `repr` does not show the private half."""

    __slots__ = ("_secret", "_seed", "node", "public_key")

    def __init__(self, seed: bytes) -> None:
        if len(seed) != _SEED_BYTES:
            raise UsageError(f"an Ed25519 private key has {_SEED_BYTES} bytes, not {len(seed)}")
        self._seed = seed
        public_key, self._secret = crypto_sign_seed_keypair(seed)
        self.public_key: bytes = public_key
        self.node: NodeId = node_of(public_key)

    @classmethod
    def generate(cls) -> Identity:
        return cls(os.urandom(_SEED_BYTES))

    @classmethod
    def load(cls, path: Path) -> Identity:
        """Read a key file, which only its owner may be able to read."""
        der = _decode(_read_private(path))
        if len(der) != len(_DER_PREFIX) + _SEED_BYTES or not der.startswith(_DER_PREFIX):
            raise UsageError(
                f"{path} holds no Ed25519 private key in PEM without a password; make one with "
                f"`orbweaver keys issue` or `openssl genpkey -algorithm ed25519`"
            )
        return cls(der[len(_DER_PREFIX) :])

    def save(self, path: Path) -> None:
        """Write a key file that only its owner can read. An existing file is never replaced: a lost
        key cannot be made again, and the node's id is lost with it."""
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise UsageError(f"{path} exists; move it away, or name another file") from None
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(self.to_pem())
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            with contextlib.suppress(OSError):
                path.unlink()
            raise

    def to_pem(self) -> bytes:
        """Return the private key as PEM, as in the file."""
        text = base64.b64encode(_DER_PREFIX + self._seed)
        return b"-----BEGIN PRIVATE KEY-----\n%b\n-----END PRIVATE KEY-----\n" % text

    def sign(self, data: bytes) -> bytes:
        """Return the signature of `data`.

        The data has to begin with its purpose: the key signs data of several kinds, TLS
        handshakes among them, and one kind must not be taken for another.
        """
        return crypto_sign(data, self._secret)[:SIGNATURE_BYTES]

    def __repr__(self) -> str:
        return f"Identity(node={self.node}, public_key={self.public_key.hex()})"


def _decode(text: str) -> bytes:
    """The DER in a PEM file of one private key, or nothing."""
    found = _PEM.fullmatch(text)
    if found is None:
        return b""
    try:
        return base64.b64decode("".join(found[1].split()))
    except binascii.Error:
        return b""


def _read_private(path: Path) -> str:
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            data = file.read(_FILE_BYTES_MAX)
    except FileNotFoundError:
        raise UsageError(f"there is no key file {path}; `orbweaver keys issue` makes one") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    # A container gets its secrets in a file of another user (root) that our group may read. If
    # the file is our own, the group must not read it.
    if os.name == "posix":
        too_much = 0o077 if status.st_uid == os.geteuid() else 0o007
        if status.st_mode & too_much:
            raise UsageError(f"others can read the private key {path}; run: chmod 600 {path}")
    return data.decode("ascii", errors="replace")
