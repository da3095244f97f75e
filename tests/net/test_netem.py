"""Nodes at hosts of their own, on a bad wire and on one that is cut."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tests.net.processes import Fleet, Process, fleet, missing, until
from tests.net.wires import WIRES, Wire, wired

HOSTS = 6
HALVED = 16
"""Enough for each half to cover every topic three times, so that nobody lacks links when the
halves meet again."""
QUICK = {"catch_up_s": 1.0, "rejoin_s": 3.0, "window_events": 100_000}
TOPICS = ("news", "weather", "games")
FLOW_S = 0.1


async def started(made: Fleet, wire: Wire, hosts: int = HOSTS) -> list[Process]:
    """A node at each host; each wants two topics of three, and joins through two others."""
    nodes: list[Process] = []
    for number in range(hosts):
        topics = [TOPICS[number % 3], TOPICS[(number + 1) % 3]]
        join = [node.address for node in nodes[-2:]]
        settings = {"listen": f"{wire.address(number)}:0", "join": join}
        node = await made.start(topics, prefix=wire.prefix(number), **settings)
        await node.wait_ready()
        nodes.append(node)
    return nodes


async def flow(nodes: Sequence[Process], seconds: float) -> None:
    for node in nodes:
        await node.flow(FLOW_S)
    await asyncio.sleep(seconds)
    for node in nodes:
        await node.flow(0)


async def assert_all_there(nodes: Sequence[Process]) -> None:
    took_s = await until(lambda: not missing(nodes, nodes))
    lacking = missing(nodes, nodes)
    events = sum(len(node.published) for node in nodes)
    assert not lacking, f"{len(lacking)} missing of {events}, such as {lacking[:3]}"
    assert all(count == 1 for node in nodes for count in node.got.values()), "twice"
    print(f"\n{events} events were everywhere {took_s:.1f} s after the last")


async def assert_honest(made: Fleet, noiseless: bool) -> None:
    await made.look()
    for node in made.up:
        print({name: count for name, count in node.counters.items() if count})
        assert not noiseless or node.counters["relayed"] == 0
        for name in ("forged", "bad_frames", "bad_messages", "bad_cards", "bad_seals"):
            assert node.counters[name] == 0, name


@pytest.mark.parametrize("overlay", ["spidercast", "vitis"])
@pytest.mark.parametrize("kind", WIRES)
def test_a_bad_wire(kind: str, overlay: str) -> None:
    """Slow, lossy and out of order: everything arrives, once."""

    async def scenario() -> None:
        with wired(kind, HOSTS) as wire:
            async with fleet(overlay=overlay, **QUICK) as made:
                wire.faults(True)
                nodes = await started(made, wire)
                await flow(nodes, 3)
                await assert_all_there(nodes)
                await assert_honest(made, overlay == "spidercast")

    asyncio.run(scenario())


@pytest.mark.slow
@pytest.mark.parametrize("overlay", ["spidercast", "vitis", "rvr", "ring-per-topic"])
@pytest.mark.parametrize("kind", WIRES)
def test_a_partition_that_heals(kind: str, overlay: str) -> None:
    """Each half goes on by itself, and afterwards has what the other published meanwhile."""

    async def scenario() -> None:
        with wired(kind, HALVED, left=HALVED // 2) as wire:
            async with fleet(overlay=overlay, **QUICK) as made:
                wire.faults(True)
                nodes = await started(made, wire, HALVED)
                await flow(nodes, 3)
                await assert_all_there(nodes)

                left, right = nodes[: wire.left], nodes[wire.left :]
                wire.cut(True)
                await flow(nodes, 15)
                assert missing(left, right), "the wire was not cut"
                assert missing(right, left), "the wire was not cut"
                await until(lambda: not missing(left, left) and not missing(right, right))
                assert not missing(left, left), "not even on one's own side"
                assert not missing(right, right), "not even on one's own side"

                wire.cut(False)
                await assert_all_there(nodes)
                await flow(nodes, 2)
                await assert_all_there(nodes)
                await assert_honest(made, overlay in ("spidercast", "ring-per-topic"))

    asyncio.run(scenario())
