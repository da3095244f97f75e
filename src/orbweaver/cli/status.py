"""`orbweaver status` shows what a running node says about itself."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.text import Text

from orbweaver.cli.reading import DEFAULT, duration, printable, read_status, size, trouble
from orbweaver.cli.terminal import err, out, print_json, show, table
from orbweaver.net.admin.status import Status
from orbweaver.net.counters import Counters
from orbweaver.report.watched import (
    COLUMNS,
    WatchSummary,
    lead,
    minute_rows,
    read_watched,
    topic_rows,
)
from orbweaver.report.watched import trouble as trouble_of_watch

ROWS_SHOWN = 20
"""Most minutes, and most topics, of a watch that are printed."""


def status(
    admin: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Address of the node's admin page.")
    ] = DEFAULT,
    watch: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Show the last hour of a whole cluster, of `orbweaver watch`."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the links, topics, queues and counters of a running node.

    The node prints the address of its admin page when it starts. A counter in red should be
    zero. For a live view of one node or of many, see `orbweaver top`.

    Examples:

        orbweaver status

        orbweaver status --admin 127.0.0.1:7711 --json

        orbweaver status --watch out/watch
    """
    if watch is not None:
        watched = read_watched(watch)
        if json:
            print_json(msgspec.to_builtins(watched))
        else:
            print_watched(watched)
        return
    found = read_status(admin)
    if json:
        print_json(msgspec.to_builtins(found))
        return
    _head(found)
    _links(found)
    _topics(found)
    _numbers(found)
    _counters(found)


def print_watched(found: WatchSummary) -> None:
    """Print the last hour of a cluster."""
    out.print(lead(found), soft_wrap=True)
    for title, first, rows in (
        ("by minute of publication", "UTC", minute_rows(found)),
        ("by topic; latencies are of its worst minute", "topic", topic_rows(found)),
    ):
        grid = table(title, first, *COLUMNS)
        for row in rows[:ROWS_SHOWN]:
            grid.add_row(*(printable(cell) for cell in row))
        if rows:
            out.print(grid)
        if len(rows) > ROWS_SHOWN:
            out.print(f"and {len(rows) - ROWS_SHOWN:,} more; --json has all of them")
    for text in trouble_of_watch(found):
        err.print(text, soft_wrap=True)


def _text(value: object, style: str = "") -> Text:
    """Return the value as plain text. Some of it comes from other nodes, so it is never markup."""
    return Text(printable(show(value)), style)


def _head(found: Status) -> None:
    ways = "TCP and UDP" if found.udp else "TCP"
    how = "TLS" if found.secure == "tls" else "not encrypted"
    said = f"{found.overlay}, on {found.listen} ({ways}, {how}), up {duration(found.uptime_s)}"
    out.print(Text.assemble((printable(found.id), "bold"), "  ", printable(said)), soft_wrap=True)
    if not found.links_connected:
        out.print(_text("no link yet", "yellow"))


def _links(found: Status) -> None:
    if not found.links:
        return
    grid = table("links", "peer", "address", "connected", "in", "out", "queued", "bytes queued")
    for link in found.links:
        grid.add_row(
            _text(link.peer),
            _text(link.address),
            _text(link.connected, "" if link.connected else "yellow"),
            *(_text(n) for n in (link.messages_in, link.messages_out, link.queued_messages)),
            _text(size(link.queued_bytes)),
        )
    out.print(grid)


def _topics(found: Status) -> None:
    if not found.topics:
        return
    grid = table("topics", "topic", "subscribers here", "for")
    for topic in found.topics:
        grid.add_row(_text(topic.topic), _text(topic.subscribers), _text(duration(topic.since_s)))
    out.print(grid)


def _numbers(found: Status) -> None:
    grid = table("now", "what", "how many")
    rows: dict[str, object] = {
        "connections": found.connections,
        "peers known": found.peers_known,
        "messages queued": found.queued_messages,
        "bytes queued": size(found.queued_bytes),
    }
    rows |= {f"window: {name}": value for name, value in found.log.items()}
    rows |= {f"overlay: {name}": value for name, value in found.overlay_state.items()}
    for name, value in rows.items():
        grid.add_row(_text(name), _text(value))
    out.print(grid)


def _counters(found: Status) -> None:
    """Print the counters that are not zero, in red those that should be."""
    meanings = {f.name: f.metadata.get("meaning", "") for f in dataclasses.fields(Counters)}
    grid = table("counted since the start", "counter", "count", "meaning")
    grid.columns[2].justify = "left"
    bad = trouble(found.counters)
    for name, value in found.counters.items():
        if value:
            style = "red" if name in bad else ""
            meaning = _text(meanings.get(name, ""), style)
            grid.add_row(_text(name, style), _text(value, style), meaning)
    if grid.row_count:
        out.print(grid)
