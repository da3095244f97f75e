"""Tells the processes of a measurement what to do, by lines of JSON in and out."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from wire.payload import PROBE, Tally, make, padding

BURST = 64
"""Number of messages between two looks at the clock."""


def tell(**facts: Any) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def orders() -> Iterator[dict[str, Any]]:
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] == "stop":
            break
        yield order
    os._exit(0)  # nothing in here is worth an orderly end


def answer_for(tally: Tally, also: Callable[[], dict[str, Any]] = dict) -> None:
    """Answer orders as a subscriber, in a thread that sleeps while messages come. `also` adds what
    the system itself reports."""
    threading.Thread(target=_answer, args=(tally, also), daemon=True).start()


def _answer(tally: Tally, also: Callable[[], dict[str, Any]]) -> None:
    for order in orders():
        if order["do"] == "begin":
            tally.begin(order["round"], order["latency"])
            cpu = time.process_time()
            tell(probed=tally.probed)
        elif order["do"] == "report":
            _await(tally, order["expect"], order["patience_s"])
            tell(**tally.facts(), cpu_s=time.process_time() - cpu, **also())


def _await(tally: Tally, expect: int, patience_s: float) -> None:
    """Wait until all messages are here, or none has come for a while."""
    got, since = tally.got, time.monotonic()
    while tally.got < expect and time.monotonic() - since < patience_s:
        if tally.got != got:
            got, since = tally.got, time.monotonic()
        time.sleep(0.02)


class Round:
    """One round of a publisher: as fast as it goes for some seconds, or at a rate."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.round: int = order["round"]
        self.pad = padding(order["size"])
        self.interval = 1 / order["rate"] if order["rate"] else 0.0
        self.count = 0
        self.start_ns = time.time_ns()
        self._cpu = time.process_time()
        self._start = time.perf_counter()
        self._seconds: float = order["seconds"]

    @property
    def over(self) -> bool:
        return time.perf_counter() - self._start >= self._seconds

    def next(self) -> bytes:
        payload = make(self.round, self.count, self.pad)
        self.count += 1
        return payload

    def due(self) -> int:
        """Return how many messages to send now."""
        if not self.interval:
            return BURST
        return int((time.perf_counter() - self._start) / self.interval) - self.count + 1

    def facts(self) -> dict[str, Any]:
        return {
            "sent": self.count,
            "start_ns": self.start_ns,
            "end_ns": time.time_ns(),
            "cpu_s": time.process_time() - self._cpu,
        }


def publish_by(
    publish: Callable[[bytes], Any],
    breathe: Callable[[], Any] = lambda: None,
    drained: Callable[[], Any] = lambda: None,
) -> None:
    """Answer orders as a publisher, for clients without a loop. `breathe` is called now and then,
    `drained` returns when all messages are out."""
    for order in orders():
        if order["do"] == "probe":
            publish(make(PROBE, 0, b""))
            drained()
            tell(probe=True)
            continue
        round = Round(order)
        while not round.over:
            for _ in range(round.due()):
                publish(round.next())
            breathe()
            if round.interval:
                time.sleep(round.interval)
        drained()
        tell(**round.facts())


async def publish_by_loop(
    publish: Callable[[bytes], Awaitable[Any]],
    drained: Callable[[], Awaitable[Any]],
    also: Callable[[], dict[str, Any]] = dict,
) -> None:
    """Answer orders as a publisher, for asyncio."""
    import asyncio

    loop = asyncio.get_running_loop()
    given = orders()
    while order := await loop.run_in_executor(None, next, given):
        if order["do"] == "probe":
            await publish(make(PROBE, 0, b""))
            await drained()
            tell(probe=True)
            continue
        round = Round(order)
        while not round.over:
            for _ in range(round.due()):
                await publish(round.next())
            if round.interval:
                await asyncio.sleep(round.interval)
        await drained()
        tell(**round.facts(), **also())
