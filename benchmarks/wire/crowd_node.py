"""Runs one of many nodes, each in its own process: publishes on its topics and counts events."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from typing import Any

import orbweaver
from orbweaver.core.messages import Message
from wire.payload import make, padding, read
from wire.talk import orders, tell


class Meter:
    """Takes the place of a recorder and counts the bytes of messages that carry no event."""

    def __init__(self) -> None:
        self.control_bytes = 0

    def sent(self, message: Message, size: int) -> None:
        if not message.carries:
            self.control_bytes += size

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


class CrowdNode:
    def __init__(self, node: orbweaver.Node, spec: dict[str, Any]) -> None:
        self._node = node
        self._topics: list[str] = spec["topics"]
        self._first = spec["number"] << 20
        self._rng = random.Random(spec["number"])
        self._pad = padding(spec["size"])
        self._meter = Meter()
        host: Any = node._running()
        host.recorder = self._meter
        self._round = 0
        self._begin(0)

    def _begin(self, round: int) -> None:
        self._round = round
        self._sent: dict[str, int] = {}
        self._got: dict[str, int] = {}
        self._seen: set[int] = set()
        self._repeated = 0
        self._latencies: list[int] = []
        self._cpu, self._since = time.process_time(), time.monotonic()
        self._control = self._meter.control_bytes

    async def read(self, topic: str) -> None:
        async for event in await self._node.subscribe(topic):
            round, number, sent_ns = read(event.payload)
            if round == self._round:
                self._repeated += number in self._seen
                self._seen.add(number)
                self._got[topic] = self._got.get(topic, 0) + 1
                self._latencies.append((time.time_ns() - sent_ns) // 1000)

    async def publish(self, rate: float, seconds: float) -> None:
        """Publish at a rate, at moments that are independent of the other nodes."""
        start = due = time.perf_counter()
        count = 0
        while rate and due < start + seconds:
            due += self._rng.expovariate(rate)
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            topic = self._rng.choice(self._topics)
            await self._node.publish(topic, make(self._round, self._first + count, self._pad))
            self._sent[topic] = self._sent.get(topic, 0) + 1
            count += 1
        await asyncio.sleep(max(0.0, start + seconds - time.perf_counter()))

    async def follow_orders(self) -> None:
        loop = asyncio.get_running_loop()
        given = orders()
        while order := await loop.run_in_executor(None, next, given):
            if order["do"] == "begin":
                self._begin(order["round"])
                tell(ready=True)
            elif order["do"] == "publish":
                await self.publish(order["rate"], order["seconds"])
                seconds = time.monotonic() - self._since
                tell(
                    sent=self._sent,
                    cpu_share=(time.process_time() - self._cpu) / seconds,
                    control_per_s=(self._meter.control_bytes - self._control) / seconds,
                    links=len(self._node.neighbours()),
                )
            elif order["do"] == "report":
                deadline = time.monotonic() + order["patience_s"]
                while sum(self._got.values()) < order["expect"] and time.monotonic() < deadline:
                    await asyncio.sleep(0.05)
                counters = self._node.counters.as_dict()
                tell(
                    got=self._got,
                    repeated=self._repeated,
                    latencies_us=self._latencies,
                    counters={n: counters[n] for n in ("missed", "dropped_data", "caught_up")},
                )


async def main(spec: dict[str, Any]) -> None:
    async with orbweaver.Node(overlay=spec["overlay"], sign=True, join=spec["join"]) as node:
        member = CrowdNode(node, spec)
        readers = [asyncio.create_task(member.read(topic)) for topic in spec["topics"]]
        tell(address=node.address)
        await member.follow_orders()
        del readers


if __name__ == "__main__":
    import json

    asyncio.run(main(json.loads(sys.argv[1])))
