"""Events that a peer does not take: it is not sent them, or says why it drops them."""

import asyncio

import pytest

from orbweaver.core.errors import PayloadTooLarge, UsageError
from orbweaver.net.events.handover import Handover
from orbweaver.net.peers.outqueue import OutQueue, wrap
from orbweaver.net.wire.frames import Declined, Ping, Pong
from tests.net.gate.arena import arena
from tests.net.gate.test_hostile_events import carry
from tests.net.live import make_node, until
from tests.net.peers.test_outqueue import push

LARGE, SMALL = bytes(2000), bytes(1000)


@pytest.mark.parametrize("overlay", ["spidercast", "vitis"])
def test_what_no_peer_takes_cannot_be_published(overlay):
    async def scenario():
        async with (
            make_node(overlay, payload_bytes_max=1000) as first,
            make_node(overlay, join=[first.address]) as node,
        ):
            reader = await first.subscribe("news")
            await node.subscribe("news")
            await until(lambda: bool(first.neighbours() and node.neighbours()))
            with pytest.raises(PayloadTooLarge, match="its peers take at most 1000") as caught:
                await node.publish("news", LARGE)
            assert isinstance(caught.value, UsageError)
            assert (caught.value.size, caught.value.size_max) == (2000, 1000)
            await node.publish("news", SMALL)
            assert (await reader.next(20)).payload == SMALL
            assert first.counters.bad_messages == 0

    asyncio.run(scenario())


@pytest.mark.parametrize("overlay", ["spidercast", "vitis"])
def test_only_the_peers_that_take_it_are_sent_a_large_event(overlay):
    async def scenario():
        async with (
            make_node(overlay) as node,
            make_node(overlay, join=[node.address]) as large,
            make_node(overlay, join=[node.address], payload_bytes_max=1000) as small,
        ):
            readers = [await each.subscribe("news") for each in (large, small)]
            await node.subscribe("news")
            await until(lambda: len(node.neighbours()) == 2)
            for payload in (LARGE, SMALL):
                await node.publish("news", payload)
            assert {(await readers[0].next(20)).payload for _ in range(2)} == {LARGE, SMALL}
            assert (await readers[1].next(20)).payload == SMALL
            await until(lambda: node.counters.declined > 0)
            assert list(node.declined()) == [small.id]
            assert "payload_bytes_max=1000" in node.declined()[small.id]
            assert small.counters.bad_messages == 0

    asyncio.run(scenario())


def test_a_window_gives_nothing_that_is_too_large():
    async def scenario():
        async with make_node(catch_up_s=1.0) as node:
            for payload in (LARGE, SMALL, LARGE):
                await node.publish("news", payload)
            async with make_node(join=[node.address], payload_bytes_max=1000) as small:
                reader = await small.subscribe("news", since=60)
                assert (await reader.next(20)).payload == SMALL
                assert small.counters.bad_messages == 0

    asyncio.run(scenario())


def test_what_waited_for_a_connection_and_is_too_large_goes():
    queue = OutQueue()
    for n, size in enumerate((10, 2000, 20)):
        queue.put(wrap(push(n, size=size)), 10, 10_000, None)
    mark = queue.mark()
    assert [parcel.size for parcel in queue.drop_larger(1000)] == [2000]
    assert [parcel.size for parcel in queue.data] == [10, 20]
    assert (queue.bytes, mark - queue.passed) == (30, 2)
    assert not queue.drop_larger(1000)


def test_the_publisher_is_told_why_and_the_receiver_logs_it_once():
    async def scenario():
        async with arena(payload_bytes_max=1000) as ring:
            attacker = await ring.member()
            for seq in range(5):
                event = attacker.event(seq, payload=LARGE)
                attacker.seal(event)
                carry(attacker, event)
            attacker.control(Ping())
            await attacker.wait_for(Pong)
            told = [message for message in attacker.heard if isinstance(message, Declined)]
            named = [event for message in told for event in message.events]
            assert named == [(attacker.me, 7, "news", seq) for seq in range(5)]
            assert "payload_bytes_max=1000" in told[0].reason
            assert ring.counters.bad_messages == 5
            lines = [line for line in ring.logs.lines if line[1] == "events not taken"]
            assert len(lines) == 1
            await ring.check()

    asyncio.run(scenario())


def test_who_only_passes_an_event_on_is_told_nothing():
    async def scenario():
        async with arena(payload_bytes_max=1000) as ring:
            publisher, carrier = await ring.member(), await ring.member()
            event = publisher.event(0, payload=LARGE)
            carrier.identity, own = publisher.identity, carrier.identity
            carrier.seal(event)
            carrier.identity = own
            carry(carrier, event)
            carrier.control(Ping())
            await carrier.wait_for(Pong)
            assert ring.counters.bad_messages == 1
            assert not [message for message in carrier.heard if isinstance(message, Declined)]

    asyncio.run(scenario())


@pytest.mark.parametrize("overlay", ["spidercast", "vitis"])
def test_an_event_that_was_declined_is_not_in_other_hands(overlay):
    async def scenario():
        async with (
            make_node(overlay, publishers={"closed": []}) as first,
            make_node(overlay, join=[first.address]) as node,
        ):
            for each in (first, node):
                await each.subscribe("closed")
                await each.subscribe("open")
            await until(lambda: bool(first.neighbours() and node.neighbours()))
            handover = Handover(node)
            await handover.publish("closed", b"x")
            await until(lambda: node.counters.declined > 0)
            await handover.publish("open", b"x")
            await handover.settle(20, most=1)
            assert handover.loose == 1
            assert "may not publish" in node.declined()[first.id]

    asyncio.run(scenario())
