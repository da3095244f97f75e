"""A member of a swarm is a node with an application that reads and publishes as planned.

A thread reads stdin, so that the process also ends with its parent when the loop is stuck.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import struct
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from random import Random

from orbweaver.core.overlay import Overlay
from orbweaver.net.events.seen import Seen
from orbweaver.net.events.subscription import Subscription
from orbweaver.net.node import NetworkNode
from orbweaver.net.settings import make_settings
from orbweaver.swarm.latencies import bar_of
from orbweaver.swarm.messages import (
    GO,
    HUSH,
    REPORT_S,
    MemberPlan,
    MemberReady,
    MemberReport,
    encode,
)

LEAVE_S = 5.0
"""Seconds that a member may take to leave, before its process ends."""
PAYLOAD = struct.Struct("q56x")
"""Time of publication, then padding to 64 bytes. The clock is the same for all processes."""


class Member:
    """Runs on top of one node: reads, publishes and reports."""

    def __init__(self, node: NetworkNode, plan: MemberPlan) -> None:
        self._node = node
        self._plan = plan
        self._published: Counter[str] = Counter()
        self._delivered: Counter[str] = Counter()
        self._latencies: Counter[int] = Counter()
        self._seen: dict[tuple[str, int, str], Seen] = {}
        self._repeated = 0
        self._chance = Random(plan.seed)
        self.may_publish = asyncio.Event()

    async def read(self, subscription: Subscription) -> None:
        async for event in subscription:
            (sent,) = PAYLOAD.unpack(event.payload)
            stream = (event.publisher, event.epoch, event.topic)
            if self._seen.setdefault(stream, Seen()).settle(event.seq):
                self._delivered[event.topic] += 1
                self._latencies[bar_of((time.monotonic_ns() - sent) / 1e9)] += 1
            else:
                self._repeated += 1

    async def publish(self) -> None:
        """Publish at random moments, as often as planned on average; a late member catches up."""
        while True:
            await self.may_publish.wait()
            due = time.monotonic()
            while self.may_publish.is_set():
                due += self._chance.expovariate(self._plan.rate)
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                if self.may_publish.is_set():
                    topic = self._chance.choice(self._plan.topics)
                    await self._node.publish(topic, PAYLOAD.pack(time.monotonic_ns()))
                    self._published[topic] += 1

    async def report(self) -> None:
        while True:
            say(self._report())
            await asyncio.sleep(REPORT_S)

    def _report(self) -> MemberReport:
        status = self._node.status()
        used = resource.getrusage(resource.RUSAGE_SELF)
        return MemberReport(
            published=self._published,
            delivered=self._delivered,
            repeated=self._repeated,
            links=status.links_connected,
            queued=status.queued_messages,
            counters=status.counters,
            latencies=self._latencies,
            cpu_s=used.ru_utime + used.ru_stime,
            memory=_memory(used.ru_maxrss),
        )


async def live(overlay: type[Overlay], plan: MemberPlan) -> None:
    """Run a member until the end of stdin."""
    async with NetworkNode(overlay, make_settings(plan.settings)) as node:
        member = Member(node, plan)
        tasks = [
            asyncio.create_task(member.read(await node.subscribe(topic))) for topic in plan.topics
        ]
        say(MemberReady(node.id, node.address, node.admin_address))
        tasks.append(asyncio.create_task(member.report()))
        if plan.topics and plan.rate:
            tasks.append(asyncio.create_task(member.publish()))
        told = asyncio.create_task(_obey(member))
        try:
            await asyncio.wait([*tasks, told], return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in (*tasks, told):
                task.cancel()


async def _obey(member: Member) -> None:
    loop = asyncio.get_running_loop()
    commands: asyncio.Queue[bytes] = asyncio.Queue()
    threading.Thread(target=_listen, args=(loop, commands), daemon=True).start()
    while command := await commands.get():
        if command == GO:
            member.may_publish.set()
        elif command == HUSH:
            member.may_publish.clear()


def _listen(loop: asyncio.AbstractEventLoop, commands: asyncio.Queue[bytes]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended
        while line := os.read(0, 100):
            for command in line.splitlines(keepends=True):
                loop.call_soon_threadsafe(commands.put_nowait, command)
        loop.call_soon_threadsafe(commands.put_nowait, b"")
    time.sleep(LEAVE_S)
    os._exit(1)


def say(message: MemberReady | MemberReport) -> None:
    with contextlib.suppress(BrokenPipeError):  # the swarm has gone; the end of stdin comes next
        sys.stdout.buffer.write(encode(message) + b"\n")
        sys.stdout.buffer.flush()


def _memory(most: int) -> int:
    """Return the resident memory in bytes, or, where the system does not tell it, the peak `most`,
    which is in KiB."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return most * 1024
    return pages * resource.getpagesize()
