"""Attacks by taking more than a share: of time, of memory, of the patience with faults."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message
from orbweaver.gossip.plumtree.messages import Push
from orbweaver.net.gate import turns
from orbweaver.net.gate.standing import ADDRESS_REFUSED, CUT_OFF
from orbweaver.net.keys.identity import Identity
from orbweaver.net.wire import connection as connections
from orbweaver.net.wire.connection import CONTROL_BYTES_MAX, Connection
from orbweaver.net.wire.frames import Ask, Hello, Ping, Pong, Position, WantedTopic, control_frame
from orbweaver.overlays.spidercast.messages import Heartbeat
from tests.net.gate.arena import PATIENT, Arena, arena
from tests.net.gate.hostile import Attacker
from tests.net.live import until

SOMEWHERE, ELSEWHERE = "127.0.0.77", "127.0.0.78"


def run(scenario: Any) -> None:
    asyncio.run(scenario())


async def connection_of(ring: Arena, attacker: Attacker) -> Connection:
    """The victim's end."""
    known = ring.victim.host.peers.known
    await until(lambda: known(attacker.me) is not None)
    found = known(attacker.me).connection  # type: ignore[union-attr]
    assert found is not None
    return found


def large_ask(size: int) -> Ask:
    """A question of about so many bytes."""
    have = tuple(Position(NodeId(2**62 + n), 2**40, (0, 5)) for n in range(size // 22))
    return Ask((WantedTopic("news", 2**40, have),))


async def heard(attacker: Attacker) -> None:
    """Wait until the node has handled what the attacker sent."""
    attacker.control(Ping())
    await attacker.wait_for(Pong)


def test_a_huge_question_is_not_even_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[int] = []
    read = connections.read_control

    def note(body: memoryview) -> Any:
        decoded.append(len(body))
        return read(body)

    async def scenario() -> None:
        async with arena(**PATIENT) as ring:
            attacker = await ring.member()
            monkeypatch.setattr(connections, "read_control", note)
            data = control_frame(large_ask(3_900_000))
            assert 3_500_000 < len(data) < ring.victim.settings.frame_bytes_max
            attacker.raw(data)
            await until(lambda: ring.counters.bad_frames == 1)
            assert max(decoded, default=0) <= CONTROL_BYTES_MAX
            await ring.check()

    run(scenario)


def test_a_question_is_charged_by_its_size() -> None:
    async def scenario() -> None:
        async with arena(upkeep_per_s=30.0, tempo=2.0, **PATIENT) as ring:
            small, large = await ring.member(), await ring.member()
            for attacker, size in ((small, 100), (large, 900_000)):
                attacker.control(large_ask(size))
            resting = await connection_of(ring, large)
            await until(lambda: resting._rest_until > 0)
            await heard(small)
            assert (await connection_of(ring, small))._rest_until == 0
            await ring.check()

    run(scenario)


def test_a_question_is_charged_by_the_time_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small one that takes long; the clock of the thread goes on by 10 s at each look."""
    clock = itertools.count(0, 10)

    async def scenario() -> None:
        async with arena(**PATIENT) as ring:
            attacker = await ring.member()
            resting = await connection_of(ring, attacker)
            assert resting._rest_until == 0
            monkeypatch.setattr(connections, "thread_time", lambda: float(next(clock)))
            attacker.control(large_ask(100))
            await until(lambda: resting._rest_until > 0)

    run(scenario)


def test_a_new_connection_brings_no_new_allowance() -> None:
    async def scenario() -> None:
        async with arena(**PATIENT) as ring:
            identity, standings = Identity.generate(), []
            for source in (SOMEWHERE, ELSEWHERE):
                attacker = ring.attacker(identity=identity, source=source)
                await attacker.shake_hands()
                standings.append((await connection_of(ring, attacker)).standing)
                await attacker.close()
                await until(lambda: ring.victim.host.peers.known(identity.node) is None)
            assert standings[0] is standings[1]
            await ring.check()

    run(scenario)


def test_a_peer_that_goes_on_sending_too_much_is_cut_off_and_refused() -> None:
    """Each of its messages is sound."""

    async def scenario() -> None:
        async with arena(upkeep_per_s=30.0, tempo=2.0, **PATIENT) as ring:
            attacker = await ring.member()
            attacker.send(*[Heartbeat((), None)] * 1000)
            await attacker.is_cut_off()
            assert ring.counters.bad_messages == 0
            assert "more messages" in attacker.refusals[0]
            again = await ring.attacker(identity=attacker.identity).connect()
            again.say_hello()
            await again.wait_for(Hello)
            again.prove()
            await again.is_cut_off()
            assert again.refusals == ["come back later"]
            await ring.check()

    run(scenario)


def test_an_address_that_sends_bad_peers_is_refused() -> None:
    async def scenario() -> None:
        async with arena(**PATIENT) as ring:
            for _ in range(1 + ADDRESS_REFUSED // (CUT_OFF + 1)):
                attacker = await ring.attacker(source=SOMEWHERE).shake_hands()
                for _ in range(CUT_OFF + 1):
                    attacker.frame(1, b"\xc0")
                await attacker.is_cut_off()
            stranger = await ring.attacker(source=SOMEWHERE).connect()
            stranger.say_hello()
            await stranger.wait_for(Hello)
            stranger.prove()
            await stranger.is_cut_off()
            assert stranger.refusals == ["come back later"]
            await ring.attacker(source=ELSEWHERE).shake_hands()
            await ring.check()

    run(scenario)


class Slow:
    """A clock on which each event takes a millisecond, and nothing else takes any time."""

    def __init__(self, ring: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.events: list[NodeId] = []
        """The publishers of the events that were let in."""
        self._inside: Callable[[NodeId, Sequence[Message]], None] = ring.victim.host.gate.inside
        ring.victim.host.gate.inside = self._take
        monkeypatch.setattr(turns, "perf_counter", lambda: self.now)
        monkeypatch.setattr(connections, "perf_counter", lambda: self.now)

    def _take(self, sender: NodeId, messages: Sequence[Message]) -> None:
        if messages[0].carries:
            self.now += 0.001 * len(messages)
            self.events += [sender] * len(messages)
        self._inside(sender, messages)


def frames_of_events(attacker: Attacker, frames: int, each: int) -> bytes:
    """What an attacker sends, ready to be written at once."""
    written: list[bytes] = []
    real, attacker.raw = attacker.raw, written.append  # type: ignore[method-assign]
    for n in range(frames):
        events = [attacker.event(n * each + k) for k in range(each)]
        attacker.seal(*events)
        attacker.send(*[Push(event, 1, 0) for event in events])
    attacker.raw = real  # type: ignore[method-assign]
    return b"".join(written)


def test_many_ids_at_one_address_do_not_keep_others_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        async with arena(queue_messages=1 << 16, **PATIENT) as ring:  # none is crowded
            clock = Slow(ring, monkeypatch)
            crowd = [await ring.attacker(source=SOMEWHERE).shake_hands() for _ in range(5)]
            honest = await ring.attacker(source=ELSEWHERE).shake_hands()
            data = [frames_of_events(each, 10, 10) for each in (*crowd, honest)]
            for each in (*crowd, honest):
                await connection_of(ring, each)
            for each, sent in zip((*crowd, honest), data, strict=True):
                each.raw(sent)  # all of it has come when the loop next looks
            await until(lambda: len(clock.events) == 600)
            before = len(clock.events[: clock.events.index(honest.me)])
            last = max(n for n, sender in enumerate(clock.events) if sender == honest.me)
            # One frame of theirs before each of its own; without turns, all 500 events.
            assert before <= 20
            assert last <= 100 + 110
            await ring.check()

    run(scenario)


def test_only_the_heaviest_has_to_wait_when_queues_are_crowded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One peer that sends nine thousand events must not slow down another that sends few."""

    async def scenario() -> None:
        async with arena(**PATIENT) as ring:
            Slow(ring, monkeypatch)
            heavy = await ring.attacker(source=SOMEWHERE).shake_hands()
            light = await ring.attacker(source=ELSEWHERE).shake_hands()
            ends = [await connection_of(ring, each) for each in (heavy, light)]
            heavy.raw(frames_of_events(heavy, 9, 100))
            await until(lambda: ring.counters.messages_in > 900)
            monkeypatch.setattr(ring.victim.host.outgoing, "fullness", lambda: 1.0)
            heavy.raw(frames_of_events(heavy, 1, 1))
            light.raw(frames_of_events(light, 9, 10))
            await until(lambda: ends[0]._rest_until > 0)
            await heard(light)
            assert ends[1]._rest_until == 0

    run(scenario)
