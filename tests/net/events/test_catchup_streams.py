"""Catching up on a topic with many streams: what it costs follows from what is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.net.events.digests import WHOLE
from orbweaver.net.node import NetworkNode
from orbweaver.net.wire.connection import Connection
from orbweaver.net.wire.frames import Ask, CatchingUp, Differ, Differing, control_frame
from tests.net.live import nodes, until

STREAMS = 3000
UNSIGNED = {"sign": False, "catch_up_s": 1e6, "window_s": 1e6}
"""Nodes ask only when a test says so, and no event grows too old for a window, however long a busy
machine takes."""


def _keep(node: NetworkNode, publishers: Iterable[int]) -> None:
    """As if the node had got one event of each of these publishers a while ago."""
    node.host.tick()
    for number in publishers:
        event = Event("news", NodeId(1 + number), 5, 0, b"x")
        node._log.put(event, 20_000, node.host.now())


@contextmanager
def _overheard(*listening: NetworkNode) -> Iterator[list[CatchingUp]]:
    """What these nodes are told while they catch up."""
    heard: list[CatchingUp] = []
    before = [node.host.on_control for node in listening]
    for node, control in zip(listening, before, strict=True):

        def listen(connection: Connection, message: CatchingUp, inner=control) -> None:  # type: ignore[no-untyped-def]
            heard.append(message)
            inner(connection, message)

        node.host.on_control = listen
    yield heard
    for node, control in zip(listening, before, strict=True):
        node.host.on_control = control


async def _have_asked_each_other(one: NetworkNode, other: NetworkNode) -> None:
    """Wait until each has answered the question that the other asks first."""
    await until(lambda: all(node._catch_up._answers._answered for node in (one, other)))


async def _ask(node: NetworkNode, other: NetworkNode) -> None:
    """Catch up with a node that answers at once, whenever it was asked last."""
    other._catch_up._answers._answered.clear()
    node._catch_up.ask(other.host.me)


@pytest.mark.parametrize("missing", [1, 300, STREAMS])
def test_what_is_missing_among_many_streams_is_found(missing: int) -> None:
    async def scenario() -> None:
        async with nodes(2, topics=["news"], **UNSIGNED) as (full, node):
            node._catch_up._since["news"] = 0  # type: ignore[index]
            await _have_asked_each_other(full, node)
            _keep(full, range(STREAMS))
            _keep(node, range(missing, STREAMS))
            await _ask(node, full)
            await until(lambda: node.counters.caught_up == missing)
            assert node.counters.repeated == 0, "what was here was sent again"

    asyncio.run(scenario())


def test_it_costs_little_where_little_is_missing() -> None:
    """Names and numbers of 3000 streams would be 60 kB, and more in each direction."""

    async def scenario() -> None:
        async with nodes(2, topics=["news"], **UNSIGNED) as (full, node):
            node._catch_up._since["news"] = 0  # type: ignore[index]
            await _have_asked_each_other(full, node)
            _keep(full, range(STREAMS))
            _keep(node, range(3, STREAMS))
            with _overheard(full, node) as heard:
                await _ask(node, full)
                await until(lambda: node.counters.caught_up == 3)
                said = [m for m in heard if isinstance(m, Ask | Differ)]
                assert sum(len(control_frame(message)) for message in said) < 5000
            with _overheard(full, node) as heard:
                await _ask(node, full)
                await until(lambda: bool(heard))
                await _ask(full, node)
                await until(lambda: len(heard) == 2)
                assert [type(message) for message in heard] == [Ask, Ask], "nothing differs"
                assert sum(len(control_frame(message)) for message in heard) < 500

    asyncio.run(scenario())


def test_a_node_that_holds_little_is_not_told_of_everything() -> None:
    """Such as a program that has published one event, and is asked by a node with thousands."""

    async def scenario() -> None:
        async with nodes(2, topics=["news"], **UNSIGNED) as (little, node):
            node._catch_up._since["news"] = 0  # type: ignore[index]
            await _have_asked_each_other(little, node)
            _keep(little, [STREAMS])
            _keep(node, range(STREAMS))
            with _overheard(little, node) as heard:
                await _ask(node, little)
                await until(lambda: node.counters.caught_up == 1)
                said = [m for m in heard if isinstance(m, Ask | Differ)]
                assert sum(len(control_frame(message)) for message in said) < 3000

    asyncio.run(scenario())


def test_differences_that_were_not_asked_for_start_nothing() -> None:
    async def scenario() -> None:
        async with nodes(2, topics=["news"], **UNSIGNED) as (one, other):
            peer = other.host.peers.known(one.host.me)
            assert peer is not None
            assert peer.connection is not None
            _keep(other, range(STREAMS))
            with _overheard(one) as heard:
                differ = Differ(7, (Differing("news", (WHOLE,)),))
                other._catch_up._compared[one.host.me] = (8, 3)
                other._catch_up.on_differ(peer.connection, differ)
                other._catch_up._compared[one.host.me] = (7, 0)
                other._catch_up.on_differ(peer.connection, differ)
                await other.drain(20)
                assert not [m for m in heard if isinstance(m, Ask) and m.salt == 7]
                other._catch_up._compared[one.host.me] = (7, 2)
                other._catch_up.on_differ(peer.connection, differ)
                other._catch_up.on_differ(peer.connection, differ)
                await other.drain(20)
                assert len([m for m in heard if isinstance(m, Ask) and m.salt == 7]) == 1

    asyncio.run(scenario())
