"""Attacks with messages of the overlay, by somebody who has been let in."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Event, Message, Seal
from orbweaver.core.topics import Interest, TopicTable
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.messages import Exchange, Relay, Shuffle
from orbweaver.net.gate.standing import CUT_OFF
from orbweaver.net.peers import peers
from orbweaver.net.wire.frames import CONTROL, MESSAGES, Ping, Pong
from orbweaver.overlays.catalog import OVERLAYS
from orbweaver.overlays.spidercast.messages import (
    Connect,
    ConnectOk,
    Disconnect,
    Heartbeat,
    Redirect,
)
from orbweaver.overlays.vitis.messages import Profile, Proposal
from tests.core.any_value import LEAVES, values_of
from tests.net.gate.arena import MB, PATIENT, Growth, arena
from tests.net.gate.hostile import Attacker
from tests.net.live import until

TRIES = CUT_OFF + 5
TABLE = TopicTable(["news", "other"])
EDGES = [-(2**63), -1, 0, 1, 2, 64, 2**31, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
IDS = st.one_of(st.sampled_from(EDGES), st.integers(0, 5)).map(NodeId)
TOPICS = st.sampled_from(["news", "other", "", "x" * 255, "\0", "a//b"])
NONSENSE = LEAVES | {
    int: st.sampled_from(EDGES),
    NodeId: IDS,
    Topic: TOPICS,
    Interest: st.integers(0, 3).map(TABLE.of_mask),
    Event: st.builds(
        Event, TOPICS, IDS, st.sampled_from(EDGES), st.sampled_from(EDGES), st.binary(max_size=3),
        st.sampled_from([None, Seal(b""), Seal(b"x" * 16)]),
    ),
}  # fmt: skip


def run(scenario: Any) -> None:
    asyncio.run(scenario())


def samples(kind: type[Message], count: int) -> list[Message]:
    """Different ones, the same in every run."""
    made: list[Message] = []

    @settings(
        max_examples=count, derandomize=True, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(values_of(kind, NONSENSE))
    def collect(sample: Message) -> None:
        made.append(sample)

    collect()
    return made


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_message_with_values_that_make_no_sense(overlay: str) -> None:
    async def scenario() -> None:
        async with arena(overlay) as ring:
            attacker = await ring.member()
            for kind in OVERLAYS[overlay].messages:
                for sample in samples(kind, 30):
                    if attacker.closed.is_set():
                        attacker = await ring.member()
                    attacker.send(sample)
                await asyncio.sleep(0)
            await attacker.drain()
            await asyncio.sleep(0.3)  # some seconds of the overlay
            assert ring.delivered() == []
            await ring.check()

    run(scenario)


BAD_BODIES = {
    "nothing": b"",
    "no array": b"\xc0",
    "an array that is too short": b"\xdd\x00\x00\x00\x05",
    "an array without end": b"\xdd\xff\xff\xff\xff",
    "a small array": b"\x90",
    "numbers": b"\xdd\x00\x00\x00\x02\x01\x02",
    "an unknown message": b"\xdd\x00\x00\x00\x01" + msgspec.msgpack.encode(["nonsense", 1]),
    "a message of another overlay": b"\xdd\x00\x00\x00\x01"
    + msgspec.msgpack.encode(["news", [], []]),
    "a bad string": b"\xdd\x00\x00\x00\x01\x92\xa5prune\xa1\xff",
    "too deep": b"\xdd\x00\x00\x00\x01" + b"\x91" * 100_000,
    "large and many": b"\xdd\x00\x04\x00\x00" + b"\x91\xaaring-leave" * (1 << 18),
}


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES.keys())
def test_frames_of_messages_that_cannot_be_read(body: bytes) -> None:
    async def scenario() -> None:
        async with arena() as ring:
            attacker = await ring.member()
            for _ in range(TRIES):
                attacker.frame(MESSAGES, body)
            await attacker.is_cut_off()
            assert ring.counters.bad_frames == CUT_OFF + 1
            await ring.check()

    run(scenario)


@pytest.mark.parametrize("body", [b"", b"\xc0", b"\x91\xa5hello", b"\x91" * 1000, b"\xff" * 50])
@pytest.mark.parametrize("kind", [CONTROL, 2, 255])
def test_other_frames_that_cannot_be_read(kind: int, body: bytes) -> None:
    async def scenario() -> None:
        async with arena() as ring:
            attacker = await ring.member()
            for _ in range(TRIES):
                attacker.frame(kind, body)
            await attacker.is_cut_off()
            assert ring.counters.bad_frames == (CUT_OFF + 1 if kind == CONTROL else 1)
            await ring.check()

    run(scenario)


def test_a_frame_that_stops_in_the_middle() -> None:
    async def scenario() -> None:
        async with arena(dead_s=0.5, idle_s=0.5) as ring:
            attacker = await ring.member()
            attacker.raw((1 * MB).to_bytes(4, "big") + b"\1\xdd" + bytes(1000))
            await attacker.is_cut_off()
            gone = await ring.member()
            gone.raw((1 * MB).to_bytes(4, "big") + b"\1\xdd" + bytes(1000))
            gone.writer.transport.abort()
            await ring.check()

    run(scenario)


def test_a_guest_that_answers_when_asked_is_not_cut_off() -> None:
    """No link, and it has nothing to say; but it is alive."""

    async def scenario() -> None:
        async with arena(ping_s=0.2, dead_s=1.5) as ring:
            guest = await ring.member()
            answered = 0
            for _ in range(80):
                assert not guest.closed.is_set()
                for _ in range(sum(isinstance(m, Ping) for m in guest.heard) - answered):
                    guest.control(Pong())
                    answered += 1
                await asyncio.sleep(0.05)
            assert answered > 1
            await ring.check()

    run(scenario)


def test_many_frames_that_do_not_end(monkeypatch: Any) -> None:
    monkeypatch.setattr(peers, "UNREAD_MAX", 10 * MB)

    async def scenario() -> None:
        async with arena(dead_s=60.0, idle_s=60.0) as ring:
            for _ in range(8):
                attacker = await ring.member()
                attacker.raw((4 * MB).to_bytes(4, "big") + b"\1\xdd" + bytes(3 * MB))
                await attacker.drain()
            await until(lambda: sum(a.closed.is_set() for a in ring.attackers) >= 5)
            await until(lambda: sum(c.unread for c in ring.victim.host.peers._all) <= 10 * MB)
            await ring.check()
            assert ring.victim.neighbours() == [ring.friend.id]

    run(scenario)


# -- topics


def interest_message(overlay: str, sender: NodeId, names: list[str]) -> bytes:
    if overlay == "vitis":
        return msgspec.msgpack.encode(["profile", True, [sender, names, 1], []])
    return msgspec.msgpack.encode(["connect", 0, 0, 0, names])


@pytest.mark.parametrize("overlay", ["spidercast", "vitis"])
def test_interests_without_measure(overlay: str) -> None:
    async def scenario() -> None:
        async with arena(overlay, **PATIENT) as ring:
            attacker = await ring.member()
            for _ in range(TRIES):
                names = [f"topic {n}" for n in range(100_000)]
                attacker.send_encoded([interest_message(overlay, attacker.me, names)])
            await attacker.is_cut_off()
            assert ring.counters.bad_frames == CUT_OFF + 1
            assert len(ring.victim.host.topics) < 20
            await ring.check()

    run(scenario)


@pytest.mark.parametrize("overlay", ["spidercast", "vitis"])
def test_the_table_of_topics_is_filled(overlay: str) -> None:
    """Then strangers' topics are left out, and those of the nodes themselves work on."""

    async def scenario() -> None:
        async with arena(overlay, topics_max=400, topics_of_peer=100) as ring:
            for who in range(8):
                attacker = await ring.member()
                for batch in range(5):
                    names = [f"topic {who} {batch} {n}" for n in range(100)]
                    attacker.send_encoded(
                        [interest_message(overlay, attacker.me, ["news", *names])]
                    )
                    await attacker.drain()
            await until(lambda: len(ring.victim.host.topics) >= 100)
            await asyncio.sleep(0.1)
            assert len(ring.victim.host.topics) <= 400
            assert not any(attacker.closed.is_set() for attacker in ring.attackers)
            for node in (ring.victim, ring.friend):
                await node.subscribe("quite new")
            reader = await ring.friend.subscribe("quite new")
            await ring.check()
            await ring.victim.publish("quite new", b"heard")
            assert (await reader.next(20)).payload == b"heard"

    run(scenario)


