"""Run a swarm from its start to its end: weave, publish, wait for the last event, leave."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from orbweaver.swarm.children import Children
from orbweaver.swarm.messages import GO, HUSH, REPORT_S, MemberPlan
from orbweaver.swarm.totals import SwarmTotals

WEAVE_S = 20.0
"""Seconds after which publications begin even if links still change."""
STEADY = 4
"""Number of reports in a row with the same number of links after which the overlay counts as
formed."""
LAST_S = 20.0
"""Seconds that the last events may take: nodes catch up with a neighbour every five seconds."""


class Swarm:
    def __init__(self, command: Sequence[str], plans: Sequence[MemberPlan], folder: Path) -> None:
        """Prepare a swarm with one member for each plan, which `command` starts. `folder` gets the
        logs, and a file with the addresses of the admin pages."""
        self.plans = plans
        self.totals = SwarmTotals(plans)
        self.state = "starting"
        self.begun_at = time.monotonic()
        self.seconds = 0.0
        """How many seconds the members have published."""
        self.admin_file = folder / "admin.txt"
        logs = folder / "log"
        logs.mkdir(exist_ok=True)
        self.children = Children(command, logs, self.totals.reports.__setitem__, plans[0].seed)

    async def __aenter__(self) -> Swarm:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.state = "leaving"
        await self.children.stop()

    async def start(self, at_once: int) -> None:
        ready = await self.children.start(self.plans, at_once)
        lines = [f"{member.admin}  # node {i}, {member.id}" for i, member in enumerate(ready)]
        self.admin_file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    async def weave(self) -> None:
        """Wait until links no longer change."""
        self.state = "weaving"
        steady, before = 0, -1

        def woven() -> bool:
            nonlocal steady, before
            links = self.totals.links()
            same = sum(links) == before and len(links) == len(self.plans) and min(links) > 0
            steady, before = steady + 1 if same else 0, sum(links)
            return steady >= STEADY

        if len(self.plans) > 1:
            await _until(woven, WEAVE_S)

    async def publish(self, seconds: float | None) -> None:
        """Let the members publish for `seconds`, or until cancelled."""
        self.state = "publishing"
        self.totals.begin()
        self.children.tell(GO)
        begun = time.monotonic()
        try:
            while seconds is None or self.seconds < seconds:
                await asyncio.sleep(min(0.1, seconds or 0.1))
                self.seconds = time.monotonic() - begun
        finally:
            self.children.tell(HUSH)
            self.totals.end()

    async def finish(self) -> None:
        """Wait until every event has arrived, or `LAST_S` seconds have passed."""
        self.state = "waiting for the last"
        await asyncio.sleep(2 * REPORT_S)  # all publications have been reported by then
        await _until(lambda: self.totals.missing == 0, LAST_S)


async def _until(done: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not done() and time.monotonic() < deadline:
        await asyncio.sleep(REPORT_S)
