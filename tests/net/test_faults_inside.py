"""Mistakes of an overlay, perhaps because of what a peer told it, and a full disk do not stop a
node."""

from __future__ import annotations

import asyncio
import errno
from typing import Any

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.topics import NOTHING
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.messages import Shuffle
from orbweaver.net import host as host_module
from orbweaver.net.node import NetworkNode
from orbweaver.overlays.spidercast.messages import Leave
from tests.net.gate.arena import arena
from tests.net.live import make_node, until


@pytest.mark.parametrize("overlay", ["spidercast", "vitis"])
def test_a_timer_that_fails_is_set_again(overlay: str) -> None:
    async def scenario() -> None:
        async with arena(overlay) as ring:
            inside: Any = ring.victim.host.overlay
            wake, failed = inside.wake, []

            def fail(timer: Any) -> None:
                if timer not in failed:
                    failed.append(timer)
                    raise ZeroDivisionError(str(timer))
                wake(timer)

            inside.wake = fail
            await until(lambda: len(failed) >= (3 if overlay == "spidercast" else 1))
            await asyncio.sleep(2 * host_module.TIMER_AGAIN_MS / 1000 / 10)
            assert {line[1] for line in ring.logs.failures} == {"timer failed"}
            ring.logs.lines.clear()
            await ring.check()

    asyncio.run(scenario())


def heard_by(node: NetworkNode) -> list[Any]:
    """What its overlay is given from now on."""
    heard: list[Any] = []
    through = node.host.gate.inside

    def listen(sender: NodeId, messages: Any) -> None:
        heard.extend(messages)
        through(sender, messages)

    node.host.gate.inside = listen
    return heard


def test_a_message_that_cannot_be_sent_takes_no_other_along() -> None:
    async def scenario() -> None:
        async with arena(frame_bytes_max=1 << 20) as ring:
            inside = ring.victim.host
            friend, heard = ring.friend.host.me, heard_by(ring.friend)
            large = tuple(Descriptor(NodeId(n), NOTHING, 1) for n in range(200_000))
            for bad in (Leave(2**70), Leave(object()), Shuffle(large, (0,) * 200_000)):  # type: ignore[arg-type]
                inside.send(friend, bad)
            inside.send(friend, Leave(77))
            await until(lambda: Leave(77) in heard)
            assert ring.counters.dropped_control == 3
            said = [line[1] for line in ring.logs.lines]
            assert said.count("message cannot be sent") == 2
            assert said.count("message too large") == 1
            ring.logs.lines.clear()
            await ring.check()

    asyncio.run(scenario())


def test_what_is_sent_after_a_bye_goes_by_the_next_connection() -> None:
    async def scenario() -> None:
        async with arena() as ring:
            friend, heard = ring.friend.host.me, heard_by(ring.friend)
            peer = ring.victim.host.peers.get(friend)
            assert peer.connection is not None
            peer.connection.retire()
            ring.victim.host.send(friend, Leave(77))
            await until(lambda: Leave(77) in heard)

    asyncio.run(scenario())


def full(*_: Any) -> None:
    """In place of what writes to the disk."""
    raise OSError(errno.ENOSPC, "no space left on device")


def test_a_full_disk_stops_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with arena() as ring:
            inside = ring.victim
            asked: list[float] = []
            monkeypatch.setattr(inside.host.peers, "look_after", lambda: asked.append(1))
            with monkeypatch.context() as disk:
                disk.setattr(inside._log, "flush", full)
                disk.setattr(inside._log, "remember_peers", full)
                disk.setattr(inside._log, "remember_subscription", full)
                await until(lambda: len(asked) >= 2)
                with pytest.raises(OSError, match="no space"):
                    await inside.subscribe("weather")
            reader = await inside.subscribe("weather")
            await until(lambda: "weather" in inside.host.interest)
            await ring.friend.publish("weather", "fine")
            assert (await reader.next(20)).payload == b"fine"

    asyncio.run(scenario())


def test_a_node_stops_though_the_disk_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with make_node() as other:
            await other.subscribe("news")
            node = make_node(join=[other.address])
            await node.start()
            await node.subscribe("news")
            await until(lambda: bool(other.neighbours()))
            monkeypatch.setattr(node._log, "remember_peers", full)
            with pytest.raises(OSError, match="no space"):
                await node.stop()
            await until(lambda: not other.neighbours())

    asyncio.run(scenario())
