"""One node in a process of its own, told what to do on stdin, telling what happens on stdout.

Lines of JSON both ways. The first line in is {"settings": ..., "topics": [...]}. Then
{"flow": seconds} makes the node publish on its first topic, one event each so many seconds,
until {"flow": 0}; {"publish": [topic, text]} publishes once; {"status": true} asks for counters
and neighbours; end of file stops the node in good order.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import orbweaver


def tell(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


async def read(subscription: orbweaver.Subscription) -> None:
    async for got in subscription:
        event = [got.topic, got.publisher, got.epoch, got.seq, got.payload.decode()]
        tell(got=event, hops=got.hops, missed=got.missed)


async def publish(node: orbweaver.Node, topic: str, text: str) -> None:
    receipt = await node.publish(topic, text)
    publisher, epoch, _, seq = receipt.event
    tell(published=[topic, publisher, epoch, seq, text], to=receipt.neighbours)


async def flow(node: orbweaver.Node, topic: str, seconds: float) -> None:
    count = 0
    while True:
        await publish(node, topic, f"{node.id} {count}")
        count += 1
        await asyncio.sleep(seconds)


async def commands() -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


async def main() -> None:
    lines = await commands()
    first = json.loads(await lines.readline())
    flowing: asyncio.Task[None] | None = None
    async with orbweaver.Node(**first["settings"]) as node:
        readers = [asyncio.create_task(read(await node.subscribe(t))) for t in first["topics"]]
        tell(ready=[node.id, node.address])
        while line := await lines.readline():
            command = json.loads(line)
            if "flow" in command:
                if flowing is not None:
                    flowing.cancel()
                flowing = None
                if command["flow"]:
                    work = flow(node, first["topics"][0], command["flow"])
                    flowing = asyncio.create_task(work)
                tell(flows=command["flow"])
            elif "publish" in command:
                await publish(node, *command["publish"])
            else:
                tell(counters=node.counters.as_dict(), neighbours=node.neighbours())
    if flowing is not None:
        flowing.cancel()
    await asyncio.gather(*readers)


if __name__ == "__main__":
    asyncio.run(main())
