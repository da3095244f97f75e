"""Which keys are members: what a certificate proves, and the list of revoked keys."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from orbweaver.core.errors import UsageError
from orbweaver.net.keys import members as module
from orbweaver.net.keys.authority import equip, issue, make_authority
from orbweaver.net.keys.identity import Identity
from orbweaver.net.keys.members import REVOKED, Members

ME, OTHER = Identity.generate(), Identity.generate()
NOW_MS = round(1000 * time.time())
DAY_MS = 24 * 3600 * 1000


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    base = tmp_path_factory.mktemp("keys")
    for name in ("ours", "theirs"):
        make_authority(base / name, name)
    return base


@pytest.fixture
def folder(base, tmp_path):
    equip(base / "ours", tmp_path / "node", "node")
    return tmp_path / "node"


def der(authority: Path, key: bytes, **options) -> bytes:
    pem = issue(authority, key, "member", **options)
    return x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)


def test_a_certificate_proves_the_membership_of_its_key(base, folder):
    members, mine = Members(folder), der(base / "ours", ME.public_key, days=10)
    assert members.membership(ME.public_key, mine, NOW_MS) == "member"
    assert members.membership(ME.public_key, mine, NOW_MS + 9 * DAY_MS) == "member"
    assert members.membership(ME.public_key, mine, NOW_MS + 11 * DAY_MS) == "former"
    assert members.membership(ME.public_key, mine, NOW_MS - DAY_MS) == "former"
    assert members.membership(OTHER.public_key, mine, NOW_MS) == "stranger"
    own = Identity.load(folder / "node.key").public_key
    assert members.membership(own, members.own_certificate, NOW_MS) == "member"


def test_what_the_authority_has_not_signed_proves_nothing(base, folder):
    members, mine = Members(folder), der(base / "ours", ME.public_key)
    theirs = der(base / "theirs", ME.public_key)
    for certificate in (theirs, b"", b"rubbish", mine[:-1], mine[:-9] + bytes(9)):
        assert members.membership(ME.public_key, certificate, NOW_MS) == "stranger"


def test_two_authorities_are_trusted_while_one_replaces_the_other(base, folder):
    ca = folder / "ca.pem"
    ca.write_bytes(ca.read_bytes() + (base / "theirs" / "ca.pem").read_bytes())
    members = Members(folder)
    for name in ("ours", "theirs"):
        certificate = der(base / name, ME.public_key)
        assert members.membership(ME.public_key, certificate, NOW_MS) == "member"


def test_a_key_is_revoked_until_it_leaves_the_list(base, folder):
    mine = der(base / "ours", ME.public_key)
    members, listed = Members(folder), folder / REVOKED
    listed.write_text(f"# lost in London\n\n{ME.public_key.hex().upper()}  # node-7\n")
    assert members.membership(ME.public_key, mine, NOW_MS) == "member", "not read yet"
    members.refresh()
    assert members.is_revoked(ME.public_key)
    assert not members.is_revoked(OTHER.public_key)
    assert members.membership(ME.public_key, mine, NOW_MS) == "former"
    assert Members(folder).is_revoked(ME.public_key)
    listed.unlink()
    members.refresh()
    assert members.membership(ME.public_key, mine, NOW_MS) == "member"


@pytest.mark.parametrize("line", ["1f00c0ffee15600d", "xyz", "ab" * 33])
def test_a_list_that_cannot_be_read_changes_nothing_and_is_reported_once(folder, line):
    listed = folder / REVOKED
    listed.write_text(ME.public_key.hex())
    members = Members(folder)
    listed.write_text(f"{OTHER.public_key.hex()}\n{line}\n")
    with pytest.raises(UsageError, match=f"line 2: .{line[:9]}"):
        members.refresh()
    members.refresh()
    assert members.is_revoked(ME.public_key)
    assert not members.is_revoked(OTHER.public_key)
    with pytest.raises(UsageError, match="keys show"):
        Members(folder)


def test_a_list_that_has_not_changed_is_not_read_again(folder, monkeypatch):
    listed = folder / REVOKED
    listed.write_text(ME.public_key.hex())
    members = Members(folder)
    monkeypatch.setattr(module, "_keys_in", lambda *_: pytest.fail("read again"))
    members.refresh()
    os.utime(listed, ns=(1, 1))
    with pytest.raises(pytest.fail.Exception):
        members.refresh()


def test_each_certificate_is_checked_once_and_their_number_is_bounded(base, folder, monkeypatch):
    monkeypatch.setattr(module, "KEPT_MAX", 3)
    members, mine = Members(folder), der(base / "ours", ME.public_key)
    checks = []
    verify = members._verify
    monkeypatch.setattr(members, "_verify", lambda c: checks.append(c) or verify(c))
    for _ in range(5):
        members.membership(ME.public_key, mine, NOW_MS)
    assert checks == [mine]
    for n in range(10):
        members.membership(ME.public_key, b"%d" % n, NOW_MS)
    assert len(members._known) == 3


def test_a_certificate_that_ends_with_the_authority(base, folder):
    start = datetime.now(UTC) - timedelta(days=30)
    ended = der(base / "ours", ME.public_key, days=5, start=start)
    assert Members(folder).membership(ME.public_key, ended, NOW_MS) == "former"
