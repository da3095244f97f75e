"""Connections: one for each pair, made again when they break, and what waits meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from orbweaver.net.keys.authority import equip, make_authority
from orbweaver.net.keys.identity import Identity
from orbweaver.net.node import NetworkNode
from orbweaver.net.peers.cards import make_card
from tests.net.live import make_node, nodes, until

uvloop = pytest.importorskip("uvloop")


def connections(node: NetworkNode) -> int:
    return node.status().connections


def test_two_nodes_that_call_each_other_keep_one_connection():
    async def scenario():
        async with make_node(tempo=1.0) as one, make_node(tempo=1.0) as two:
            calls = [(one, two), (two, one)] * 3

            def call(a: NetworkNode, b: NetworkNode):
                return a._bootstrap._call(("127.0.0.1", int(b.address.split(":")[1])))

            await asyncio.gather(*(call(a, b) for a, b in calls))
            await until(lambda: connections(one) == connections(two) <= 1)
            if not connections(one):  # calls at the same moment may end each other
                await call(one, two)
            await until(lambda: connections(one) == connections(two) == 1)
            await asyncio.sleep(0.1)
            assert connections(one) == connections(two) == 1

    asyncio.run(scenario())


def test_a_broken_connection_is_made_again_and_nothing_is_lost():
    async def scenario():
        async with nodes(2, topics=["news"]) as made:
            reader = await made[1].subscribe("news")
            for n in range(60):
                await made[0].publish("news", str(n))
                if n % 20 == 10:
                    await asyncio.sleep(0.05)
                    for peer in made[0]._running().peers:
                        if peer.connection is not None:
                            peer.connection.abort()
            got = {(await reader.next(20)).payload for _ in range(60)}
            assert got == {b"%d" % n for n in range(60)}

    asyncio.run(scenario())


def test_a_node_that_is_gone_is_given_up():
    async def scenario():
        async with nodes(3, topics=["news"]) as made:
            gone = made[2]
            await until(lambda: all(len(node.neighbours()) == 2 for node in made))
            host = gone._running()
            await host._listener.close()
            for peer in host.peers:
                if peer.connection is not None:
                    peer.connection.abort()
            host.running = False  # it hears nothing any more
            await until(lambda: all(gone.id not in node.neighbours() for node in made[:2]))
            receipt = await made[0].publish("news", "on we go")
            assert receipt.neighbours == 1

    asyncio.run(scenario())


def test_who_is_gone_is_called_less_and_less_often(monkeypatch):
    """And is told of once; with a new card it may be somewhere else."""
    gone = Identity.generate()

    async def scenario():
        async with make_node() as node:
            host = node._running()
            now = host.peers._loop.time()
            monkeypatch.setattr(host.peers._loop, "time", lambda: now)
            host.book.learn(make_card(gone, "127.0.0.1", 1, False, 1))
            for pause_s in (2, 4, 8, 16, 32, 60, 60):
                assert not host.peers.avoids(gone.node)
                host.peers._give_up(host.peers.get(gone.node))
                now += pause_s - 0.1
                assert host.peers.avoids(gone.node)
                now += 0.2
            host.peers._give_up(host.peers.get(gone.node))
            assert host.counters.peers_lost == 1
            host.book.learn(make_card(gone, "127.0.0.1", 2, False, 2))
            assert not host.peers.avoids(gone.node)

    asyncio.run(scenario())


def test_parts_that_lost_sight_of_each_other_find_together():
    async def scenario():
        async with make_node() as one:
            address = one.address
            async with make_node(join=[address]) as two:
                await one.subscribe("news")
                reader = await two.subscribe("news")
                await until(lambda: bool(one.neighbours() and two.neighbours()))
                # Both forget that the other exists.
                for here, there in ((one, two), (two, one)):
                    here._running().overlay.lost(there._running().me)
                    here._running().book._cards.clear()
                assert not two.neighbours()
                await until(lambda: bool(two.neighbours()))
                await one.publish("news", "hello again")
                assert (await reader.next(20)).payload == b"hello again"

    asyncio.run(scenario())


def test_everybody_who_publishes_waits():
    """Not only who happens to be the one after many, and large events count for more."""

    async def scenario():
        count, payload = 1500, b"x" * 20_000
        async with nodes(2, topics=["news"], queue_bytes=4 << 20) as made:
            reader = await made[1].subscribe("news", buffer=count)
            await asyncio.gather(*(made[0].publish("news", payload) for _ in range(count)))
            await until(lambda: len(reader) == count)
            assert made[0].counters.dropped_data == 0

    asyncio.run(scenario())


@pytest.mark.parametrize("addresses", [["127.0.0.2", "127.0.0.1"], ["127.0.0.1", "127.0.0.2"]])
def test_a_name_with_several_addresses(addresses, monkeypatch):
    async def scenario():
        async with make_node(listen="127.0.0.1:0") as one, make_node() as two:
            port = int(one.address.rpartition(":")[2])

            async def getaddrinfo(host, port, **_):
                return [(0, 0, 0, "", (address, port)) for address in addresses]

            peers = two._running().peers
            with monkeypatch.context() as patched:
                patched.setattr(peers._loop, "getaddrinfo", getaddrinfo)
                met = await peers.call("both.invalid", port)
            assert met is not None
            assert list(peers._all) == [met]

    asyncio.run(scenario())


def test_publishing_waits_for_a_slow_neighbour_and_loses_nothing():
    async def scenario():
        count, payload = 3000, b"x" * 2000
        settings = {"queue_messages": 600, "window_events": 10}
        async with nodes(2, topics=["news"], **settings) as made:
            reader = await made[1].subscribe("news")
            queue = next(iter(made[0]._running().peers)).queue
            longest = 0
            for _ in range(count):
                await made[0].publish("news", payload)
                longest = max(longest, len(queue.data))
            await made[0].drain(20)
            await until(lambda: len(reader) == count)
            assert made[0].counters.dropped_data == 0
            assert longest <= 600

    asyncio.run(scenario())


def test_dropping_takes_the_oldest_and_counts():
    async def scenario():
        async with nodes(2, topics=["news"], queue_messages=20, when_full="drop") as made:
            [peer] = made[0].host.peers
            peer.connection.pause_writing()
            for n in range(200):
                await made[0].publish("news", str(n))
                if n % 10 == 9:
                    await asyncio.sleep(0)
            # Notices may wait too; of events the last two runs do.
            assert made[0].counters.dropped_data >= 180
            assert 0 < peer.queue.events <= 20
            peer.connection.resume_writing()

    asyncio.run(scenario())


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_mutual_tls(tmp_path, loop):
    make_authority(tmp_path / "ca", "test")
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        equip(tmp_path / "ca", folder, folder.name)

    async def scenario():
        async with (
            make_node(tls=str(folders[0])) as one,
            make_node(tls=str(folders[1]), join=[one.address]) as two,
        ):
            await one.subscribe("news")
            reader = await two.subscribe("news")
            await until(lambda: bool(one.neighbours() and two.neighbours()))
            await one.publish("news", "in secret")
            assert (await reader.next(20)).payload == b"in secret"
            assert one.status().secure == "tls"
            assert not one.status().udp
            # A node without a certificate is not let in.
            async with make_node(join=[one.address]) as plain:
                assert plain.status().connections == 0

    if loop == "uvloop":
        uvloop.run(scenario())
    else:
        asyncio.run(scenario())


def test_small_gossip_goes_by_datagram():
    """Few links and small views, so that there are nodes without a connection to gossip with."""
    small = {"table_size": 3, "view_size": 3}

    async def scenario():
        async with nodes(12, "vitis", ["news"], idle_s=0.3, params=small) as made:
            await until(lambda: sum(node.counters.datagrams_in for node in made) > 5)
            assert sum(node.counters.bad_datagrams for node in made) == 0
            assert all(node.status().udp for node in made)

    asyncio.run(scenario())
