"""Ordered readers of live nodes whose events were lost on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Carrier, Event, Message
from orbweaver.net.events.ordering import Ordered
from orbweaver.net.events.readers import ORDER_MS
from orbweaver.net.events.subscription import Subscription
from orbweaver.net.node import NetworkNode
from tests.net.live import TEMPO, nodes, until


def _lose(node: NetworkNode, numbers: Sequence[int]) -> None:
    """From now on this node gets none of the events with these numbers."""
    inside = node.host.gate.inside

    def receive(sender: NodeId, messages: Sequence[Message]) -> None:
        singles = [
            single
            for message in messages
            for single in (message.singles() if isinstance(message, Carrier) else [message])
        ]
        kept = [m for m in singles if not (isinstance(m, Carrier) and m.event.seq in numbers)]
        if kept:
            inside(sender, kept)

    node.host.gate.inside = receive
    node.host.on_control = lambda *_: None  # nor is it answered when it catches up


def test_an_ordered_reader_waits_until_its_node_has_caught_up() -> None:
    """Also when that takes longer than the pauses between events that are merely late."""

    async def scenario() -> None:
        async with nodes(2, topics=["news"], catch_up_s=1e6) as (publisher, node):
            reader = await node.subscribe("news", ordered=True)
            answered = node.host.on_control
            _lose(node, range(1, 4))
            for number in range(5):
                await publisher.publish("news", str(number))
            await until(lambda: node.counters.delivered == 2)
            await asyncio.sleep(3 * ORDER_MS / 1000 / TEMPO)
            assert len(reader) == 1, "there was no time to catch up yet"
            node.host.on_control = answered
            publisher._catch_up._answers._answered.clear()
            node._catch_up.ask(publisher.host.me)
            got = [(await reader.next(20)) for _ in range(5)]
            assert [event.seq for event in got] == [0, 1, 2, 3, 4]
            assert [event.missed for event in got] == [0] * 5
            assert (reader.missed, node.counters.missed) == (0, 0)

    asyncio.run(scenario())


def test_an_ordered_reader_is_told_what_it_missed_when_no_window_has_it() -> None:
    async def scenario() -> None:
        async with nodes(2, topics=["news"], catch_up_s=1e6, window_s=20.0) as (publisher, node):
            reader = await node.subscribe("news", ordered=True)
            _lose(node, range(1, 4))
            for number in range(6):
                await publisher.publish("news", str(number))
            got = [(await reader.next(20)) for _ in range(3)]
            assert [(event.seq, event.missed) for event in got] == [(0, 0), (4, 3), (5, 0)]
            assert (reader.missed, node.counters.missed) == (3, 3)

    asyncio.run(scenario())


def test_a_gap_before_an_event_that_is_lost_itself_is_told_with_the_next() -> None:
    """The buffer has room for two: of 0, 3, 4 and 5 the first two go, and the gap between them."""

    async def scenario() -> None:
        told: list[int] = []
        order = Ordered(wait_ms=10)
        reader = Subscription("t", 2, order, lambda _: None, told.append)
        reader.offer([Carrier(Event("t", NodeId(1), 0, seq), 1, 0) for seq in (0, 3, 4, 5)], 0)
        reader.expire(10)
        got = [await reader.next(1), await reader.next(1)]
        assert [(event.seq, event.missed) for event in got] == [(4, 4), (5, 0)]
        assert reader.missed == sum(told) == 4

    asyncio.run(scenario())
