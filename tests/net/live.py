"""Live nodes for tests: in one process, over loopback, with overlay time running faster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from orbweaver.net.node import NetworkNode
from orbweaver.net.settings import make_settings
from orbweaver.overlays.catalog import find

TEMPO = 10.0
QUICK = {"catch_up_s": 5.0, "rejoin_s": 5.0}
"""In overlay time."""


def make_node(overlay: str = "spidercast", *, tempo: float = TEMPO, **settings: Any) -> NetworkNode:
    made = make_settings({"overlay": overlay, **QUICK, **settings})
    return NetworkNode(find(overlay), made, tempo=tempo)


@asynccontextmanager
async def nodes(
    count: int, overlay: str = "spidercast", topics: Sequence[str] = (), **settings: Any
) -> AsyncIterator[list[NetworkNode]]:
    """So many nodes that have joined through the first; with a reader of each topic that is
    never read, if topics are given."""
    async with AsyncExitStack() as stack:
        made: list[NetworkNode] = []
        for _ in range(count):
            join = [made[0].address] if made else []
            node = make_node(overlay, join=join, **settings)
            made.append(await stack.enter_async_context(node))
            for topic in topics:
                await node.subscribe(topic)
        if topics:
            await until(lambda: all(node.neighbours() for node in made))
        yield made


async def until(condition: Callable[[], bool], timeout: float = 180.0) -> None:
    """Wait for a condition; the limit is generous, because machines are busy."""
    async with asyncio.timeout(timeout):
        while not condition():
            await asyncio.sleep(0.01)