# -- SpiderCast


def test_tasks_that_do_not_exist_and_nodes_that_nobody_knows() -> None:
    async def scenario() -> None:
        async with arena() as ring:
            attacker = await ring.member()
            interest = attacker.table.interest(["news"])
            for task in (-(2**63), -1, 2, 99, 2**63):
                attacker.send(
                    Connect(task, 0, 0, interest), ConnectOk(task, 0, 0, interest), Disconnect(task)
                )
            for n in range(300):
                attacker.send(Redirect(0, NodeId(1000 + n), interest))
            strangers = [Descriptor(NodeId(5000 + n), interest, 1) for n in range(1000)]
            attacker.send(Shuffle(tuple(strangers), (0,) * 1000))
            attacker.send(Heartbeat((), interest))
            await asyncio.sleep(0.5)
            await ring.check()
            assert attacker.closed.is_set() is False
            view = ring.victim.host.overlay.membership.cyclon._view  # type: ignore[attr-defined]
            assert len(view) <= 200

    run(scenario)


# -- Vitis


def test_proposals_and_relay_requests_for_thousands_of_topics() -> None:
    async def scenario() -> None:
        async with arena("vitis") as ring:
            attacker = await ring.member()
            interest = attacker.table.interest(["news"])
            attacker.send(Profile(True, Descriptor(attacker.me, interest, 1), ()))
            with Growth() as growth:
                for batch in range(20):
                    names = [f"topic {batch} {n}" for n in range(2000)]
                    proposals = [Proposal(name, attacker.me, attacker.me, 0) for name in names]
                    attacker.send(Profile(True, None, tuple(proposals)))
                    attacker.send(Relay(tuple(names)))
                    await attacker.drain()
                await asyncio.sleep(0.3)
                await ring.check()
            assert growth.bytes < 40 * MB
            overlay: Any = ring.victim.host.overlay
            assert len(overlay.relays.branches) <= 8200
            assert len(overlay.table.peers[attacker.me].proposals) <= 1
            await attacker.close()
            await until(lambda: len(overlay.relays.branches) < 10)

    run(scenario)


