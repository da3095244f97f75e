"""A node that was down comes back with its id, its view, and a claim to what it missed."""

from __future__ import annotations

import asyncio

import pytest

from tests.net.live import make_node, until


@pytest.mark.parametrize("overlay", ["spidercast", "vitis"])
def test_what_was_missed_is_caught_up(tmp_path, overlay):
    state = str(tmp_path / "state")

    async def scenario():
        async with make_node(overlay, tempo=4.0) as stays:
            await stays.subscribe("news")

            async def life(join):
                return make_node(overlay, tempo=4.0, state=state, join=join)

            async with await life([stays.address]) as node:
                first_id = node.id
                reader = await node.subscribe("news")
                await until(lambda: bool(stays.neighbours() and node.neighbours()))
                await stays.publish("news", "before")
                assert (await reader.next(20)).payload == b"before"
            for n in range(100):
                await stays.publish("news", f"meanwhile {n}")
            # No address to join through: it remembers its peers.
            async with await life([]) as node:
                assert node.id == first_id
                reader = await node.subscribe("news", ordered=True)
                got = [(await reader.next(30)).payload for _ in range(100)]
                assert got == [f"meanwhile {n}".encode() for n in range(100)]
                await stays.publish("news", "after")
                assert (await reader.next(30)).payload == b"after"
                assert len(reader) == 0, "nothing twice"

    asyncio.run(scenario())


def test_a_restarted_node_still_has_its_window(tmp_path):
    state = str(tmp_path / "state")

    async def scenario():
        async with make_node(state=state) as node:
            await node.publish("news", "kept on disk")
        async with make_node(state=state) as node, make_node(join=[node.address]) as reader_node:
            await node.subscribe("news")
            reader = await reader_node.subscribe("news", since=60)
            got = await reader.next(30)
            assert got.payload == b"kept on disk"

    asyncio.run(scenario())
