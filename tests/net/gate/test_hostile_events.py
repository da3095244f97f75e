"""Attacks with events, seals, questions and answers, by somebody who has been let in."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec
import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.gossip import notices
from orbweaver.gossip.messages import Notice, Pulled
from orbweaver.gossip.plumtree.messages import Push, PushRun
from orbweaver.gossip.plumtree.plumtree import Plumtree
from orbweaver.net.events.answers import ASK_S_MIN
from orbweaver.net.gate.rules import AGE_MS_MAX, HOPS_MAX
from orbweaver.net.gate.standing import CUT_OFF
from orbweaver.net.keys.identity import Identity
from orbweaver.net.wire.connection import KEPT_SEALS_MAX
from orbweaver.net.wire.frames import (
    Answer,
    Ask,
    Hello,
    Ping,
    Pong,
    Position,
    Seals,
    Sums,
    WantedTopic,
)
from orbweaver.net.wire.seals import SealBody, SealChecker
from tests.net.gate.arena import MB, PATIENT, Arena, Growth, arena
from tests.net.gate.hostile import Attacker, make_seal, name_seal
from tests.net.live import until

OVERLAYS = ["spidercast", "vitis"]
TRIES = CUT_OFF + 5


def run(scenario: Any) -> None:
    asyncio.run(scenario())


def carry(attacker: Attacker, event: Event, hops: int = 1, age_ms: int = 0) -> None:
    if attacker.overlay == "vitis":
        name = (event.publisher, event.epoch, event.topic, event.seq)
        attacker.send(Notice(name), Pulled(event, hops, age_ms))
    else:
        attacker.send(Push(event, hops, age_ms))


def forge(how: str, attacker: Attacker, ring: Arena, seq: int) -> Event:
    event = attacker.event(seq)
    if how == "no seal":
        return event
    if how == "a seal that was never told":
        return name_seal(event, make_seal(attacker.identity, [event]))
    attacker.seal(event)
    if how == "another payload":
        return msgspec.structs.replace(event, payload=b"changed")
    if how == "another number":
        return msgspec.structs.replace(event, seq=seq + 1000)
    if how == "another topic":
        return msgspec.structs.replace(event, topic="other")
    assert how == "another publisher"
    return msgspec.structs.replace(event, publisher=ring.friend.host.me)


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.parametrize(
    "how",
    ["no seal", "a seal that was never told", "another payload", "another number",
     "another topic", "another publisher"],
)  # fmt: skip
def test_events_that_their_publisher_did_not_sign(overlay: str, how: str) -> None:
    async def scenario() -> None:
        async with arena(overlay, **PATIENT) as ring:
            attacker = await ring.member()
            for seq in range(TRIES):
                carry(attacker, forge(how, attacker, ring, seq))
            await attacker.is_cut_off()
            assert ring.counters.forged == CUT_OFF + 1
            assert ring.delivered() == []
            # It is not let in again soon.
            banned = await ring.attacker(identity=attacker.identity).connect()
            banned.say_hello()
            await banned.wait_for(Hello)
            banned.prove()
            await banned.is_cut_off()
            assert banned.refusals == ["come back later"]
            await ring.check()

    run(scenario)


NUMBERS = {
    "no hops": (0, 0), "hops below 0": (-1, 0), "many hops": (2**63, 0),
    "most hops": (2**64 - 1, 0), "age below 0": (1, -1), "huge age": (1, 2**63),
    "largest age": (1, 2**64 - 1),
}  # fmt: skip


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.parametrize(("hops", "age_ms"), NUMBERS.values(), ids=NUMBERS.keys())
def test_impossible_numbers(overlay: str, hops: int, age_ms: int) -> None:
    async def scenario() -> None:
        async with arena(overlay, **PATIENT) as ring:
            attacker = await ring.member()
            for seq in range(TRIES):
                event = attacker.event(seq)
                attacker.seal(event)
                carry(attacker, event, hops, age_ms)
            await attacker.is_cut_off()
            assert ring.counters.bad_messages == CUT_OFF + 1
            assert ring.delivered() == []
            await ring.check()

    run(scenario)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_names_that_no_event_can_have(overlay: str) -> None:
    """Signed as they should be."""

    async def scenario() -> None:
        async with arena(overlay) as ring:
            for seq, epoch, topic in [
                (-1, 0, "news"), (-(2**63), 0, "news"), (2**64 - 1, 0, "news"),
                (0, 2**64 - 1, "news"), (0, -(2**63), "news"), (2**62, 0, "news"),
                (0, 0, ""), (0, 0, "a//b"), (0, 0, "\0"), (0, 0, "x" * 255), (0, 0, "ü" * 200),
            ]:  # fmt: skip
                attacker = await ring.member()
                for n in range(3):
                    event = Event(topic, attacker.me, epoch, seq, b"evil %d" % n)
                    attacker.seal(event)
                    carry(attacker, event)
            await until(lambda: ring.counters.bad_messages >= 10)
            await ring.check()
            # Numbers within the range of a column are an odd publisher's own affair.
            assert len(ring.delivered()) <= 2

    run(scenario)


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.parametrize(
    ("hops", "age_ms"),
    [(HOPS_MAX, 0), (HOPS_MAX - 1, 0), (1, AGE_MS_MAX), (1, AGE_MS_MAX - 1)],
)
def test_nobody_makes_honest_nodes_blame_each_other(overlay: str, hops: int, age_ms: int) -> None:
    """Numbers that are just within bounds here are beyond them when they are passed on."""

    async def scenario() -> None:
        async with arena(overlay) as ring:
            attacker = await ring.member()
            for seq in range(3 * TRIES):
                event = attacker.event(seq)
                attacker.seal(event)
                carry(attacker, event, hops, age_ms)
            await ring.check()
            await ring.check()
            for node in (ring.victim, ring.friend):
                assert all(p.connection.strikes == 0 for p in node.host.peers if p.connection)
            assert ring.victim.neighbours() == [ring.friend.id]

    run(scenario)


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.parametrize("off_s", [-5000, 5000, -(2**50)])
def test_events_of_another_time(overlay: str, off_s: int) -> None:
    async def scenario() -> None:
        async with arena(overlay, replay_s=60.0, window_s=60.0, **PATIENT) as ring:
            attacker = await ring.member()
            for seq in range(TRIES):
                event = attacker.event(seq)
                attacker.seal(event, time_ms=round(1000 * (time.time() + off_s)))
                carry(attacker, event)
            await attacker.is_cut_off()
            assert ring.counters.replayed == CUT_OFF + 1
            assert ring.delivered() == []
            await ring.check()

    run(scenario)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_same_event_again_and_again(overlay: str) -> None:
    async def scenario() -> None:
        async with arena(overlay) as ring:
            attacker = await ring.member()
            event = attacker.event(0)
            attacker.seal(event)
            for _ in range(500):
                carry(attacker, event)
            other = await ring.member()
            other.control(Seals((make_seal(attacker.identity, [event]),)))
            carry(other, event)
            await ring.check()
            assert ring.delivered() == [b"evil"]

    run(scenario)


def test_seals_that_are_false() -> None:
    async def scenario() -> None:
        async with arena(**PATIENT) as ring:
            good = SealBody(Identity.generate().public_key, 1, bytes(16), bytes(64))
            for body in (
                good,
                msgspec.structs.replace(good, hashes=b""),
                msgspec.structs.replace(good, hashes=bytes(15)),
                msgspec.structs.replace(good, hashes=bytes(16 * 300)),
                msgspec.structs.replace(good, key=b"short"),
                msgspec.structs.replace(good, time_ms=-1),
                b"rubbish", b"", 7,
            ):  # fmt: skip
                data = body if isinstance(body, bytes) else msgspec.msgpack.encode(body)
                attacker = await ring.member()
                for _ in range(TRIES):
                    attacker.control(Seals((data,)))
                await attacker.is_cut_off()
            assert ring.counters.bad_seals == 9 * (CUT_OFF + 1)
            await ring.check()

    run(scenario)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_event_out_of_another_cluster(overlay: str) -> None:
    async def scenario() -> None:
        async with arena(overlay) as ring:
            attacker = await ring.member()
            event = attacker.event(0)
            seal = make_seal(attacker.identity, [event], cluster="test")
            attacker.control(Seals((seal,)))
            carry(attacker, name_seal(event, seal))
            await until(lambda: ring.counters.forged == 1)
            assert ring.counters.bad_seals == 1
            await ring.check()
            assert ring.delivered() == []

    run(scenario)


@pytest.mark.parametrize("how", ["one event is not signed", "more than a run may have"])
def test_false_runs(how: str) -> None:
    async def scenario() -> None:
        async with arena(**PATIENT) as ring:
            attacker = await ring.member()
            for seq in range(0, 300 * TRIES, 300):
                count = 300 if how == "more than a run may have" else 10
                events = [attacker.event(seq + n) for n in range(count)]
                attacker.seal(*events[:9])
                more = tuple(event.payload for event in events[1:])
                attacker.send(PushRun(events[0], 1, 0, more))
            await attacker.is_cut_off()
            assert ring.counters.forged + ring.counters.bad_frames == CUT_OFF + 1
            assert ring.delivered() == []
            await ring.check()

    run(scenario)


def test_thousands_of_genuine_seals() -> None:
    async def scenario() -> None:
        async with arena() as ring:
            attacker = await ring.member()
            seals = [
                make_seal(attacker.identity, [attacker.event(n)], junk=200) for n in range(1500)
            ]
            with Growth() as growth:
                for at in range(0, len(seals), 100):
                    attacker.control(Seals(tuple(seals[at : at + 100])))
                attacker.control(Seals(tuple(seals[:500])))
                await attacker.drain()
                await ring.check()
            [connection] = [c for c in ring.victim.host.peers._all if c.peer == attacker.me]
            assert len(connection.seals) <= KEPT_SEALS_MAX
            assert len(ring.victim.host.gate._checker._checked) <= SealChecker.SEALS_MAX
            assert growth.bytes < 80 * MB

    run(scenario)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_somebody_who_may_not_publish(overlay: str) -> None:
    async def scenario() -> None:
        allowed = Identity.generate()
        settings = {"publishers": {"secret/#": [allowed.public_key.hex()]}}
        async with arena(overlay, **settings) as ring:
            reader = await ring.victim.subscribe("secret/plans")
            attacker, member = await ring.member(), await ring.member(identity=allowed)
            for seq in range(TRIES):
                event = attacker.event(seq, "secret/plans")
                attacker.seal(event)
                carry(attacker, event)
            event = member.event(0, "secret/plans", b"allowed")
            member.seal(event)
            carry(member, event)
            assert (await reader.next(10)).payload == b"allowed"
            assert len(reader) == 0
            await until(lambda: ring.counters.not_allowed == TRIES)
            # Lists may differ while they are being changed: nobody is cut off for it.
            assert not attacker.closed.is_set()
            await ring.check()

    run(scenario)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_nothing_is_given_out_twice_however_many_streams_are_begun(
    overlay: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every memory of what was seen is pushed out by streams with epochs of their own."""
    monkeypatch.setattr(Plumtree, "STREAMS_MAX", 50)
    monkeypatch.setattr(notices, "STREAMS_MAX", 50)
    monkeypatch.setattr(notices, "KNOWN_MAX", 50)

    async def scenario() -> None:
        async with arena(overlay, window_events=20) as ring:
            ring.victim._log._streams_max = 50
            honest = await ring.member()
            events = [honest.event(seq, payload=b"once %d" % seq) for seq in range(20)]
            honest.seal(*events)
            for event in events:
                carry(honest, event)
            await until(lambda: len(ring.at_victim) == 20)
            for _ in range(4):
                attacker = await ring.member()
                many = [attacker.event(0, epoch=1000 + n) for n in range(100)]
                attacker.seal(*many)
                for event in many:
                    carry(attacker, event)
                attacker.control(Ping())
                await attacker.wait_for(Pong)
            assert not ring.victim._log.seen(events[0])
            given_out = len(ring.at_victim)
            for event in events:
                carry(honest, event)
            honest.control(Ping())
            await honest.wait_for(Pong)
            assert len(ring.at_victim) == given_out
            await ring.check()

    run(scenario)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_one_peer_cannot_push_what_others_brought_out_of_the_window(overlay: str) -> None:
    async def scenario() -> None:
        async with arena(overlay, window_events=100) as ring:
            for n in range(30):
                await ring.friend.publish("news", b"honest, and to be kept %d" % n)
            await until(lambda: len(ring.at_victim) == 30)
            for _ in range(3):
                attacker = await ring.member()
                many = [attacker.event(0, epoch=n) for n in range(150)]
                attacker.seal(*many)
                for event in many:
                    carry(attacker, event)
                attacker.control(Ping())
                await attacker.wait_for(Pong)
            assert len(ring.at_victim) == 480
            kept = ring.victim._log.missing_of("news", {}, 1 << 40, 1 << 40, ring.victim.host.now())
            friend = ring.friend.host.me
            # Four peers have a quarter each. In the order of arrival it would have been none.
            assert sum(event.publisher == friend for event, _ in kept) >= 20
            assert 95 <= len(kept) <= 100

    run(scenario)


