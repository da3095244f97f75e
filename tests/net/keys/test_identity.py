"""Keys: whose signature it is, and key files that only their owner reads."""

from __future__ import annotations

import base64
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from hypothesis import given
from hypothesis import strategies as st

from orbweaver.core.errors import UsageError
from orbweaver.net.keys.identity import Identity, node_of, verify

SEED = bytes(range(32))
ALICE = Identity(SEED)
ORDER = 2**252 + 27742317777372353535851937790883648493
"""Of the group that Ed25519 signs in."""


def pem(key: Ed25519PrivateKey | X25519PrivateKey, password: bytes = b"") -> bytes:
    lock = BestAvailableEncryption(password) if password else NoEncryption()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock)


def private_file(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    path.chmod(0o600)
    return path


# -- ids and signatures


def test_the_first_vector_of_rfc_8032() -> None:
    identity = Identity(
        bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    )
    assert identity.public_key.hex() == (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    )
    assert identity.sign(b"").hex() == (
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
    )


def test_an_id_is_63_bits_of_the_hash_of_the_key() -> None:
    """The number stands here as well, since every node has to come to the same one."""
    assert ALICE.node == node_of(ALICE.public_key) == 4298939645974849681
    ids = {node_of(bytes([i]) * 32) for i in range(200)}
    assert len(ids) == 200
    assert all(0 <= node < 2**63 for node in ids)
    assert max(ids) > 2**62, "not fewer bits either"


@given(st.binary(max_size=300))
def test_a_signature_is_of_this_key_and_these_bytes(data: bytes) -> None:
    signature = ALICE.sign(data)
    assert len(signature) == 64
    assert verify(ALICE.public_key, data, signature)
    assert not verify(ALICE.public_key, data + b"\0", signature)
    assert not verify(Identity(SEED[::-1]).public_key, data, signature)


@given(st.binary(max_size=100), st.integers(0, 511))
def test_one_bit_is_enough_to_spoil_a_signature(data: bytes, bit: int) -> None:
    signature = bytearray(ALICE.sign(data))
    signature[bit // 8] ^= 1 << bit % 8
    assert not verify(ALICE.public_key, data, bytes(signature))


@given(st.binary(max_size=80), st.binary(max_size=80), st.binary(max_size=130))
def test_rubbish_is_no_signature_of_anything(key: bytes, data: bytes, signature: bytes) -> None:
    assert verify(key, data, signature) is False
    assert verify(ALICE.public_key, data, signature) is False
    assert verify(key, data, ALICE.sign(data)) is False


@pytest.mark.parametrize("change", [-1, 1])
def test_lengths_are_exact(change: int) -> None:
    """A byte may not slide from the signature into the data, nor a key have a tail."""
    data, signature = b"data", ALICE.sign(b"data")
    assert not verify(ALICE.public_key, data[1:], signature + data[:1])
    cut = slice(None, change) if change < 0 else slice(None)
    more = b"\0" * max(0, change)
    assert not verify(ALICE.public_key, data, signature[cut] + more)
    assert not verify(ALICE.public_key[cut] + more, data, signature)


def test_there_is_one_signature_and_no_key_that_signs_everything() -> None:
    """With S + L in place of S the equation holds too; keys of small order fit any data."""
    signature = ALICE.sign(b"data")
    larger = int.from_bytes(signature[32:], "little") + ORDER
    assert not verify(ALICE.public_key, b"data", signature[:32] + larger.to_bytes(32, "little"))
    neutral = (1).to_bytes(32, "little")
    assert not verify(neutral, b"data", neutral + bytes(32))


def test_what_it_prints_as_has_no_secret() -> None:
    assert SEED.hex() not in repr(ALICE)
    assert ALICE.public_key.hex() in repr(ALICE)
    assert Identity.generate().node != Identity.generate().node


# -- files


def test_a_key_file_is_for_its_owner_and_for_openssl(tmp_path: Path) -> None:
    path = tmp_path / "node.key"
    ALICE.save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    again = Identity.load(path)
    assert (again.node, again.sign(b"x")) == (ALICE.node, ALICE.sign(b"x"))
    key = load_pem_private_key(path.read_bytes(), None)
    assert isinstance(key, Ed25519PrivateKey)
    assert key.public_key().public_bytes_raw() == ALICE.public_key
    assert pem(key) == path.read_bytes()


def test_a_key_that_others_made_is_read(tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    text = pem(key).replace(b"\n", b"\r\n")
    loaded = Identity.load(private_file(tmp_path / "k", text))
    assert loaded.public_key == key.public_key().public_bytes_raw()


def test_a_key_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "node.key"
    ALICE.save(path)
    with pytest.raises(UsageError, match="exists"):
        Identity.generate().save(path)
    assert Identity.load(path).node == ALICE.node
    with pytest.raises(UsageError, match="cannot write"):
        ALICE.save(tmp_path / "nowhere" / "node.key")


def test_nothing_is_left_of_a_key_that_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        ALICE.save(tmp_path / "node.key")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o601])
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "node.key"
    ALICE.save(path)
    path.chmod(mode)
    with pytest.raises(UsageError, match=f"chmod 600 {path}"):
        Identity.load(path)


@pytest.mark.parametrize(("mode", "fine"), [(0o440, True), (0o444, False)])
def test_the_group_may_read_what_somebody_else_has_put_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, fine: bool
) -> None:
    path = tmp_path / "node.key"
    ALICE.save(path)
    path.chmod(mode)
    monkeypatch.setattr("os.geteuid", lambda: path.stat().st_uid + 1)
    if fine:
        assert Identity.load(path).node == ALICE.node
    else:
        with pytest.raises(UsageError, match="others can read"):
            Identity.load(path)


