"""Mutual TLS over loopback: who gets in, who does not, and who it was."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copytree

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import example, given, settings
from hypothesis import strategies as st

from orbweaver.core.errors import ProtocolError, UsageError
from orbweaver.net.keys.authority import AUTHORITY_KEY, equip, issue, make_authority
from orbweaver.net.keys.certificate_parts import show
from orbweaver.net.keys.certificates import (
    AUTHORITY,
    CERTIFICATE,
    KEY,
    client_context,
    own_certificate,
    parse,
    peer_public_key,
    server_context,
)
from orbweaver.net.keys.identity import Identity
from tests.net.keys.tls_folders import Run, lax, meet, node_in

SERVER, CLIENT = ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT
NOW = datetime.now(UTC)
LONG_AGO, LATER = NOW - timedelta(days=400), NOW + timedelta(days=2)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clusters whose authorities have the same name, and nodes of the first."""
    folder = tmp_path_factory.mktemp("clusters")
    for authority in ("ca", "other-ca"):
        make_authority(folder / authority, "cluster", start=LONG_AGO)
    for name in ("alice", "bob"):
        equip(folder / "ca", folder / name, name)
    equip(folder / "other-ca", folder / "stranger", "stranger")
    equip(folder / "ca", folder / "ended", "ended", days=30, start=LONG_AGO)
    equip(folder / "ca", folder / "not-yet", "not-yet", start=LATER)
    return folder


@pytest.fixture
def folders(made: Path, tmp_path: Path) -> Path:
    """The same, for tests that change them."""
    return copytree(made, tmp_path / "clusters")


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    if request.param == "asyncio":
        return asyncio.run
    return pytest.importorskip("uvloop").run


# -- who gets in


def test_both_ends_know_whom_they_have_met(made: Path, run: Run) -> None:
    met = run(meet(server_context(made / "alice"), client_context(made / "bob")))
    assert met == (node_in(made / "bob"), node_in(made / "alice"), None)
    assert met.at_server != met.at_client


@pytest.mark.parametrize("who", ["stranger", "ended", "not-yet"])
def test_a_client_with_a_wrong_certificate_is_refused(made: Path, run: Run, who: str) -> None:
    folder = made / who
    client = lax(folder, CLIENT)
    client.load_verify_locations(made / "alice" / AUTHORITY)
    met = run(meet(server_context(made / "alice"), client))
    assert met.at_client == node_in(made / "alice"), "it is the server that refuses"
    assert met.at_server is None
    assert met.error is not None


@pytest.mark.parametrize("who", ["stranger", "ended", "not-yet"])
def test_a_server_with_a_wrong_certificate_is_refused(made: Path, run: Run, who: str) -> None:
    server = lax(made / who, SERVER)
    server.load_verify_locations(made / "alice" / AUTHORITY)
    met = run(meet(server, client_context(made / "alice")))
    assert (met.at_server, met.at_client) == (None, None)
    assert isinstance(met.error, ssl.SSLCertVerificationError)


def test_lax_contexts_get_in_with_a_good_certificate(made: Path, run: Run) -> None:
    """So that it is for their certificates that the others are refused."""
    met = run(meet(server_context(made / "alice"), lax(made / "bob", CLIENT)))
    assert (met.at_server, met.error) == (node_in(made / "bob"), None)
    met = run(meet(lax(made / "bob", SERVER), client_context(made / "alice")))
    assert (met.at_client, met.error) == (node_in(made / "bob"), None)


def test_a_client_without_a_certificate_is_refused(made: Path, run: Run) -> None:
    met = run(meet(server_context(made / "alice"), lax(made / "bob", CLIENT, False)))
    assert met.at_server is None
    assert met.error is not None


@pytest.mark.parametrize("server_is_old", [False, True])
def test_older_tls_is_refused(made: Path, run: Run, server_is_old: bool) -> None:
    server, client = server_context(made / "alice"), client_context(made / "bob")
    old = lax(made / "alice", SERVER if server_is_old else CLIENT)
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    met = run(meet(old, client) if server_is_old else meet(server, old))
    assert (met.at_server, met.at_client) == (None, None)
    assert isinstance(met.error, OSError)


