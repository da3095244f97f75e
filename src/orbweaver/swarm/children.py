"""The processes of a swarm are started a few at a time; each joins through some that run.

A member leaves at the end of its stdin. The end comes when this process closes the pipe, in
whatever way this process ends, so that no member is left behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import msgspec

from orbweaver.core.errors import UsageError
from orbweaver.core.seeds import sample
from orbweaver.swarm.messages import MemberPlan, MemberReady, MemberReport, decode_said, encode

CONTACTS = 3
"""How many members a new member joins through."""
START_S = 60.0
"""Seconds that a member may take to start."""
LEAVE_S = 6.0
"""Seconds that all members may take to leave. Then those that are left are killed."""
LINE_MAX = 16 << 20
"""Longest line of a member's stdout, in bytes."""


class Child:
    """Holds the process of one member."""

    def __init__(self, number: int, process: Process, log: Path) -> None:
        self.number = number
        self.process = process
        self.log = log
        self.ready: asyncio.Future[MemberReady] = asyncio.get_running_loop().create_future()

    def tell(self, words: bytes) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, RuntimeError):
            self.process.stdin.write(words)

    def last_words(self) -> str:
        try:
            lines = self.log.read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            lines = []
        said = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return said or f"ended with code {self.process.returncode}"


class Children:
    def __init__(
        self,
        command: Sequence[str],
        logs: Path,
        reported: Callable[[int, MemberReport], None],
        seed: int,
    ) -> None:
        """Prepare to start members with `command`. What a member writes to stderr goes into a file
        in `logs`; its reports go to `reported`, with its number."""
        self._command = command
        self._logs = logs
        self._reported = reported
        self._chance = Random(seed)
        self._readers: set[asyncio.Task[None]] = set()
        self.all: list[Child] = []
        self.leaving = False

    async def start(self, plans: Sequence[MemberPlan], at_once: int) -> list[MemberReady]:
        """Start all members: the first one alone, then `at_once` at a time."""
        addresses = [(await self._start_one(0, plans[0], [])).address]
        turns = asyncio.Semaphore(at_once)

        async def one(number: int, plan: MemberPlan) -> MemberReady:
            async with turns:
                ready = await self._start_one(number, plan, addresses)
                addresses.append(ready.address)
                return ready

        try:
            async with asyncio.TaskGroup() as group:
                for number, plan in enumerate(plans[1:], 1):
                    group.create_task(one(number, plan))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        self.all.sort(key=lambda child: child.number)
        return [child.ready.result() for child in self.all]

    def tell(self, words: bytes) -> None:
        for child in self.all:
            child.tell(words)

    def up(self) -> int:
        return sum(c.ready.done() and c.process.returncode is None for c in self.all)

    def lost(self) -> dict[str, str]:
        """Return the members whose process has ended, and the last line that each logged."""
        return {
            f"node {child.number}": child.last_words()
            for child in self.all
            if child.process.returncode is not None
        }

    async def stop(self) -> None:
        self.leaving = True
        for child in self.all:
            if child.process.stdin is not None:
                child.process.stdin.close()
        deadline = time.monotonic() + LEAVE_S
        for child in self.all:
            try:
                async with asyncio.timeout(max(0.1, deadline - time.monotonic())):
                    await child.process.wait()
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    child.process.kill()
                await child.process.wait()
        await asyncio.gather(*self._readers, return_exceptions=True)

    # -- inside

    async def _start_one(self, number: int, plan: MemberPlan, addresses: list[str]) -> MemberReady:
        join = sample(self._chance, addresses, min(CONTACTS, len(addresses)))
        plan = msgspec.structs.replace(plan, settings=plan.settings | {"join": list(join)})
        log = self._logs / f"node-{number:03}.log"
        with log.open("wb") as file:
            # A session of its own: a Ctrl-C in the terminal is for the swarm, not for its members.
            process = await asyncio.create_subprocess_exec(
                *self._command, stdin=PIPE, stdout=PIPE, stderr=file, limit=LINE_MAX,
                start_new_session=True,
            )  # fmt: skip
        child = Child(number, process, log)
        self.all.append(child)
        child.tell(encode(plan) + b"\n")
        reader = asyncio.create_task(self._read(child))
        self._readers.add(reader)
        reader.add_done_callback(self._readers.discard)
        try:
            async with asyncio.timeout(START_S):
                return await child.ready
        except TimeoutError:
            raise UsageError(f"node {number} did not start in {START_S:.0f} s; see {log}") from None

    async def _read(self, child: Child) -> None:
        assert child.process.stdout is not None
        while line := await child.process.stdout.readline():
            said = decode_said(line)
            if isinstance(said, MemberReport):
                self._reported(child.number, said)
            elif not child.ready.done():  # it is done if the start was given up
                child.ready.set_result(said)
        await child.process.wait()
        if not child.ready.done():
            child.ready.set_exception(
                UsageError(f"node {child.number} did not start: {child.last_words()}")
            )
