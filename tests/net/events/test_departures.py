"""Draining: when everything that was published has left the node."""

import asyncio
import contextlib

import pytest

from orbweaver.core.errors import NotDrained
from tests.net.live import make_node, until

TOPICS = ("one", "two", "three")


@pytest.mark.parametrize("overlay", ["spidercast", "vitis"])
def test_what_was_published_before_there_were_links_is_drained_too(overlay):
    async def scenario():
        async with (
            make_node(overlay) as hub,
            make_node(overlay, join=[hub.address]) as node,
        ):
            readers = [await node.subscribe(topic) for topic in TOPICS]
            async with make_node(overlay, join=[hub.address]) as publisher:
                for n in range(300):
                    for topic in TOPICS:
                        await publisher.publish(topic, str(n))
                await asyncio.sleep(0)  # until the last run is closed
                departures = publisher.host.outgoing.departures
                assert len(list(departures.unsent(departures.due()))) == 300 * len(TOPICS)
                await publisher.drain(60)
            # The publisher has left, and its window with it.
            await until(lambda: [len(reader) for reader in readers] == [300] * len(TOPICS))

    asyncio.run(scenario())


def test_the_timeout_says_how_many_events_have_not_left():
    async def scenario():
        async with make_node() as alone:
            for n in range(500):
                await alone.publish("news", str(n))
            with pytest.raises(NotDrained, match="500 events were sent to no neighbour") as caught:
                await alone.drain(0.05)
            assert isinstance(caught.value, TimeoutError)
            assert caught.value.events == 500
            async with make_node(join=[alone.address]) as other:
                reader = await other.subscribe("news", since=60)
                await alone.drain(60)
                await until(lambda: len(reader) == 500)

    asyncio.run(scenario())


def test_what_can_never_be_sent_is_not_waited_for():
    async def scenario():
        async with make_node(window_events=0) as alone:
            for n in range(30):
                await alone.publish("news", str(n))
            with pytest.raises(NotDrained, match="30 of the events have left the window") as caught:
                await asyncio.wait_for(alone.drain(), 60)
            assert caught.value.events == 30
            await alone.drain(60)  # it has been told

    asyncio.run(scenario())


def test_draining_ends_although_others_go_on_publishing():
    async def publish(node):
        while True:
            await node.publish("news", bytes(1000))
            await asyncio.sleep(0)

    async def scenario():
        async with make_node() as first, make_node(join=[first.address]) as node:
            await first.subscribe("news")
            await node.subscribe("news")
            await until(lambda: bool(first.neighbours() and node.neighbours()))
            busy = asyncio.create_task(publish(node))
            await node.drain(60)
            busy.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await busy

    asyncio.run(scenario())