GOOD = ALICE.to_pem()
DER = base64.b64decode(GOOD.split(b"\n")[1])


def wrap(der: bytes) -> bytes:
    middle = base64.encodebytes(der)
    return b"-----BEGIN PRIVATE KEY-----\n" + middle + b"-----END PRIVATE KEY-----\n"


def test_wrap_makes_good_files(tmp_path: Path) -> None:
    """So that the next test refuses its files for what is in them."""
    assert Identity.load(private_file(tmp_path / "k", wrap(DER))).node == ALICE.node


NO_KEYS = {
    "empty": b"",
    "binary": b"\xff\x00" * 50,
    "bare": SEED,
    "hexadecimal": SEED.hex().encode(),
    "cut off": GOOD[:60],
    "two keys": GOOD + GOOD,
    "public": GOOD.replace(b"PRIVATE", b"PUBLIC"),
    "too short": wrap(DER[:-3]),
    "too long": wrap(DER + bytes(3)),
    "other version": wrap(DER[:4] + b"\1" + DER[5:]),
    "nothing inside": wrap(b""),
    "bad base64": GOOD.replace(b"\n-----END", b"A\n-----END"),
    "padded": GOOD.replace(b"\n-----END", b"=\n-----END"),
    "of another curve": pem(X25519PrivateKey.generate()),
    "with a password": pem(Ed25519PrivateKey.generate(), b"password"),
    "huge": b"x" * 1_000_000,
}


@pytest.mark.parametrize("what", NO_KEYS)
def test_other_files_are_no_keys(tmp_path: Path, what: str) -> None:
    data = NO_KEYS[what]
    path = private_file(tmp_path / "k", data)
    with pytest.raises(UsageError, match="holds no Ed25519 private key") as caught:
        Identity.load(path)
    assert "\n" not in str(caught.value)


def test_no_file_at_all(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="keys issue"):
        Identity.load(tmp_path / "k")
    with pytest.raises(UsageError, match="cannot read"):
        Identity.load(tmp_path)
    with pytest.raises(UsageError, match="32 bytes, not 31"):
        Identity(SEED[1:])


def test_a_node_does_not_load_what_makes_certificates() -> None:
    modules = "orbweaver.net.keys.identity, orbweaver.net.keys.certificates"
    code = f"import sys, {modules}; print([m for m in sys.modules if 'cryptography' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
