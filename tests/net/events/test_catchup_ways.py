"""Catching up where no neighbour subscribes: the way to a subscriber leads over relays."""

from __future__ import annotations

import asyncio

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.net.node import NetworkNode
from orbweaver.net.wire.connection import Connection
from orbweaver.net.wire.frames import Elsewhere, Way
from orbweaver.overlays.catalog import find
from orbweaver.testing.net_cluster import NetCluster
from tests.net.live import nodes, until

NODES = 12
KEPT_S = 15
"""Seconds after which an event can only be had from a window: dissemination keeps it for ten."""
WAIT_S = 120


@pytest.mark.parametrize("overlay", ["vitis", "rvr"])
def test_a_subscriber_behind_relays_is_found(overlay: str) -> None:
    """The table of each node is its ring and one long link, so most nodes that subscribe have
    relays only between them and the publisher."""
    kind = find(overlay)
    cluster = NetCluster(kind, kind.Params(table_size=3), seed=1)
    topics = [f"topic {node}" for node in range(NODES)]
    cluster.join(0, topics)
    for node in range(1, NODES):
        cluster.join(node, [])
    cluster.run(20)
    for topic in topics:
        cluster.publish(0, topic, b"missed")
    cluster.run(KEPT_S)

    readers = {}
    for node in range(1, NODES):
        owner = cluster._lives[node].node
        readers[node] = cluster._do(owner.subscribe(topics[node], since=60))
    for _ in range(WAIT_S):
        cluster.run(1)
        if all(len(reader) for reader in readers.values()):
            break
    lacking = [node for node, reader in readers.items() if len(reader) != 1]
    assert not lacking, f"nodes {lacking} lack the event; 0 has links to {cluster.links(0)}"
    cluster.close()


def test_vitis_names_neighbours_that_are_nearer_to_a_subscriber() -> None:
    async def scenario() -> None:
        async with nodes(2, "vitis") as (subscriber, other):
            assert [*other.host.overlay.towards("news")] == []
            await subscriber.subscribe("news")
            await until(lambda: [*other.host.overlay.towards("news")] == [subscriber.host.me])

    asyncio.run(scenario())


def _connection(node: NetworkNode, other: NetworkNode) -> Connection:
    peer = node.host.peers.known(other.host.me)
    assert peer is not None
    assert peer.connection is not None
    return peer.connection


def _tell(connection: Connection, node: NetworkNode, count: int) -> None:
    ways = tuple(Way(NodeId(number), ("news",)) for number in range(1, count + 1))
    node._catch_up.on_elsewhere(connection, Elsewhere(ways))


def test_ways_that_nobody_asked_for_are_not_followed() -> None:
    async def scenario() -> None:
        async with nodes(2, topics=["news"]) as (one, other):
            connection = _connection(other, one)
            other._catch_up._asked.clear()
            _tell(connection, other, 5)
            assert connection.strikes == 1
            assert other._catch_up._ways._followed == {}

    asyncio.run(scenario())


def test_only_so_many_ways_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orbweaver.net.events.ways.WAYS_MAX", 3)

    async def scenario() -> None:
        async with nodes(2, topics=["news"]) as (one, other):
            monkeypatch.setattr(
                "orbweaver.net.peers.cards.AddressBook.__contains__", lambda *_: True
            )
            connection = _connection(other, one)
            other._catch_up._asked[one.host.me] = 0.0
            _tell(connection, other, 50)
            assert len(other._catch_up._ways._followed) == 3
            assert connection.strikes == 0

    asyncio.run(scenario())
