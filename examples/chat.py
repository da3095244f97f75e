"""A chat without a server: each person runs a node, a room is a topic, a line is an event.

    python examples/chat.py ada                                # prints the address to join
    python examples/chat.py bob --join 127.0.0.1:40123

A person that comes later is shown the lines of the last five minutes: the other nodes keep the
events of their topics for that long. Any node may leave, the first one too. Ctrl-D ends.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys

import orbweaver

HISTORY_S = 300.0
LEAVE_S = 10.0
"""Seconds in which a neighbour must have read our last lines."""


async def show(room: orbweaver.Subscription) -> None:
    """Print the lines of the others, each person's lines in their order."""
    async for event in room:
        if event.missed:
            print(f"({event.missed} lines are missing)", flush=True)
        try:
            said = json.loads(event.payload)
            line = f"{said['name']}: {said['text']}"
        except (ValueError, KeyError, TypeError):
            continue  # any program may publish on the topic
        # Escape sequences that other programs send could do anything to the terminal.
        print("".join(c if c.isprintable() else "?" for c in line), flush=True)


async def typed_lines() -> asyncio.StreamReader:
    """Read stdin, a terminal or a pipe, without a thread."""
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    return lines


async def chat(name: str, topic: str, join: list[str], listen: str) -> None:
    async with orbweaver.Node(listen=listen, join=join) as node:
        print(f"{topic}, node {node.id}; join with --join {node.address}", flush=True)
        with await node.subscribe(topic, since=HISTORY_S, ordered=True) as room:
            showing = asyncio.create_task(show(room))
            lines = await typed_lines()
            while line := await lines.readline():
                if text := line.decode(errors="replace").strip():
                    await node.publish(topic, json.dumps({"name": name, "text": text}))
            try:
                await node.drain(LEAVE_S)
            except TimeoutError:
                print("no node was there to read your last lines", file=sys.stderr)
        await showing


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", help="what others see")
    parser.add_argument("--room", default="lobby", help="what you talk about")
    parser.add_argument("--join", action="append", default=[], metavar="HOST:PORT")
    parser.add_argument("--listen", default="127.0.0.1:0", metavar="HOST:PORT")
    given = parser.parse_args()
    try:
        asyncio.run(chat(given.name, f"chat/{given.room}", given.join, given.listen))
    except orbweaver.UsageError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
