"""`orbweaver pub` publishes events, and leaves once neighbours have taken them."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator
from typing import Annotated

import typer

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
from orbweaver.cli.loops import carry_on, run
from orbweaver.cli.terminal import err
from orbweaver.core.errors import UsageError
from orbweaver.core.ids import check_single_topic
from orbweaver.net.events.handover import Handover
from orbweaver.net.node import NetworkNode
from orbweaver.net.settings import Settings

CHUNK = 1 << 16
LOOSE_MAX = 800
"""Most published events that no neighbour has taken yet. A neighbour's window holds more, so a
publisher that is faster than its neighbours does not overrun them."""


def pub(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic, such as news/sport.")],
    message: Annotated[
        str,
        typer.Argument(
            metavar="MESSAGE|-", help="The payload. With `-`, each line of stdin is an event."
        ),
    ] = "-",
    join: LocalJoin = None,
    wait: Annotated[
        float, typer.Option(min=0, help="Seconds within which a neighbour must take each event.")
    ] = 10.0,
    linger: Annotated[
        float,
        typer.Option(min=0, help="Seconds to stay after the last event, for neighbours to pull."),
    ] = 1.0,
    overlay: OverlayName = None,
    listen: Listen = None,
    tls: Tls = None,
    config: Config = None,
    set: Set = None,
) -> None:
    """Publish an event, or each line of stdin, and leave.

    Joins the node of this machine unless --join names another. Ends with code 0 once a
    neighbour has taken every event and passes it on. Ends with code 1 if no neighbour took
    some events, and says how many.

    Examples:

        orbweaver pub news/sport "kick-off"

        tail -f access.log | orbweaver pub logs/web --join node-1:7700 --tls keys/me
    """
    check_single_topic(topic)
    said = {"overlay": overlay, "listen": listen, "join": join, "tls": tls}
    settings = assemble(config, said, set)
    configure_logs(level="error")
    done = run(_pub(settings, topic, message, wait, linger))
    if not done:
        raise typer.Exit(1)


async def _pub(settings: Settings, topic: str, message: str, wait: float, linger: float) -> bool:
    """Publish and return whether neighbours have taken every event."""
    count = 0
    async with passing_node(settings) as node:
        handover = Handover(node)
        wrong: UsageError | None = None
        patience = wait
        try:
            async for payload in _lines() if message == "-" else _only(message.encode()):
                receipt = await handover.publish(topic, payload)
                count += 1
                most = LOOSE_MAX if receipt.neighbours else 0
                if handover.loose > most and not await handover.settle(wait, most // 2):
                    patience = 0.0
                    break
        except UsageError as error:  # too large; the events before it are still handed over
            wrong = error
        except asyncio.CancelledError:  # Ctrl-C; the events read so far are still handed over
            carry_on()
        try:
            if await handover.settle(patience) and count:
                await asyncio.sleep(linger)
        finally:
            _report(node, handover, topic, count, wait)
        if wrong is not None:
            raise wrong
    return not handover.loose


def _report(node: NetworkNode, handover: Handover, topic: str, count: int, wait: float) -> None:
    peers = len(handover.takers)
    declined = "; ".join(
        f"peer {peer} did not take an event: {why}" for peer, why in node.declined().items()
    )
    if not handover.loose:
        err.print(f"{_many(count, 'event')} to {_many(peers, 'neighbour')}")
        if declined:
            err.print(declined)
        return
    refused = "; ".join(f"{address}: {why}" for address, why in node.unanswered().items())
    if declined:
        reason = declined
    elif peers or not refused:
        reason = f"does any other node subscribe to {topic}?"
    else:
        reason = f"no node lets us in ({refused})"
    line = f"no neighbour took {handover.loose} of {_many(count, 'event')} in {wait:g} s: {reason}"
    print(f"orbweaver: {line}", file=sys.stderr)


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count:,} {what}s"


async def _only(payload: bytes) -> AsyncIterator[bytes]:
    yield payload


async def _lines() -> AsyncIterator[bytes]:
    """Yield the lines of stdin, from a pipe, a terminal or a file.

    A thread reads, since asyncio cannot wait for a file. It reads past Python's buffer, because
    it would hold the buffer's lock when the process ends."""
    if sys.stdin.isatty():
        err.print("each line is an event; Ctrl-D ends")
    loop = asyncio.get_running_loop()
    chunks: asyncio.Queue[bytes] = asyncio.Queue(maxsize=4)

    def read() -> None:
        while True:
            chunk = os.read(0, CHUNK)
            try:
                asyncio.run_coroutine_threadsafe(chunks.put(chunk), loop).result()
            except (RuntimeError, asyncio.CancelledError):  # the loop has ended
                return
            if not chunk:
                return

    threading.Thread(target=read, daemon=True).start()
    rest = b""
    while chunk := await chunks.get():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line
    if rest:
        yield rest
