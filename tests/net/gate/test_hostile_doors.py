"""Attacks by somebody who has not been let in."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from random import Random
from typing import Any

import pytest

from orbweaver.gossip.plumtree.messages import Push
from orbweaver.net.keys.authority import equip, make_authority
from orbweaver.net.keys.certificates import KEY
from orbweaver.net.keys.identity import Identity
from orbweaver.net.peers import arrivals, peers
from orbweaver.net.peers.cards import make_card
from orbweaver.net.wire.connection import HELLO_BYTES_MAX
from orbweaver.net.wire.frames import VERSION, Hello, Ping, Proof, control_frame
from tests.net.gate.arena import MB, Growth, arena
from tests.net.gate.hostile import Attacker
from tests.net.keys.tls_folders import lax
from tests.net.live import make_node, until


def run(scenario: Any) -> None:
    asyncio.run(scenario())


@pytest.mark.parametrize("seed", range(5))
def test_random_bytes(seed: int) -> None:
    async def scenario() -> None:
        async with arena() as ring:
            for size in (1, 4, 5, 100, 5000, 100_000):
                attacker = await ring.attacker().connect()
                attacker.raw(Random(seed * size).randbytes(size))
                if size > 4:
                    await attacker.is_cut_off()
            counted = ring.counters.bad_frames + ring.counters.bad_handshakes
            assert counted >= 4
            await ring.check()

    run(scenario)


@pytest.mark.parametrize("cut", [1, 4, 5, 20, 100])
def test_a_hello_that_stops_in_the_middle(cut: int) -> None:
    async def scenario() -> None:
        async with arena(handshake_s=1.0) as ring:
            silent, gone = [await ring.attacker().connect() for _ in range(2)]
            hello = control_frame(
                Hello(VERSION, "orbweaver", "spidercast", silent.card, bytes(32), 1)
            )
            silent.raw(hello[:cut])
            gone.raw(hello[:cut])
            gone.writer.transport.abort()
            await silent.is_cut_off()
            assert ring.counters.bad_handshakes >= 1
            await ring.check()

    run(scenario)


def test_one_byte_at_a_time() -> None:
    """Slow, but honest: it is let in and heard."""

    async def scenario() -> None:
        async with arena(handshake_s=60.0) as ring:
            slow = await ring.attacker().connect()
            await slow.wait_for(Hello)
            kept: list[bytes] = []
            slow.raw = kept.append  # type: ignore[method-assign]
            slow.say_hello()
            slow.prove()
            event = slow.event(0, payload=b"slowly")
            slow.seal(event)
            slow.send(Push(event, 1, 0))
            for byte in b"".join(kept):
                slow.writer.write(bytes([byte]))
                await asyncio.sleep(0)
            await until(lambda: b"slowly" in ring.delivered())
            await ring.check()

    run(scenario)


@pytest.mark.parametrize("size", [0, HELLO_BYTES_MAX + 1, 1 << 20, 2**31, 2**32 - 1])
def test_a_length_out_of_bounds(size: int) -> None:
    async def scenario() -> None:
        async with arena() as ring:
            attacker = await ring.attacker().connect()
            attacker.raw(size.to_bytes(4, "big"))
            await attacker.is_cut_off()
            assert ring.counters.bad_frames == 1
            member = await ring.member()
            size_for_members = size if size not in (HELLO_BYTES_MAX + 1, 1 << 20) else 5 * MB
            member.raw(size_for_members.to_bytes(4, "big"))
            await member.is_cut_off()
            assert ring.counters.bad_frames == 2
            await ring.check()

    run(scenario)


def test_nobody_fills_us_up_before_it_has_said_who_it_is() -> None:
    async def scenario() -> None:
        async with arena() as ring:
            with Growth() as growth:
                for _ in range(40):
                    attacker = await ring.attacker().connect()
                    attacker.raw(HELLO_BYTES_MAX.to_bytes(4, "big") + bytes(HELLO_BYTES_MAX - 1))
                    attacker.raw((4 << 20).to_bytes(4, "big"))
                await ring.check()
            assert growth.bytes < 20 * MB

    run(scenario)


WRONG = {
    "version": {"version": 99},
    "cluster": {"cluster": "another"},
    "overlay": {"overlay": "vitis"},
    "huge version": {"version": 2**63},
    "long cluster": {"cluster": "x" * 3000},
    "short nonce": {"nonce": b"short"},
    "no nonce": {"nonce": b""},
    "card of others": {"card": make_card(Identity.generate(), "127.0.0.1", 5, False, 1)},
    "false card": {"card": make_card(Identity.generate(), "127.0.0.1", 0, False, 1)},
}


@pytest.mark.parametrize("changes", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_hello(changes: dict[str, Any]) -> None:
    async def scenario() -> None:
        async with arena() as ring:
            attacker = await ring.attacker().connect()
            attacker.say_hello(**changes)
            await attacker.wait_for(Hello)
            attacker.prove()
            await attacker.is_cut_off()
            assert ring.counters.bad_handshakes == 1
            assert attacker.refusals
            assert ring.victim.status().connections == 1
            await ring.check()

    run(scenario)


OUT_OF_PLACE = {
    "a proof first": [Proof(bytes(64))],
    "nothing but pings": [Ping(), Ping()],
    "two hellos": "two",
    "messages": "messages",
}


@pytest.mark.parametrize("what", OUT_OF_PLACE.values(), ids=OUT_OF_PLACE.keys())
def test_what_has_no_place_in_a_handshake(what: Any) -> None:
    async def scenario() -> None:
        async with arena() as ring:
            attacker = await ring.attacker().connect()
            if what == "two":
                attacker.say_hello()
                attacker.say_hello()
            elif what == "messages":
                attacker.send(Push(attacker.event(0), 1, 0))
            else:
                for message in what:
                    attacker.control(message)
            await attacker.is_cut_off()
            assert ring.counters.bad_handshakes + ring.counters.bad_frames == 1
            await ring.check()

    run(scenario)


def test_a_wrong_proof_and_one_that_was_used_before() -> None:
    async def scenario() -> None:
        async with arena() as ring:
            honest = await ring.member()
            assert honest.hello is not None
            overheard = Proof(honest.identity.sign(b"anything"))
            for proof in (overheard, Proof(b""), Proof(bytes(64)), Proof(bytes(10_000)[:3000])):
                attacker = await ring.attacker(identity=honest.identity).connect()
                attacker.say_hello()
                await attacker.wait_for(Hello)
                attacker.control(proof)
                await attacker.is_cut_off()
            # The proof that was good for the nonce of then.
            again = await ring.attacker(identity=honest.identity).connect()
            again.say_hello()
            await again.wait_for(Hello)
            again.prove(nonce=honest.hello.nonce)
            await again.is_cut_off()
            # Somebody else's card, with one's own signature.
            thief = await ring.attacker(card=ring.friend.host.card).connect()
            thief.say_hello()
            await thief.wait_for(Hello)
            thief.me = ring.friend.host.me
            thief.prove()
            await thief.is_cut_off()
            assert ring.counters.bad_handshakes == 6
            await ring.check()

    run(scenario)


def test_nobody_stands_between_two_nodes_that_it_calls() -> None:
    """It tells each that it is the other, and hands their words across."""

    async def scenario() -> None:
        async with arena() as ring:
            async with make_node() as third:  # not connected with the victim
                here = await ring.attacker().connect()
                there = await Attacker(third.address).connect()
                ring.attackers.append(there)
                here.control(await there.wait_for(Hello))
                there.control(await here.wait_for(Hello))
                here.control(await there.wait_for(Proof))
                there.control(await here.wait_for(Proof))
                await here.is_cut_off()
                await there.is_cut_off()
                assert third.status().connections == 0
                assert ring.counters.bad_handshakes == 1
            await ring.check()

    run(scenario)


def test_the_nodes_own_words_sent_back() -> None:
    async def scenario() -> None:
        async with arena() as ring:
            mirror = await ring.attacker().connect()
            hello = await mirror.wait_for(Hello)
            mirror.control(hello)
            mirror.control(await mirror.wait_for(Proof))
            await mirror.is_cut_off()
            assert ring.counters.bad_handshakes == 1
            await ring.check()

    run(scenario)


def test_handshakes_that_are_never_finished(monkeypatch: Any) -> None:
    monkeypatch.setattr(peers, "PENDING_MAX", 8)

    async def scenario() -> None:
        async with arena(handshake_s=30.0) as ring:
            for n in range(60):
                attacker = await ring.attacker().connect()
                if n % 2:
                    attacker.say_hello()
            await until(lambda: ring.counters.connections_refused >= 40)
            pending = [c for c in ring.victim.host.peers._all if not c.open]
            assert len(pending) <= 8
            # Whoever does finish is let in all the same.
            async with make_node(join=[ring.victim.address]) as newcomer:
                assert newcomer.status().connections >= 1
            await ring.check()

    run(scenario)


SOMEWHERE = "127.0.0.66"


def test_one_address_does_not_take_the_handshakes_of_others(monkeypatch: Any) -> None:
    """It begins many and finishes none, faster than a newcomer can finish one."""
    monkeypatch.setattr(peers, "PENDING_MAX", 8)

    async def scenario() -> None:
        async with arena(handshake_s=30.0) as ring:
            for _ in range(5):
                newcomer = await ring.attacker().connect()
                newcomer.say_hello()
                await newcomer.wait_for(Hello)
                for _ in range(16):
                    await ring.attacker(source=SOMEWHERE).connect()
                newcomer.prove()
                await newcomer.wait_for(Proof)
            assert not any(a.closed.is_set() for a in ring.attackers if a.source != SOMEWHERE)
            await ring.check()

    run(scenario)


def test_the_attempts_of_one_address_are_limited(monkeypatch: Any) -> None:
    monkeypatch.setattr(arrivals, "FROM_ADDRESS", (1e-9, 10.0))

    async def scenario() -> None:
        async with arena() as ring:
            before = ring.counters.connections_refused
            for _ in range(30):
                await ring.attacker(source=SOMEWHERE).connect()
            await until(lambda: ring.counters.connections_refused == before + 20)
            await ring.member()
            await ring.check()

    run(scenario)


def test_many_addresses_leave_room_for_one_that_is_new(monkeypatch: Any) -> None:
    """Those that called of late share one half of the handshakes, and newcomers the other."""
    monkeypatch.setattr(arrivals, "EVERYWHERE", (1e-9, 30.0))

    async def scenario() -> None:
        async with arena() as ring:
            for n in range(60):
                await ring.attacker(source=f"127.0.1.{1 + n % 10}").connect()
            assert ring.counters.connections_refused >= 20
            await ring.member()
            await ring.check()

    run(scenario)


def test_more_connections_than_there_is_room_for() -> None:
    async def scenario() -> None:
        async with arena(connections_max=10) as ring:
            for _ in range(40):
                await ring.member()
            assert ring.victim.status().connections <= 10
            assert ring.counters.connections_refused >= 25
            assert ring.victim.neighbours() == [ring.friend.id]
            async with make_node(join=[ring.victim.address]) as newcomer:
                assert newcomer.status().connections >= 1
            await ring.check()

    run(scenario)


def test_the_same_name_many_times() -> None:
    async def scenario() -> None:
        async with arena() as ring:
            identity = Identity.generate()
            for _ in range(30):
                await ring.member(identity=identity)
            await until(lambda: ring.victim.status().connections == 2)
            await until(lambda: sum(not a.closed.is_set() for a in ring.attackers) == 1)
            await ring.check()

    run(scenario)


# -- TLS


@pytest.fixture(scope="module")
def folders(tmp_path_factory: Any) -> dict[str, Path]:
    """Nodes of one cluster, and one of another."""
    base = tmp_path_factory.mktemp("tls")
    made = {}
    for authority, names in (("ours", ("victim", "friend", "member")), ("theirs", ("stranger",))):
        make_authority(base / authority, authority)
        for name in names:
            made[name] = base / name
            equip(base / authority, made[name], name)
    return made


def _client(folder: Path, with_certificate: bool = True) -> ssl.SSLContext:
    context = lax(folder, ssl.PROTOCOL_TLS_CLIENT, with_certificate)
    context.verify_mode = ssl.CERT_NONE
    return context


@pytest.mark.parametrize("who", ["nobody", "stranger", "member"])
def test_a_certificate_that_is_missing_or_of_others(who: str, folders: dict[str, Path]) -> None:
    """A member has one, but says hello as somebody else."""

    async def scenario() -> None:
        async with arena(tls=(folders["victim"], folders["friend"])) as ring:
            attacker = ring.attacker()
            context = _client(folders["stranger" if who == "nobody" else who], who != "nobody")
            try:
                await attacker.connect(context)
                attacker.say_hello()
                await attacker.is_cut_off()
            except (ssl.SSLError, ConnectionError):
                pass
            assert ring.victim.status().connections == 1
            if who == "member":
                assert "certificate" in attacker.refusals[0]
                assert ring.counters.bad_handshakes == 1
                key = Identity.load(folders["member"] / KEY)
                await ring.attacker(identity=key).shake_hands(context)
                await until(lambda: ring.victim.status().connections == 2)
            await ring.check()

    run(scenario)


def test_tls_that_never_begins(folders: dict[str, Path], monkeypatch: Any) -> None:
    monkeypatch.setattr(peers, "PENDING_MAX", 5)

    async def scenario() -> None:
        async with arena(tls=(folders["victim"], folders["friend"]), handshake_s=30.0) as ring:
            for n in range(40):
                attacker = await ring.attacker().connect()
                attacker.raw(b"\x16\x03\x01" if n % 2 else b"GET / HTTP/1.1\r\n\r\n")
            await until(lambda: ring.counters.connections_refused >= 15)
            assert len(ring.victim.host.peers._all) <= 7
            assert len(ring.victim.host._listener._greeting) <= 7
            async with make_node(
                tls=str(folders["member"]), join=[ring.victim.address]
            ) as newcomer:
                assert newcomer.status().connections >= 1
            await ring.check()

    run(scenario)
