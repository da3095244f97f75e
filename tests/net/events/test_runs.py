"""Runs, from publishing to reading."""

from __future__ import annotations

import asyncio

import pytest

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import RUN_EVENTS_MAX, Carrier, Event
from orbweaver.gossip.plumtree.messages import Push, PushRun
from orbweaver.net.events.runs import RUN_BYTES_MAX
from orbweaver.net.events.subscription import Subscription
from orbweaver.net.node import NetworkNode
from tests.net.live import make_node, nodes, until


def carried(node: NetworkNode) -> list[Push]:
    """What the node sends that carries events, from now on."""
    found: list[Push] = []
    send = node.host.send

    def watch(to: NodeId, message: Push) -> None:
        if message.carries:
            found.append(message)
        send(to, message)

    node.host.send = watch  # type: ignore[assignment]
    return found


@pytest.mark.parametrize("sign", [True, False])
def test_what_is_published_in_a_tick_travels_together(sign: bool) -> None:
    async def scenario() -> None:
        async with nodes(2, topics=["news"], sign=sign) as (one, two):
            reader = await two.subscribe("news")
            await one.publish("news", "first")
            await until(lambda: len(reader) == 1)
            found = carried(one)
            receipts = [await one.publish("news", f"{n}") for n in range(3)]
            receipts += await one.publish_many("news", ["3", b"4"])
            assert not found, "the tick is not over"
            await until(lambda: len(reader) == 6)
            [run] = found
            assert (type(run), run.count) == (PushRun, 5)
            got = [await reader.next(1) for _ in range(6)][1:]
            assert [event.payload for event in got] == [b"%d" % n for n in range(5)]
            assert [(e.publisher, e.epoch, e.topic, e.seq) for e in got] == [
                receipt.event for receipt in receipts
            ]
            assert [receipt.neighbours for receipt in receipts] == [1] * 5
            assert (two.counters.delivered, two.counters.repeated) == (6, 0)

    asyncio.run(scenario())


def test_an_overlay_without_runs_gets_single_events() -> None:
    async def scenario() -> None:
        async with nodes(2, "vitis", topics=["news"]) as (one, two):
            reader = await two.subscribe("news")
            receipts = [await one.publish("news", f"{n}") for n in range(20)]
            got = {(await reader.next(20)).seq for _ in receipts}
            assert got == {receipt.event[3] for receipt in receipts}

    asyncio.run(scenario())


def test_a_run_is_closed_when_it_is_full() -> None:
    async def scenario() -> None:
        async with nodes(2, topics=["news"]) as (one, _):
            found = carried(one)
            for _ in range(RUN_EVENTS_MAX + 1):
                one._publish("news", b"x")
            for _ in range(3):
                one._publish("news", bytes(RUN_BYTES_MAX // 2))
            assert [run.count for run in found] == [RUN_EVENTS_MAX, 3]
            await asyncio.sleep(0)
            assert [run.count for run in found] == [RUN_EVENTS_MAX, 3, 1]

    asyncio.run(scenario())


def test_topics_of_one_tick_share_a_seal() -> None:
    async def scenario() -> None:
        async with make_node() as node:
            for topic in ("a", "b"):
                await node.publish_many(topic, ["1", "2"])
            await asyncio.sleep(0)
            kept = [
                event
                for topic in ("a", "b")
                for event, _ in node._log.missing_of(topic, {}, 1 << 40, 1 << 40, node.host.now())
            ]
            assert len(kept) == 4
            [seal] = {event.seal for event in kept}
            assert all(seal.covers(event) for event in kept)  # type: ignore[union-attr]

    asyncio.run(scenario())


def test_what_is_published_just_before_the_node_stops_leaves_too() -> None:
    async def scenario() -> None:
        async with nodes(2, topics=["news"]) as (one, two):
            reader = await two.subscribe("news")
            await one.publish("news", "first")
            await until(lambda: len(reader) == 1)
            await one.publish("news", "last")
            await one.stop()
            assert [(await reader.next(20)).payload for _ in "ab"] == [b"first", b"last"]

    asyncio.run(scenario())


# -- readers


def reader(buffer: int = 100) -> Subscription:
    return Subscription("t", buffer, None, lambda _: None, lambda missed: None)


def run(first: int, count: int) -> Carrier:
    payloads = tuple(b"%d" % seq for seq in range(first, first + count))
    return PushRun(Event("t", NodeId(1), 0, first, payloads[0]), 3, 0, payloads[1:])


def test_batches_are_what_came_together() -> None:
    async def scenario() -> None:
        subscription = reader()
        subscription.offer([run(0, 3), run(3, 1), run(4, 2)], 0)
        assert (await subscription.next()).seq == 0
        subscription.end()
        found = [[event.seq for event in batch] async for batch in subscription.batches()]
        assert found == [[1, 2], [3], [4, 5]]
        assert len(subscription) == 0

    asyncio.run(scenario())


def test_batches_wait_for_events_and_end_with_the_subscription() -> None:
    async def scenario() -> None:
        subscription = reader()

        async def read() -> list[int]:
            return [e.seq async for batch in subscription.batches() for e in batch]

        reading = asyncio.create_task(read())
        await asyncio.sleep(0)
        with pytest.raises(UsageError, match="one reader"):
            await subscription.next(1)
        subscription.offer([run(0, 3)], 0)
        await asyncio.sleep(0)
        subscription.close()
        assert await reading == [0, 1, 2]

    asyncio.run(scenario())


@pytest.mark.parametrize("read", [0, 1, 3])
def test_a_slow_reader_loses_the_oldest_events_of_a_run(read: int) -> None:
    async def scenario() -> None:
        subscription = reader(buffer=4)
        subscription.offer([run(0, 4)], 0)
        for _ in range(read):
            await subscription.next()
        subscription.offer([run(4, 6)], 0)
        assert len(subscription) == 4
        got = [await subscription.next() for _ in range(4)]
        assert [(event.seq, event.missed) for event in got] == [
            (6, 6 - read), (7, 0), (8, 0), (9, 0)
        ]  # fmt: skip
        assert subscription.missed == 6 - read
        assert subscription._bytes == 0

    asyncio.run(scenario())
