"""nats-py clients of a nats-server. Subscribers have callbacks and unlimited queues."""

from __future__ import annotations

import asyncio
from typing import Any

import nats

from wire.payload import TOPIC, Tally
from wire.talk import answer_for, publish_by_loop, tell

SUBJECT = TOPIC.replace("/", ".")


def publisher(spec: dict[str, Any]) -> None:
    async def run() -> None:
        client = await nats.connect(f"nats://{spec['address']}")
        tell(address=spec["address"])
        await publish_by_loop(lambda payload: client.publish(SUBJECT, payload), client.flush)

    asyncio.run(run())


def subscriber(spec: dict[str, Any]) -> None:
    tally = Tally()

    async def run() -> None:
        client = await nats.connect(f"nats://{spec['address']}")

        async def take(message: Any) -> None:
            tally.take(message.data)

        await client.subscribe(SUBJECT, cb=take, pending_msgs_limit=-1, pending_bytes_limit=-1)
        await client.flush()
        answer_for(tally)
        tell(ready=True)
        await asyncio.Event().wait()

    asyncio.run(run())
