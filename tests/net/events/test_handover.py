"""Events of a node that is about to leave: when they are in other hands, and when not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message
from orbweaver.net.events.handover import Handover
from orbweaver.net.peers.peers import PeerState
from tests.net.live import make_node, nodes, until

pytestmark = pytest.mark.parametrize("overlay", ["spidercast", "vitis", "ring-per-topic"])


def test_an_event_is_taken_by_who_has_read_it(overlay: str) -> None:
    async def main() -> None:
        async with nodes(2, overlay, topics=["news"]) as made:
            readers = [await node.subscribe("news") for node in made]
            async with make_node(overlay, join=[made[0].address]) as leaving:
                handover = Handover(leaving)
                for i in range(300):
                    await handover.publish("news", b"%d" % i)
                assert handover.loose > 0
                assert await handover.settle(20)
                assert 1 <= len(handover.takers) <= 2
            # It has left; whoever has not got them gets them from the other.
            for reader in readers:
                got = {(await reader.next(20)).payload for _ in range(300)}
                assert len(got) == 300

    asyncio.run(main())


def test_without_neighbours_nothing_is_taken(overlay: str) -> None:
    async def main() -> None:
        async with make_node(overlay) as alone:
            handover = Handover(alone)
            await handover.publish("news", b"x")
            assert not await handover.settle(0.2)
            assert (handover.loose, handover.takers) == (1, set())
            async with make_node(overlay, join=[alone.address]) as other:
                await other.subscribe("news", since=60)
                assert await handover.settle(20)
                assert len(handover.takers) == 1

    asyncio.run(main())


def test_what_was_sent_but_not_read_does_not_count(overlay: str) -> None:
    async def main() -> None:
        async with nodes(2, overlay, topics=["news"]) as (leaving, deaf):
            handover = Handover(leaving)
            await handover.publish("news", b"the first")
            assert await handover.settle(20)
            for peer in deaf.host.peers:
                if peer.connection is not None:
                    peer.connection.rest(1.0)
            await handover.publish("news", b"x")
            assert not await handover.settle(0.3)
            assert handover.loose == 1
            assert await handover.settle(20)

    asyncio.run(main())


def test_what_a_queue_dropped_does_not_count(overlay: str) -> None:
    async def main() -> None:
        async with nodes(2, overlay, topics=["news"]) as (leaving, other):
            handover = Handover(leaving)
            await handover.publish("news", b"the first")
            assert await handover.settle(20)
            dropped = []

            def drop(peer: PeerState) -> None:
                dropped.append(len(peer.queue.data))
                peer.queue.clear()

            write, leaving.host.outgoing.write = leaving.host.outgoing.write, drop
            await handover.publish("news", b"x")
            await asyncio.sleep(0)
            assert sum(dropped)
            leaving.host.outgoing.write = write
            # It comes all the same, by repair or catching up; not before that is it taken.
            assert await handover.settle(20)
            assert other.counters.delivered == 2

    asyncio.run(main())


def test_what_a_neighbour_says_to_have_is_believed(overlay: str) -> None:
    """An event that went by other ways than the overlay's messages: through the window."""

    async def main() -> None:
        async with nodes(2, overlay, topics=["news"]) as (leaving, other):
            handover = Handover(leaving)
            inside = other.host.gate.inside

            def lose(sender: NodeId, messages: Sequence[Message]) -> None:
                first = messages[0]
                if not (first.carries or first.announces or first.purpose == "repair"):
                    inside(sender, messages)

            def keep_quiet(to: NodeId, message: Message) -> None:
                if not (message.carries or message.announces or message.purpose == "repair"):
                    send(to, message)

            send = leaving.host.send
            leaving.host.send = keep_quiet
            other.host.gate.inside = lose
            await handover.publish("news", b"x")
            assert not await handover.settle(0.2)
            await until(lambda: other.counters.caught_up == 1)
            assert await handover.settle(20)
            assert handover.takers == {other.host.me}

    asyncio.run(main())