def test_a_node_cannot_let_others_in(folders: Path, run: Run) -> None:
    forger, bob = folders / "forger", folders / "bob"
    forger.mkdir()
    (bob / KEY).rename(forger / AUTHORITY_KEY)
    (bob / CERTIFICATE).rename(forger / AUTHORITY)
    equip(forger, folders / "guest", "guest")
    chain = (folders / "guest" / CERTIFICATE).read_bytes() + (forger / AUTHORITY).read_bytes()
    (folders / "guest" / CERTIFICATE).write_bytes(chain)
    (bob / AUTHORITY).rename(folders / "guest" / AUTHORITY)
    met = run(meet(server_context(folders / "alice"), lax(folders / "guest", CLIENT)))
    assert met.at_server is None
    assert met.error is not None


def test_no_ticket_lets_a_peer_skip_its_certificate(made: Path) -> None:
    assert server_context(made / "alice").num_tickets == 0


# -- renewing


def test_a_renewed_certificate_is_of_the_same_node(folders: Path, run: Run) -> None:
    ended, alice = folders / "ended", server_context(folders / "alice")
    before = node_in(ended)
    equip(folders / "ca", ended, "ended", days=2)
    assert node_in(ended) == before
    met = run(meet(alice, client_context(ended)))
    assert (met.at_server, met.error) == (before, None)


def test_one_authority_takes_over_from_another(folders: Path, run: Run) -> None:
    """They have the same name; which of them signed is told by their keys."""
    old, new = folders / "ca" / AUTHORITY, folders / "other-ca" / AUTHORITY
    new.write_bytes(old.read_bytes() + new.read_bytes())
    equip(folders / "other-ca", folders / "bob", "bob")
    (folders / "alice" / AUTHORITY).write_bytes(new.read_bytes())
    alice, bob = folders / "alice", folders / "bob"
    met = run(meet(server_context(alice), client_context(bob)))
    assert met == (node_in(bob), node_in(alice), None)
    assert run(meet(server_context(bob), client_context(alice))).error is None
    assert run(meet(server_context(bob), client_context(folders / "stranger"))).error is None


# -- what is in a certificate


def test_what_is_shown_is_what_was_asked_for(made: Path, tmp_path: Path) -> None:
    key = Identity.generate().public_key
    hosts = ["10.0.0.1", "::1", "node.example"]
    (tmp_path / "c.pem").write_bytes(issue(made / "ca", key, "söze [1]", 7, hosts, NOW))
    (found,) = show(tmp_path / "c.pem")
    assert (found.name, found.issuer, found.authority) == ("söze [1]", "cluster", False)
    assert (found.public_key, found.hosts) == (key, tuple(hosts))
    end = (NOW + timedelta(days=7)).replace(microsecond=0)
    assert (found.not_before, found.not_after) == (end - timedelta(days=7, hours=1), end)
    (authority,) = show(made / "ca" / AUTHORITY)
    assert (authority.name, authority.authority) == ("cluster", True)


def test_no_certificate_outlives_its_authority(made: Path, tmp_path: Path) -> None:
    equip(made / "ca", tmp_path, "long", days=3650)
    (authority,) = show(made / "ca" / AUTHORITY)
    assert own_certificate(tmp_path).not_after == authority.not_after


class Shows:
    """A TLS connection, as far as it is looked at."""

    def __init__(self, certificate: bytes | None) -> None:
        self._certificate = certificate

    def getpeercert(self, binary_form: bool = False, /) -> bytes | None:
        assert binary_form
        return self._certificate


def test_a_peer_has_to_have_an_ed25519_key(made: Path) -> None:
    with pytest.raises(ProtocolError, match="no certificate"):
        peer_public_key(Shows(None))
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "p256")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, NOW, LATER)
    other = builder.sign(key, SHA256())
    with pytest.raises(ProtocolError, match="no Ed25519 key"):
        peer_public_key(Shows(other.public_bytes(Encoding.DER)))


SERIAL = 15
"""Where the serial number begins in a certificate in DER."""


def with_negative_serial(path: Path) -> bytes:
    der = bytearray(ssl.PEM_cert_to_DER_cert(path.read_text()))
    der[SERIAL] |= 0x80
    return bytes(der)


def test_a_certificate_with_a_negative_serial_number_is_refused(folders: Path) -> None:
    path = folders / "bob" / CERTIFICATE
    der = with_negative_serial(path)
    with pytest.raises(ProtocolError, match="cannot be read"):
        parse(der)
    path.write_text(ssl.DER_cert_to_PEM_cert(der))
    with pytest.raises(UsageError, match="holds no valid certificate"):
        show(path)
    with pytest.raises(UsageError, match="is not a PEM certificate"):
        own_certificate(folders / "bob")


