"""Catching up where a node has changed since: its life, or its mind."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from orbweaver.net.events import catchup
from orbweaver.net.events.seen import has
from orbweaver.net.keys.identity import Identity
from orbweaver.net.wire.connection import Connection
from orbweaver.net.wire.frames import Answer, Ask
from tests.net.live import make_node, nodes, until

LASTING = {"window_s": 1e6, "replay_s": 1e6}
"""No event grows too old for a window, however long a busy machine takes."""


def test_a_node_is_not_given_what_it_published_in_an_earlier_life(tmp_path: Path) -> None:
    """It had no time to write it down, but others have it."""
    key = tmp_path / "node.key"
    Identity.generate().save(key)

    async def scenario() -> None:
        async with make_node() as stays:
            theirs = await stays.subscribe("news")
            async with make_node(key=str(key), join=[stays.address]) as node:
                await node.publish("news", "mine")
                assert (await theirs.next(20)).payload == b"mine"
            await stays.publish("news", "theirs")
            async with make_node(key=str(key), join=[stays.address]) as node:
                reader = await node.subscribe("news", since=60)
                assert (await reader.next(20)).payload == b"theirs"
                await until(lambda: node.status().log["events"] == 2)
                assert len(reader) == 0

    asyncio.run(scenario())


def test_answers_that_come_after_the_end_of_a_subscription_are_nobodys_fault() -> None:
    async def scenario() -> None:
        async with nodes(2, topics=["other"]) as (publisher, node):
            for n in range(100):
                await publisher.publish("news", str(n))
            came: list[Answer] = []
            on_control = node.host.on_control

            def listen(connection: Connection, message: Ask | Answer) -> None:
                on_control(connection, message)
                if isinstance(message, Answer):
                    came.append(message)
                    assert connection.strikes == 0

            node.host.on_control = listen
            await until(lambda: len(node.host.links()) == 1)
            (peer,) = node.host.links()
            await asyncio.sleep(0.2)  # 2 s of the overlay's: younger events are not given
            publisher._catch_up._answers._answered.clear()  # nor are they to who asked a moment ago
            reader = await node.subscribe("news", since=60)
            node._catch_up.ask(peer)
            reader.close()
            await until(lambda: len(came) == 100)
            assert node.counters.delivered == 0

    asyncio.run(scenario())


def test_who_lacks_much_asks_again_at_once() -> None:
    """Answers are bounded. The next of the questions that come by themselves would be late."""
    size, count = 100_000, 40

    async def scenario() -> None:
        async with make_node(**LASTING) as stays:
            await stays.subscribe("news")
            for _ in range(count):
                await stays.publish("news", bytes(size))
            await asyncio.sleep(0.2)  # younger events are not given
            async with make_node(join=[stays.address], catch_up_s=1e6, **LASTING) as node:
                await node.subscribe("news", since=1e5)
                await until(lambda: node.counters.caught_up == count)

    asyncio.run(scenario())


def test_a_question_that_was_ignored_is_asked_again() -> None:
    """One that comes too early, or while the connection is full, is ignored."""
    size, count, ignored = 100_000, 40, 2

    async def scenario() -> None:
        async with make_node(**LASTING) as stays:
            await stays.subscribe("news")
            for _ in range(count):
                await stays.publish("news", bytes(size))
            answers, questions = stays._catch_up._answers, []
            on_ask = answers.on_ask

            def ignore_the_second(connection: Connection, message: Ask) -> None:
                questions.append(message)
                if len(questions) != ignored:
                    on_ask(connection, message)

            answers.on_ask = ignore_the_second  # type: ignore[method-assign]
            await asyncio.sleep(0.2)  # younger events are not given
            async with make_node(join=[stays.address], catch_up_s=1e6, **LASTING) as node:
                await node.subscribe("news", since=1e5)
                await until(lambda: node.counters.caught_up == count)
            assert len(questions) > ignored

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("flowing_ms", "edges"), [(10**9, (1, 1)), (-1, (1,))], ids=["flowing", "at rest"]
)
def test_what_comes_next_in_a_flowing_stream_is_not_asked_for(
    monkeypatch: pytest.MonkeyPatch, flowing_ms: int, edges: tuple[int, ...]
) -> None:
    """It is on its way, and a neighbour may have got it long before."""
    monkeypatch.setattr(catchup, "FLOWING_MS", flowing_ms)

    async def scenario() -> None:
        async with nodes(2, topics=["news"]) as (publisher, node):
            await publisher.publish("news", "first")
            await until(lambda: node.counters.delivered == 1 and len(node.host.links()) == 1)
            asks: list[Ask] = []
            publisher._catch_up._answers.on_ask = lambda _, ask: asks.append(ask)  # type: ignore[method-assign]
            (peer,) = node.host.links()
            node._catch_up.ask(peer)
            await until(lambda: bool(asks))
            [wanted] = asks[-1].wanted
            assert [position.edges for position in wanted.have] == [edges]
            assert has(edges, 1) == (flowing_ms > 0)

    asyncio.run(scenario())


def test_what_was_there_already_is_no_reason_to_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of what is sent to a node that has lost its memory of streams, but not its window."""

    async def scenario() -> None:
        async with nodes(2, topics=["news"]) as (publisher, node):
            for n in range(100):
                await publisher.publish("news", str(n))
            await until(lambda: node.counters.delivered == 100)
            await asyncio.sleep(0.2)  # 2 s of the overlay's: younger events are not given
            monkeypatch.setattr(node._log, "positions", lambda _: {})
            publisher._catch_up._answers._answered.clear()
            before = node.counters.repeated
            await until(lambda: len(node.host.links()) == 1)
            (peer,) = node.host.links()
            node._catch_up.ask(peer)
            await until(lambda: node.counters.repeated >= before + 100)
            assert node._catch_up._got == {}

    asyncio.run(scenario())
