"""Attacks by sending, or by not reading, more than anybody needs."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.messages import Exchange, News, Notice, Pull, Pulled, Shuffle
from orbweaver.gossip.plumtree.messages import Gone, Graft, IHave, Newest, Prune, Push
from orbweaver.net.gate import gate
from orbweaver.net.peers.outqueue import UPKEEP_MAX
from orbweaver.net.wire.frames import Ping, Seals, control_frame, messages_header
from orbweaver.overlays.spidercast.messages import Connect, Heartbeat, Redirect
from orbweaver.overlays.vitis.messages import Profile
from tests.net.gate.arena import MB, Arena, Growth, arena
from tests.net.gate.hostile import Attacker, make_seal, name_seal
from tests.net.live import until

SECONDS = 0.7


def run(scenario: Any) -> None:
    asyncio.run(scenario())


def frame(attacker: Attacker, messages: list[Message]) -> bytes:
    bodies = [attacker.codec.encode(message) for message in messages]
    return messages_header(len(bodies), sum(map(len, bodies))) + b"".join(bodies)


async def survives(
    ring: Arena, attacker: Attacker, chunks: Iterator[bytes], growth_max: int = 40 * MB
) -> None:
    """While they come, honest events go their way; afterwards, too, and nothing is left."""
    with Growth() as growth:
        flooding = asyncio.create_task(attacker.flood(chunks, SECONDS))
        while not flooding.done():
            await ring.exchange()  # on a busy machine: the attacker shares our processor
            await asyncio.sleep(0.01)
        assert flooding.result() > 0
        await ring.check()
    assert growth.bytes < growth_max, f"{growth.bytes / MB:.0f} MB"


def upkeep(attacker: Attacker, kind: str) -> list[Message]:
    interest = attacker.table.interest(["news"])
    entries = [Descriptor(NodeId(n), interest, 1) for n in range(100)]
    made: dict[str, Message] = {
        "small shuffles": Shuffle((), ()),
        "large shuffles": Shuffle(tuple(entries * 3), (0,) * 300),
        "heartbeats": Heartbeat((), None),
        "connects": Connect(0, 0, 0, interest),
        "redirects": Redirect(0, NodeId(5), interest),
        "news": News((), ()),
        "much news": News(tuple(entries), (0,) * 100),
        "exchanges": Exchange(tuple(entries), (0,) * 100),
        "profiles": Profile(False, None, ()),
    }
    message = made[kind]
    return [message] * max(1, 100_000 // len(attacker.codec.encode(message)))


@pytest.mark.parametrize(
    ("overlay", "kind"),
    [
        *(("spidercast", kind) for kind in ("small shuffles", "large shuffles", "heartbeats",
                                            "connects", "redirects")),
        *(("vitis", kind) for kind in ("news", "much news", "exchanges", "profiles")),
    ],
)  # fmt: skip
def test_a_flood_of_upkeep(overlay: str, kind: str) -> None:
    async def scenario() -> None:
        # Little is allowed, so that a slow machine is too fast soon; and honest nodes say little.
        async with arena(overlay, tempo=2.0, upkeep_per_s=50.0) as ring:
            attacker = await ring.member()
            chunk = frame(attacker, upkeep(attacker, kind))
            await survives(ring, attacker, itertools.repeat(chunk))
            async with asyncio.timeout(60):
                while not ring.counters.flooded + ring.counters.bad_messages:
                    if attacker.closed.is_set():
                        attacker = await ring.member()
                    await attacker.flood(itertools.repeat(chunk), SECONDS)
            await ring.check()
            for peer in ring.victim.host.peers:
                assert len(peer.queue.control) <= UPKEEP_MAX

    run(scenario)


def test_upkeep_is_charged_by_the_processor_time_that_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        async with arena() as ring:
            attacker, known = await ring.member(), ring.victim.host.peers.known
            await until(lambda: known(attacker.me) is not None)
            connection = known(attacker.me).connection  # type: ignore[union-attr]
            clock = itertools.count(0.0, 0.5)
            with monkeypatch.context() as slow:
                slow.setattr(gate, "thread_time", lambda: next(clock))
                attacker.send(*[Heartbeat((), None)] * 4)  # far fewer than may come in a second
                await until(lambda: connection._rest_until > 0)  # type: ignore[union-attr]

    run(scenario)


def repair(attacker: Attacker, kind: str, victim: NodeId) -> Iterator[list[Message]]:
    """Different ones each time."""
    for n in itertools.count():
        streams = [(NodeId(n), 1000 * n + k, "news") for k in range(200)]
        if kind == "announcements":
            yield [IHave(tuple(Newest(stream, 1000, 0) for stream in streams))]
        elif kind == "prunes":
            yield [Prune(f"topic {n} {k}") for k in range(500)]
        elif kind == "grafts":
            own = (victim, 0, "news")
            yield [Graft(own, tuple(range(k, k + 50)), 2**62) for k in range(50)]
        elif kind == "gone":
            yield [Gone(stream, 2**62) for stream in streams]
        elif kind == "notices":
            yield [Notice((*stream, 0)) for stream in streams]
        elif kind == "pulls":
            yield [Pull((*stream, 0)) for stream in streams]


@pytest.mark.parametrize(
    ("overlay", "kind"),
    [
        ("spidercast", "announcements"), ("spidercast", "prunes"), ("spidercast", "grafts"),
        ("spidercast", "gone"), ("vitis", "notices"), ("vitis", "pulls"),
    ],
)  # fmt: skip
def test_a_flood_about_events_that_there_are_not(overlay: str, kind: str) -> None:
    async def scenario() -> None:
        async with arena(overlay) as ring:
            attacker = await ring.member()
            if overlay == "spidercast":
                attacker.send(Connect(0, 0, 0, attacker.table.interest(["news"])))
            made = repair(attacker, kind, ring.victim.host.me)
            chunks = (frame(attacker, messages) for messages in made)
            await survives(ring, attacker, chunks, 60 * MB)

    run(scenario)


@pytest.mark.parametrize("overlay", ["spidercast", "vitis"])
@pytest.mark.parametrize("spread", ["one topic", "many topics", "many streams", "gaps"])
def test_a_flood_of_genuine_events(overlay: str, spread: str) -> None:
    def chunks(attacker: Attacker) -> Iterator[bytes]:
        for n in itertools.count():
            events = [
                attacker.event(
                    (2 if spread == "gaps" else 1) * (50 * n + k) if "streams" not in spread else 0,
                    f"topic {50 * n + k}" if spread == "many topics" else "news",
                    bytes(1000),
                    epoch=50 * n + k if spread == "many streams" else 7,
                )
                for k in range(50)
            ]
            seal = make_seal(attacker.identity, events)
            for event in events:
                name_seal(event, seal)
            if overlay == "vitis":
                messages: list[Message] = [
                    Notice((e.publisher, e.epoch, e.topic, e.seq)) for e in events
                ]
                messages += [Pulled(event, 1, 0) for event in events]
            else:
                messages = [Push(event, 1, 0) for event in events]
            yield control_frame(Seals((seal,))) + frame(attacker, messages)

    async def scenario() -> None:
        # Not ten times as fast as usual, or what is said again each cycle fills the queues.
        async with arena(overlay, tempo=2.0, queue_messages=20_000) as ring:
            attacker = await ring.member()
            await survives(ring, attacker, chunks(attacker), 120 * MB)
            assert ring.victim._log.sizes()["events"] <= 200 * ring.victim._log.sizes()["topics"]

    run(scenario)


def test_a_flood_of_pings_that_nobody_reads_the_answers_of() -> None:
    async def scenario() -> None:
        async with arena() as ring:
            attacker = await ring.member()
            await attacker.stop_reading()
            await survives(ring, attacker, itertools.repeat(control_frame(Ping()) * 5000))
            assert ring.counters.flooded > 0

    run(scenario)


def join_as_neighbour(attacker: Attacker, payload: str = "news") -> None:
    interest = attacker.table.interest([payload])
    if attacker.overlay == "vitis":
        attacker.send(Profile(True, Descriptor(attacker.me, interest, 1), ()))
    else:
        attacker.send(Connect(0, 0, 0, interest))


@pytest.mark.parametrize("overlay", ["spidercast", "vitis"])
def test_a_neighbour_that_does_not_read(overlay: str) -> None:
    """Its queue is bounded, it is cut off, and neither publishing nor the others wait for it."""

    async def scenario() -> None:
        async with arena(overlay, queue_bytes=MB, stall_s=3.0) as ring:
            attacker = await ring.member()
            join_as_neighbour(attacker)
            await until(lambda: len(ring.victim.neighbours()) == 2)
            await attacker.stop_reading()
            published, largest = 0, 0
            async with asyncio.timeout(60):
                while "peer does not read" not in [line[1] for line in ring.logs.lines]:
                    attacker.send(*_sign_of_life(attacker, ring, published % 50 == 0))
                    await ring.victim.publish("news", bytes(20_000))
                    published += 1
                    peer = ring.victim.host.peers.known(attacker.me)
                    largest = max(largest, peer.queue.bytes if peer else 0)
                    if published % 20 == 0:
                        await asyncio.sleep(0.01)
            assert published >= 500
            assert MB // 8 < largest <= MB, "what is waited for, and what there is room for"
            await ring.check()
            await until(lambda: ring.victim.host.peers.known(attacker.me) is None)

    run(scenario)


def _sign_of_life(attacker: Attacker, ring: Arena, alive: bool) -> list[Message]:
    """It wants to stay a neighbour, and where events have to be asked for, asks for them."""
    if attacker.overlay == "spidercast":
        return [Heartbeat((), None)] * alive
    known = ring.victim.host.overlay.notices._known  # type: ignore[attr-defined]
    return [*[Profile(True, None, ())] * alive, *map(Pull, list(known)[-5:])]