# -- questions and answers


def huge_ask(kind: str) -> Ask:
    have = tuple(Position(NodeId(n), n, (0, 2**63 - 1, -5)) for n in range(20_000))
    if kind == "one topic, many streams":
        return Ask((WantedTopic("news", 2**63 - 1, have),))
    if kind == "the same topic many times":
        return Ask(tuple(WantedTopic("news", 2**63 - 1, ()) for _ in range(50_000)))
    if kind == "many topics":
        return Ask(tuple(WantedTopic(f"topic {n}", -1, ()) for n in range(50_000)))
    if kind == "sums without end":
        ranges = tuple((n, n + 1) for n in range(20_000))
        return Ask((), -(2**63), tuple(Sums("news", 9**9, ranges, ((1,),) * 20_000) for _ in "ab"))
    if kind == "absurd ranges":
        ranges = ((5, 5), (9, -9), (0, 2**63), (0, 16), (8, 99))
        sums = Sums("news", -1, ranges, ((), (2**64 - 1,), (-1,) * 99, (), ()))
        return Ask((WantedTopic("news", 2**63 - 1, (), ranges),), 2**64 - 1, (sums,))
    assert kind == "absurd edges"
    edges = ((), (-1,), (2**64 - 1, 0, -(2**63)), tuple(range(1000, 0, -1)))
    return Ask((WantedTopic("news", -(2**63), tuple(Position(NodeId(-1), -1, e) for e in edges)),))


