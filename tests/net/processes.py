"""Nodes in processes of their own, and what is known of them from outside."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("node_process.py")
DEADLINE_S = 120.0
"""For whatever is waited for; it is a bug, and not a busy machine, that takes longer."""

Event = tuple[str, str, int, int, str]
"""(topic, publisher, epoch, number, text)"""


class Process:
    """One life of a node."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        topics: Sequence[str],
        before: Process | None = None,
    ) -> None:
        self.before = before
        """Its life before this one."""
        self.topics = list(topics)
        self.id = self.address = ""
        self.published: list[Event] = []
        self.got: Counter[Event] = Counter()
        self.got_at: dict[Event, float] = {}
        self.killed_at = 0.0
        self.missed = 0
        self.counters: dict[str, int] = {}
        self.neighbours: list[str] = []
        self.alive = True
        self._process = process
        self._heard = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())
        self._flows = 0.0
        self._answers = 0

    def has(self, event: Event) -> bool:
        """Got it, in this life or one before."""
        return self.got[event] > 0 or (self.before is not None and self.before.has(event))

    async def wait_ready(self) -> None:
        await self.wait_for(lambda: bool(self.id))

    async def flow(self, seconds: float) -> None:
        """Publish an event each so many seconds, or, with 0, none any more."""
        self._say(flow=seconds)
        await self.wait_for(lambda: self._flows == seconds)

    async def publish(self, topic: str, text: str) -> Event:
        count = len(self.published)
        self._say(publish=[topic, text])
        await self.wait_for(lambda: len(self.published) > count)
        return self.published[-1]

    async def look(self) -> None:
        """Ask for counters and neighbours."""
        count = self._answers
        self._say(status=True)
        await self.wait_for(lambda: self._answers > count)

    async def kill(self) -> None:
        """kill -9."""
        self.alive = False
        self.killed_at = time.monotonic()
        self._process.kill()
        await self._process.wait()
        await self._reading

    def freeze(self, frozen: bool) -> None:
        """Let it do nothing for a while, as a machine does that is out of memory."""
        self._process.send_signal(signal.SIGSTOP if frozen else signal.SIGCONT)

    async def stop(self) -> None:
        """In good order."""
        if self.alive:
            self.alive = False
            assert self._process.stdin is not None
            self._process.stdin.close()
            async with asyncio.timeout(DEADLINE_S):
                await self._process.wait()
                await self._reading
            assert self._process.returncode == 0

    async def wait_for(self, condition: Callable[[], bool]) -> None:
        async with self._heard, asyncio.timeout(DEADLINE_S):
            await self._heard.wait_for(lambda: condition() or self._reading.done())
        assert condition(), "the process is gone"

    def _say(self, **what: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what).encode() + b"\n")

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            if line.endswith(b"\n"):  # the last of one that is killed may be half a line
                self._hear(json.loads(line))
                async with self._heard:
                    self._heard.notify_all()

    def _hear(self, told: dict[str, Any]) -> None:
        if "got" in told:
            event = tuple(told["got"])
            self.got[event] += 1
            self.got_at.setdefault(event, time.monotonic())
            self.missed += told["missed"]
        elif "published" in told:
            self.published.append(tuple(told["published"]))
        elif "ready" in told:
            self.id, self.address = told["ready"]
        elif "flows" in told:
            self._flows = told["flows"]
        else:
            self.counters, self.neighbours = told["counters"], told["neighbours"]
            self._answers += 1


class Fleet:
    """All processes of a test."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.lives: list[Process] = []
        self._settings = settings

    async def start(
        self,
        topics: Sequence[str],
        *,
        before: Process | None = None,
        prefix: Sequence[str] = (),
        **settings: Any,
    ) -> Process:
        """A node that subscribes to `topics`; `prefix` is put before the command."""
        process = await asyncio.create_subprocess_exec(
            *prefix, sys.executable, str(SCRIPT),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
        node = Process(process, topics, before)
        self.lives.append(node)
        node._say(settings={**self._settings, **settings}, topics=list(topics))
        return node

    async def started(self, topics: Sequence[str], **settings: Any) -> Process:
        node = await self.start(topics, **settings)
        await node.wait_ready()
        return node

    @property
    def up(self) -> list[Process]:
        return [node for node in self.lives if node.alive]

    async def look(self) -> None:
        await asyncio.gather(*(node.look() for node in self.up))


@asynccontextmanager
async def fleet(**settings: Any) -> AsyncIterator[Fleet]:
    made = Fleet(settings)
    try:
        yield made
    except BaseException:
        for node in made.up:
            await node.kill()
        raise
    await asyncio.gather(*(node.stop() for node in made.up))


def missing(readers: Sequence[Process], publishers: Sequence[Process]) -> list[tuple[str, Event]]:
    """What subscribers lack of what was published: (node, event)."""
    events = [event for node in publishers for event in node.published]
    return [
        (node.id, event)
        for node in readers
        for event in events
        if event[0] in node.topics and event[1] != node.id and not node.has(event)
    ]


async def until(condition: Callable[[], bool]) -> float:
    """Wait for it, and say how long it took. Whether it came is for the caller to ask, who
    can say more than that the time was up."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while not condition() and loop.time() - began < DEADLINE_S:
        await asyncio.sleep(0.1)
    return loop.time() - began