@settings(deadline=None)
@given(st.integers(0, 2000), st.binary(min_size=1, max_size=4), st.binary(max_size=60))
@example(SERIAL, b"\x80", b"")
def test_a_damaged_certificate_is_read_or_refused(
    made: Path, place: int, damage: bytes, rubbish: bytes
) -> None:
    whole = ssl.PEM_cert_to_DER_cert((made / "bob" / CERTIFICATE).read_text())
    assert parse(whole).public_key == Identity.load(made / "bob" / KEY).public_key
    cut = place % len(whole)
    with pytest.raises(ProtocolError):
        parse(whole[:cut])
    with pytest.raises(ProtocolError):
        parse(whole + b"\0")
    damaged = whole[:cut] + damage + whole[cut + 1 :]
    for refused in (damaged, rubbish):
        with contextlib.suppress(ProtocolError):
            assert len(parse(refused).public_key) == 32


# -- mistakes


def spoil(path: Path, data: bytes | None) -> None:
    if data is None:
        path.unlink()
    else:
        path.write_bytes(data)


@pytest.mark.parametrize("file", [KEY, CERTIFICATE, AUTHORITY])
@pytest.mark.parametrize("data", [None, b"", b"\xff\xfe", b"-----BEGIN CERTIFICATE-----\nAA"])
def test_a_file_that_is_missing_or_spoilt(folders: Path, file: str, data: bytes | None) -> None:
    spoil(folders / "bob" / file, data)
    for context in (server_context, client_context):
        with pytest.raises(UsageError) as caught:
            context(folders / "bob")
        assert file in str(caught.value)
        assert "orbweaver keys" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_files_that_do_not_go_together(folders: Path) -> None:
    alice, bob = folders / "alice", folders / "bob"
    (alice / CERTIFICATE).replace(bob / CERTIFICATE)
    with pytest.raises(UsageError, match="for another key"):
        server_context(bob)
    with pytest.raises(UsageError, match="is not the key to certify"):
        equip(folders / "ca", bob, "bob", public_key=Identity.load(alice / KEY).public_key)
    (bob / KEY).chmod(0o644)
    with pytest.raises(UsageError, match="chmod 600"):
        client_context(bob)


def test_a_node_whose_certificate_has_ended_does_not_start(made: Path) -> None:
    with pytest.raises(UsageError, match=r"ended on \d{4}-\d\d-\d\d; renew it"):
        server_context(made / "ended")


def test_an_authority_that_cannot_sign(folders: Path, tmp_path: Path) -> None:
    key = Identity.generate().public_key
    with pytest.raises(UsageError, match="keys init"):
        issue(folders / "nowhere", key, "n")
    with pytest.raises(UsageError, match="already"):
        make_authority(folders / "ca", "again")
    (folders / "other-ca" / AUTHORITY).replace(folders / "ca" / AUTHORITY)
    with pytest.raises(UsageError, match="no certificate of the key"):
        issue(folders / "ca", key, "n")
    with pytest.raises(UsageError, match="keys init"):
        issue(folders / "other-ca", key, "n")
    make_authority(tmp_path / "old", "old", start=NOW - timedelta(days=3651))
    with pytest.raises(UsageError, match="ended on"):
        issue(tmp_path / "old", key, "n")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"days": 0}, "1 to 3650 days"),
        ({"days": 10**9}, "1 to 3650 days"),
        ({"name": ""}, "should be printable, and have 1 to 64 bytes"),
        ({"name": "ä" * 33}, "should be printable, and have 1 to 64 bytes"),
        ({"name": "a\nb"}, "should be printable, and have 1 to 64 bytes"),
        ({"hosts": ["not a host"]}, "should be a host name"),
        ({"hosts": ["bücher.example"]}, "should be a host name"),
        ({"public_key": b"short"}, "32 bytes, not 5"),
    ],
)
def test_what_cannot_be_certified(
    made: Path, tmp_path: Path, arguments: dict[str, object], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        equip(made / "ca", tmp_path / "new", **{"name": "n", **arguments})
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_made(made: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot make the folder"):
        equip(made / "ca", tmp_path / "file" / "bob", "bob")