@pytest.mark.parametrize(
    "kind",
    [
        "one topic, many streams",
        "the same topic many times",
        "many topics",
        "absurd edges",
        "sums without end",
        "absurd ranges",
    ],
)
def test_questions_without_measure(kind: str) -> None:
    async def scenario() -> None:
        async with arena(window_events=200) as ring:
            for _ in range(100):
                await ring.victim.publish("news", bytes(1000))
            await asyncio.sleep(0.3)  # in overlay time, old enough to be given
            attacker = await ring.member()
            began = time.monotonic()
            for _ in range(30):
                attacker.control(huge_ask(kind))
            await attacker.drain()
            await ring.check()
            answered = 1 + (time.monotonic() - began) / ASK_S_MIN
            answers = [message for message in attacker.heard if isinstance(message, Answer)]
            assert len(answers) <= 110 * min(30, answered)

    run(scenario)


def test_questions_of_somebody_who_does_not_read() -> None:
    async def scenario() -> None:
        async with arena(window_events=200, stall_s=60.0) as ring:
            for _ in range(150):
                await ring.victim.publish("news", bytes(20_000))
            await asyncio.sleep(0.3)
            attacker = await ring.member()
            await attacker.stop_reading()
            with Growth() as growth:
                for _ in range(20):
                    attacker.control(Ask((WantedTopic("news", 2**63 - 1, ()),)))
                    await asyncio.sleep(0.05)
                await ring.check()
            assert growth.bytes < 20 * MB
            [connection] = [c for c in ring.victim.host.peers._all if c.peer == attacker.me]
            assert connection._transport.get_write_buffer_size() < 4 * MB

    run(scenario)


def test_answers_that_nobody_asked_for() -> None:
    async def scenario() -> None:
        async with arena() as ring:
            attacker = await ring.member()
            event = attacker.event(0)
            attacker.seal(event)
            answer = Answer("news", attacker.me, 7, 0, b"evil", event.seal.name, 0)  # type: ignore[union-attr]
            for _ in range(TRIES):
                attacker.control(answer)
            await attacker.is_cut_off()
            assert ring.delivered() == []
            await ring.check()

    run(scenario)


def test_false_answers_of_somebody_who_was_asked() -> None:
    async def scenario() -> None:
        async with arena(**PATIENT) as ring:
            attacker = await ring.member()
            ring.victim._catch_up._asked[attacker.me] = asyncio.get_running_loop().time()
            for n in range(TRIES):
                attacker.control(Answer("news", ring.friend.host.me, 0, n, b"evil", b"", 0))
            await attacker.is_cut_off()
            assert ring.counters.forged == CUT_OFF + 1
            assert ring.delivered() == []
            await ring.check()

    run(scenario)
