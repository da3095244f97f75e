"""Two honest nodes, and what has to be true of them whatever an attacker has done."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from orbweaver.net import host, node
from orbweaver.net.events.subscription import Subscription
from orbweaver.net.gate import gate, standing
from orbweaver.net.node import NetworkNode
from orbweaver.net.peers import bootstrap, peers
from tests.net.gate.hostile import Attacker
from tests.net.live import make_node, until

SMALL = {
    "handshake_s": 1.0, "connect_s": 1.0, "stall_s": 1.0, "ping_s": 1.0, "dead_s": 3.0,
    "idle_s": 3.0, "connections_max": 24, "queue_messages": 2000, "queue_bytes": 4 << 20,
    "peers_max": 128, "topics_max": 2048, "topics_of_peer": 512, "window_events": 200,
    "upkeep_per_s": 200.0,
}  # fmt: skip
"""Limits that are soon reached."""
PATIENT = {"dead_s": 60.0, "idle_s": 60.0}
"""For attackers that are silent for a while on a slow machine."""
MB = 1 << 20


class Logs:
    """In place of the loggers of the host."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, dict[str, Any]]] = []

    def __getattr__(self, level: str) -> Any:
        return lambda event, **facts: self.lines.append((level, event, facts))

    @property
    def failures(self) -> list[Any]:
        return [line for line in self.lines if line[0] not in ("debug", "info", "warning")]


class Arena:
    def __init__(self, victim: NetworkNode, friend: NetworkNode, logs: Logs) -> None:
        self.victim, self.friend = victim, friend
        self.logs = logs
        self.unhandled: list[dict[str, Any]] = []
        self.number = 0
        self.evil: list[bytes] = []
        self.attackers: list[Attacker] = []

    def attacker(self, **settings: Any) -> Attacker:
        overlay = self.victim.settings.overlay
        made = Attacker(self.victim.address, overlay, **settings)
        self.attackers.append(made)
        return made

    async def member(self, **settings: Any) -> Attacker:
        """An attacker that has been let in."""
        return await self.attacker(**settings).shake_hands()

    @property
    def counters(self) -> Any:
        return self.victim.counters

    async def exchange(self, timeout: float = 60.0) -> float:
        """An event each way, and how long it took."""
        began = time.monotonic()
        for one, reader in ((self.victim, self.at_friend), (self.friend, self.at_victim)):
            self.number += 1
            payload = b"honest %d" % self.number
            await one.publish("news", payload)
            async with asyncio.timeout(timeout):
                while (got := (await reader.next()).payload) != payload:
                    if reader is self.at_victim and not got.startswith(b"honest"):
                        self.evil.append(got)
        return time.monotonic() - began

    async def check(self, timeout: float = 60.0) -> None:
        """Honest traffic goes on, nothing went wrong inside, and nothing has piled up."""
        await self.exchange(timeout)
        assert not self.logs.failures, self.logs.failures[0]
        assert not self.unhandled, self.unhandled[0]
        inside = self.victim.host
        settings = self.victim.settings
        assert len(inside.peers._all) <= settings.connections_max + 8
        assert len(list(inside.peers)) < 300
        assert len(inside.book) <= settings.peers_max
        assert len(inside.topics) <= settings.topics_max + 10
        assert len(asyncio.all_tasks()) < 150
        for peer in inside.peers:
            assert len(peer.queue) <= 2 * settings.queue_messages
            assert peer.queue.bytes <= settings.queue_bytes

    def delivered(self) -> list[bytes]:
        """What has come at the victim besides."""
        reader = self.at_victim
        waiting = [delivery.payload for delivery in reversed(reader._ready)]
        for message in reader._buffer:
            waiting += [message.event.payload, *message.more]
        return self.evil + [payload for payload in waiting if not payload.startswith(b"honest")]

    at_victim: Subscription
    at_friend: Subscription


@contextlib.asynccontextmanager
async def arena(
    overlay: str = "spidercast", tls: tuple[Path, Path] | None = None, **settings: Any
) -> AsyncIterator[Arena]:
    chosen = {**SMALL, **settings}
    secrets = [{"tls": str(folder)} for folder in tls] if tls else [{}, {}]
    logs = Logs()
    modules = (bootstrap, gate, host, node, peers)
    before, half_s = [module.log for module in modules], standing.HALF_S
    standing.HALF_S = 1e9  # on a busy machine, scores would fade before an attack is over
    for module in modules:
        module.log = logs
    try:
        async with (
            make_node(overlay, **chosen, **secrets[0]) as victim,
            make_node(overlay, join=[victim.address], **chosen, **secrets[1]) as friend,
        ):
            made = Arena(victim, friend, logs)
            loop = asyncio.get_running_loop()
            loop.set_exception_handler(lambda _, context: made.unhandled.append(context))
            made.at_victim = await victim.subscribe("news")
            made.at_friend = await friend.subscribe("news")
            await until(lambda: bool(victim.neighbours() and friend.neighbours()))
            await made.exchange()
            try:
                yield made
            finally:
                for attacker in made.attackers:
                    await attacker.close()
    finally:
        standing.HALF_S = half_s
        for module, log in zip(modules, before, strict=True):
            module.log = log


class Growth:
    """Memory that a block of code keeps."""

    def __enter__(self) -> Growth:
        gc.collect()
        self._before = _resident()
        return self

    def __exit__(self, *_: object) -> None:
        gc.collect()
        self.bytes = _resident() - self._before


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
