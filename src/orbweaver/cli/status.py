"""`orbweaver status` shows what a running node says about itself."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import msgspec
import typer
from rich.text import Text

from orbweaver.cli.reading import DEFAULT, duration, printable, read_status, size, trouble
from orbweaver.cli.terminal import out, print_json, show, table
from orbweaver.net.admin.status import Status
from orbweaver.net.counters import Counters


def status(
    admin: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Address of the node's admin page.")
    ] = DEFAULT,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the links, topics, queues and counters of a running node.

    The node prints the address of its admin page when it starts. A counter in red should be
    zero. For a live view of one node or of many, see `orbweaver top`.

    Examples:

        orbweaver status

        orbweaver status --admin 127.0.0.1:7711 --json
    """
    found = read_status(admin)
    if json:
        print_json(msgspec.to_builtins(found))
        return
    _head(found)
    _links(found)
    _topics(found)
    _numbers(found)
    _counters(found)


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