def test_nobody_speaks_for_our_neighbour() -> None:
    async def scenario() -> None:
        async with arena("vitis") as ring:
            attacker = await ring.member()
            nothing = attacker.table.interest(["other"])
            for node in (ring.victim, ring.friend):
                lie = Descriptor(node.host.me, nothing, 2**62)
                attacker.send(Exchange((lie,), (0,)))
                speaker = await Attacker(ring.friend.address, "vitis").shake_hands()
                ring.attackers.append(speaker)
                speaker.send(Exchange((lie,), (0,)))
            await asyncio.sleep(0.3)
            await ring.check()
            assert ring.victim.neighbours().count(ring.friend.id) == 1

    run(scenario)


def test_neighbours_that_do_not_exist() -> None:
    """A table full of them is empty a moment later; the honest link is found again."""

    async def scenario() -> None:
        async with arena("vitis") as ring:
            attacker = await ring.member()
            interest = attacker.table.interest(["news"])
            for batch in range(30):
                strangers = [
                    Descriptor(NodeId(10_000 + 100 * batch + n), interest, 1) for n in range(50)
                ]
                attacker.send(Exchange(tuple(strangers), (0,) * 50))
                await asyncio.sleep(0.01)
            await ring.check()
            await until(lambda: len(list(ring.victim.host.peers)) < 10)
            assert ring.counters.dials_failed == 0, "nobody knows where they are"

    run(scenario)
