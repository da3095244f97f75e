"""The network host of the contract suite: that it does what its cases rely on."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message
from orbweaver.overlays.spidercast import SpiderCast
from orbweaver.testing.cluster import make_cluster
from orbweaver.testing.net_cluster import NetCluster
from orbweaver.testing.paced_loop import PacedLoop


def make() -> NetCluster:
    cluster = make_cluster(SpiderCast, "network", {"membership": "gossip"}, 1)
    assert isinstance(cluster, NetCluster)
    return cluster


@pytest.fixture
def loop() -> Iterator[PacedLoop]:
    with closing(PacedLoop()) as made:
        yield made


@pytest.fixture
def cluster() -> Iterator[NetCluster]:
    with closing(make()) as made:
        for node in range(3):
            made.join(node, ["news"])
        made.run(10)
        yield made


def test_work_takes_no_time(loop: PacedLoop) -> None:
    async def work() -> float:
        began = loop.time()
        time.sleep(0.05)
        await asyncio.sleep(0)
        return loop.time() - began

    assert loop.run_until_complete(work()) < 0.001


def test_a_sleep_takes_as_long_as_it_says_by_the_clock_of_the_loop(loop: PacedLoop) -> None:
    async def sleep() -> float:
        began = loop.time()
        await asyncio.sleep(20)
        return loop.time() - began

    assert loop.run_until_complete(sleep()) == pytest.approx(20, abs=0.001)


def test_nodes_that_talk_for_ever_do_not_stop_the_clock(loop: PacedLoop) -> None:
    async def chatter() -> None:
        while True:
            await asyncio.sleep(0)

    async def run() -> None:
        task = asyncio.create_task(chatter())
        await asyncio.sleep(0.01)
        task.cancel()

    loop.run_until_complete(run())


def test_nodes_are_told_by_the_numbers_of_the_case(cluster: NetCluster) -> None:
    event = cluster.publish(0, "news", b"hello")
    cluster.run(2)
    assert sorted(cluster.deliveries) == [(1, event), (2, event)]
    assert event.publisher == 0
    assert {peer for node in cluster.up() for peer in cluster.links(node)} <= {0, 1, 2}


def test_what_is_lost_is_not_delivered(cluster: NetCluster) -> None:
    cluster.lose(1.0)
    cluster.publish(0, "news", b"into the void")
    cluster.run(1.5)  # it is announced once more after two seconds
    assert cluster.deliveries == []
    cluster.lose(0.0)
    cluster.run(10)
    assert {node for node, _ in cluster.deliveries} == {1, 2}


def test_a_crash_is_silent_and_the_node_that_comes_back_is_the_same(cluster: NetCluster) -> None:
    heard: list[str] = []
    host = cluster._lives[1].node.host
    inside = host.gate.inside

    def listen(sender: NodeId, messages: Sequence[Message]) -> None:
        heard.extend(type(message).__name__ for message in messages)
        inside(sender, messages)

    host.gate.inside = listen
    cluster.crash(0)
    cluster.run(0.1)
    assert 0 not in cluster.up()
    assert "Leave" not in heard
    cluster.run(10)
    assert NodeId(0) not in cluster.links(1)
    cluster.join(0, ["news"])
    cluster.run(10)
    assert NodeId(0) in cluster.links(1)
    assert len(cluster._numbers) == 3


def test_a_node_that_leaves_says_so(cluster: NetCluster) -> None:
    cluster.leave(0)
    cluster.run(0.1)
    assert NodeId(0) not in cluster.links(1)


def test_no_other_program_can_listen_where_a_node_has_been(cluster: NetCluster) -> None:
    port = int(cluster._lives[0].node.address.rsplit(":", 1)[1])
    cluster.crash(0)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))


def test_what_is_left_running_is_told() -> None:
    cluster = make()
    cluster._loop.create_task(asyncio.sleep(1000), name="forgotten")
    with pytest.raises(AssertionError, match="forgotten"):
        cluster.close()


def test_what_honest_nodes_never_do_is_told() -> None:
    cluster = make()
    cluster.join(0, ["news"])
    cluster._lives[0].node.counters.forged = 1
    with pytest.raises(AssertionError, match="forged of 0: 1"):
        cluster.close()


def test_an_error_in_a_callback_is_told() -> None:
    cluster = make()
    cluster._loop.call_soon(lambda: 1 / 0)
    cluster.run(0.1)
    with pytest.raises(AssertionError, match="division"):
        cluster.close()
