"""`orbweaver sub` prints the events on some topics."""

from __future__ import annotations

import asyncio
import base64
import json as json_text
import os
import select
import sys
from typing import Annotated, Any

import typer
from rich.text import Text

from orbweaver.cli.joining import (
    Config,
    Listen,
    LocalJoin,
    OverlayName,
    Set,
    Tls,
    assemble,
    passing_node,
)
from orbweaver.cli.logs import configure_logs
from orbweaver.cli.loops import run
from orbweaver.cli.reading import printable
from orbweaver.cli.terminal import err
from orbweaver.core.ids import check_single_topic
from orbweaver.net.events.subscription import Delivery, Subscription
from orbweaver.net.node import NetworkNode
from orbweaver.net.settings import Settings

BATCH = 10_000
"""Most events in one write to stdout."""
LOOK_S = 0.5
"""Seconds between two looks at whether stdout is still read."""
ALONE_LOOKS = 50
"""Tenths of a second without a link after which the command says that it is alone."""
BUFFER = 200_000
"""Events that may wait to be written; with more, the oldest are missed."""


def sub(
    topics: Annotated[
        list[str], typer.Argument(metavar="TOPIC", help="A topic, such as news/sport; repeatable.")
    ],
    join: LocalJoin = None,
    since: Annotated[
        float,
        typer.Option(
            min=0, help="Also print the events of the last SECONDS that neighbours still have."
        ),
    ] = 0.0,
    ordered: Annotated[
        bool, typer.Option("--ordered", help="Print the events of each publisher in its order.")
    ] = False,
    count: Annotated[int | None, typer.Option(min=1, help="Exit after this many events.")] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print each event as a JSON object on a line.")
    ] = False,
    overlay: OverlayName = None,
    listen: Listen = None,
    tls: Tls = None,
    config: Config = None,
    set: Set = None,
) -> None:
    """Print the events on some topics as they arrive, until Ctrl-C.

    Joins the node of this machine unless --join names another. Each event is
    a line. A payload that is not UTF-8 is printed as `base64:...`. With several topics each line
    begins with its topic and a tab. For scripts, `--json` is safer. Its fields are `topic`,
    `publisher`, `epoch`, `seq`, `payload` (or `payload_base64`), `hops`, and `missed`: how many
    events were left out just before because this program, or the reader of its output, was too
    slow.

    Examples:

        orbweaver sub news/sport

        orbweaver sub logs/web logs/db --join node-1:7700 --since 60 --json
    """
    for topic in topics:
        check_single_topic(topic)
    said = {"overlay": overlay, "listen": listen, "join": join, "tls": tls}
    settings = assemble(config, said, set)
    configure_logs(level="error")
    show = _as_json if json else _as_text(len(topics) > 1)
    run(_sub(settings, list(dict.fromkeys(topics)), since, ordered, Printer(show, count)))


class Printer:
    """Writes events to stdout from a thread, so that a slow reader never stops the node."""

    def __init__(self, show: Any, count: int | None) -> None:
        self._show = show
        self._left = count
        self._one_at_a_time = asyncio.Lock()

    async def follow(self, subscription: Subscription) -> None:
        """Print events until the wanted number is reached or the subscription ends."""
        async for delivery in subscription:
            batch = [delivery]
            while len(subscription) and len(batch) < BATCH:
                batch.append(await subscription.next())
            async with self._one_at_a_time:
                if self._left is not None:
                    batch = batch[: self._left]
                    self._left -= len(batch)
                await asyncio.to_thread(_write, b"".join(map(self._show, batch)))
                if self._left == 0:
                    return


async def _sub(
    settings: Settings, topics: list[str], since: float, ordered: bool, printer: Printer
) -> None:
    async with passing_node(settings) as node:
        reading = [
            asyncio.create_task(
                printer.follow(
                    await node.subscribe(topic, since=since, ordered=ordered, buffer=BUFFER)
                )
            )
            for topic in topics
        ]
        telling = asyncio.create_task(_tell(node, topics))
        left = asyncio.create_task(_reader_left())
        try:
            done, _ = await asyncio.wait([*reading, left], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in (*reading, telling, left):
                task.cancel()


async def _tell(node: NetworkNode, topics: list[str]) -> None:
    """Say on stderr which addresses do not answer, and when the first link is there."""
    for address, why in node.unanswered().items():
        err.print(Text(f"{address} does not let us in: {why}; still trying", "yellow"))
    looks = 0
    while not any(link.connected for link in node.status().links):
        await asyncio.sleep(0.1)
        looks += 1
        if looks == ALONE_LOOKS and not node.unanswered():
            line = f"connected; no other node takes part in {', '.join(topics)} yet"
            err.print(Text(line, "dim"), soft_wrap=True)
    err.print(Text(f"linked; waiting for events on {', '.join(topics)}", "dim"), soft_wrap=True)


async def _reader_left() -> None:
    """Return once the reader of stdout has closed it. A failing write would tell too, but there
    may be nothing to write for a long time."""
    poll = select.poll()
    poll.register(1, 0)
    while not poll.poll(0):
        await asyncio.sleep(LOOK_S)


def _as_json(delivery: Delivery) -> bytes:
    shown: dict[str, Any] = {
        "topic": delivery.topic,
        "publisher": delivery.publisher,
        "epoch": delivery.epoch,
        "seq": delivery.seq,
    }
    try:
        shown["payload"] = delivery.payload.decode()
    except UnicodeDecodeError:
        shown["payload_base64"] = base64.b64encode(delivery.payload).decode()
    shown |= {"hops": delivery.hops, "missed": delivery.missed}
    return json_text.dumps(shown, ensure_ascii=False).encode() + b"\n"


def _as_text(with_topic: bool) -> Any:
    terminal = sys.stdout.isatty()

    def show(delivery: Delivery) -> bytes:
        try:
            text = delivery.payload.decode()
        except UnicodeDecodeError:
            text = "base64:" + base64.b64encode(delivery.payload).decode()
        if terminal:  # escape sequences of a stranger could control the terminal
            text = "\n".join(map(printable, text.split("\n")))
        if delivery.missed:
            err.print(f"{delivery.missed} events missed before the next one")
        return (f"{delivery.topic}\t{text}\n" if with_topic else f"{text}\n").encode()

    return show


def _write(data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(1, left) :]
