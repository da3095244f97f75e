"""Attacks by members of a cluster with an authority, for those who are not, or no longer."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from orbweaver.gossip.plumtree.messages import Push
from orbweaver.net.gate.standing import CUT_OFF
from orbweaver.net.keys.authority import equip, issue, make_authority
from orbweaver.net.keys.certificates import KEY
from orbweaver.net.keys.identity import Identity
from orbweaver.net.keys.members import REVOKED
from orbweaver.net.wire.frames import Hello, Ping, Pong
from tests.net.gate.arena import PATIENT, Arena, arena
from tests.net.gate.hostile import Attacker
from tests.net.keys.tls_folders import lax
from tests.net.live import until

NAMES = ("victim", "friend", "member")


def run(scenario: Any) -> None:
    asyncio.run(scenario())


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("tls")
    for authority in ("ours", "theirs"):
        make_authority(base / authority, authority)
    for name in NAMES:
        equip(base / "ours", base / name, name)
    return {name: base / name for name in (*NAMES, "ours", "theirs")}


async def member(ring: Arena, folders: dict[str, Path]) -> Attacker:
    """A node with a certificate, that has been let in."""
    context = lax(folders["member"], ssl.PROTOCOL_TLS_CLIENT)
    identity = Identity.load(folders["member"] / KEY)
    return await ring.attacker(identity=identity).shake_hands(context)


def certificate(authority: Path, identity: Identity) -> bytes:
    pem = issue(authority, identity.public_key, "somebody")
    return x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)


def pass_on(attacker: Attacker, publisher: Identity, shown: bytes, seq: int = 0) -> None:
    """An event of another node, signed by it, as a member passes it on."""
    other = Attacker("127.0.0.1:1", identity=publisher)
    other.certificate = shown
    other.raw = attacker.raw  # type: ignore[method-assign]
    event = other.event(seq)
    other.seal(event)
    attacker.send(Push(event, 1, 0))


async def heard(attacker: Attacker) -> None:
    attacker.heard.clear()
    attacker.control(Ping())
    await attacker.wait_for(Pong)


@pytest.mark.parametrize("shown", ["none", "of another cluster", "of another key"])
def test_an_event_of_a_publisher_that_is_no_member(shown: str, folders: dict[str, Path]) -> None:
    async def scenario() -> None:
        async with arena(tls=(folders["victim"], folders["friend"]), **PATIENT) as ring:
            attacker, stranger = await member(ring, folders), Identity.generate()
            made = {
                "none": b"",
                "of another cluster": certificate(folders["theirs"], stranger),
                "of another key": certificate(folders["ours"], attacker.identity),
            }
            for seq in range(CUT_OFF + 1):
                pass_on(attacker, stranger, made[shown], seq)
            await attacker.is_cut_off()
            assert ring.counters.uncertified == CUT_OFF + 1
            assert ring.delivered() == []
            await ring.check()

    run(scenario)


def test_events_of_members_are_passed_on(folders: dict[str, Path]) -> None:
    async def scenario() -> None:
        async with arena(tls=(folders["victim"], folders["friend"]), **PATIENT) as ring:
            attacker, other = await member(ring, folders), Identity.generate()
            pass_on(attacker, other, certificate(folders["ours"], other))
            await until(lambda: ring.delivered() == [b"evil"])
            await until(lambda: b"evil" in [m.event.payload for m in ring.at_friend._buffer])
            assert ring.counters.uncertified == ring.friend.counters.uncertified == 0
            await ring.check()

    run(scenario)


def test_an_open_cluster_takes_events_of_strangers(folders: dict[str, Path]) -> None:
    async def scenario() -> None:
        tls = (folders["victim"], folders["friend"])
        async with arena(tls=tls, publishers_certified=False, **PATIENT) as ring:
            attacker = await member(ring, folders)
            pass_on(attacker, Identity.generate(), b"")
            await until(lambda: ring.delivered() == [b"evil"])
            await ring.check()

    run(scenario)


def test_a_member_that_is_revoked_is_cut_off_and_not_let_in_again(
    folders: dict[str, Path],
) -> None:
    async def scenario() -> None:
        listed = folders["victim"] / REVOKED
        async with arena(tls=(folders["victim"], folders["friend"]), **PATIENT) as ring:
            attacker, other = await member(ring, folders), Identity.generate()
            await heard(attacker)
            keys = [attacker.identity.public_key.hex(), other.public_key.hex()]
            try:
                listed.write_text("\n".join(keys))
                await attacker.is_cut_off()
                assert "revoked" in attacker.refusals[0]
                again = ring.attacker(identity=attacker.identity)
                await again.connect(lax(folders["member"], ssl.PROTOCOL_TLS_CLIENT))
                again.say_hello()
                await again.wait_for(Hello)
                again.prove()
                await again.is_cut_off()
                assert "revoked" in again.refusals[0]
                await ring.check()
            finally:
                listed.unlink()

    run(scenario)


def test_an_event_of_a_revoked_publisher_is_dropped_without_blame(
    folders: dict[str, Path],
) -> None:
    """The member that passes it on may not have the new list yet."""

    async def scenario() -> None:
        listed = folders["victim"] / REVOKED
        async with arena(tls=(folders["victim"], folders["friend"]), **PATIENT) as ring:
            attacker, other = await member(ring, folders), Identity.generate()
            try:
                listed.write_text(other.public_key.hex())
                members = ring.victim.host.members
                assert members is not None
                await until(lambda: members.is_revoked(other.public_key))
                for seq in range(CUT_OFF + 5):
                    pass_on(attacker, other, certificate(folders["ours"], other), seq)
                await heard(attacker)
                assert ring.counters.uncertified == CUT_OFF + 5
                assert ring.delivered() == []
                await ring.check()
            finally:
                listed.unlink()

    run(scenario)
