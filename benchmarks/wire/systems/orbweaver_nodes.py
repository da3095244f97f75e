"""Our own nodes, as an application embeds them."""

from __future__ import annotations

import asyncio
from typing import Any

import orbweaver
from wire.payload import TOPIC, Tally
from wire.talk import answer_for, publish_by_loop, tell


def _settings(spec: dict[str, Any]) -> dict[str, Any]:
    return {"overlay": spec.get("overlay", "spidercast"), "sign": spec["sign"]}


NOTED = ("missed", "caught_up", "repeated", "dropped_data", "dropped_control", "flooded", "forged")
"""Counters that are zero when all goes well."""


def _noted(node: orbweaver.Node) -> dict[str, int]:
    counters = node.counters.as_dict()
    return {name: counters[name] for name in NOTED if counters[name]}


def publisher(spec: dict[str, Any]) -> None:
    async def run() -> None:
        async with orbweaver.Node(**_settings(spec)) as node:
            if spec.get("each"):
                # Each event is signed by itself, to show what signing in batches gains.
                node._runs.events_max = 1
            tell(address=node.address)
            await publish_by_loop(
                lambda payload: node.publish(TOPIC, payload),
                node.drain,
                lambda: {"counters": _noted(node)},
            )

    asyncio.run(run())


def subscriber(spec: dict[str, Any]) -> None:
    tally = Tally()

    async def run() -> None:
        async with orbweaver.Node(**_settings(spec), join=[spec["address"]]) as node:
            events = await node.subscribe(TOPIC)

            answer_for(tally, lambda: {"counters": _noted(node)})
            tell(ready=True)
            async for event in events:
                tally.take(event.payload)

    asyncio.run(run())
