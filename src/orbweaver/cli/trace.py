"""`orbweaver trace` follows one event through records."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from orbweaver.cli.options import Json
from orbweaver.cli.terminal import out, print_json, table, this_command
from orbweaver.core.errors import UsageError
from orbweaver.metrics.missed import Stops
from orbweaver.metrics.trace import EventTrace, follow, missed_of_events
from orbweaver.records import Records
from orbweaver.records.files import check_file
from orbweaver.records.gather import gather
from orbweaver.records.node_files import has_files
from orbweaver.records.writers import has_records, read_about, read_records
from orbweaver.report.look import check_can_draw
from orbweaver.report.trace import HOP_COLUMNS, hop_rows, lead, tell

EVENTS_SHOWN = 20
"""Most events that are listed."""
HOPS_SHOWN = 100
"""Most hops that are printed of an event without --node."""
MISSED_SHOWN = 20
"""Most nodes that are printed of those that an event did not reach."""


def trace(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="RECORDS",
            help="A folder of `simulate --records-out DIR --copies`, or of nodes that ran with the "
            "settings records and records_copies, gathered or not.",
        ),
    ],
    event: Annotated[
        str | None,
        typer.Option(help="Name of the event. [default: list the events that missed most nodes]"),
    ] = None,
    node: Annotated[
        str | None, typer.Option(help="Tell the way to this node, or why there was none.")
    ] = None,
    out_file: Annotated[
        Path | None, typer.Option("--out", help="Write an HTML page with a picture here.")
    ] = None,
    json: Json = False,
) -> None:
    """Follow an event from node to node, and tell why a node did not get it.

    Prints each copy of the event with the time it took and what became of it: the first at its
    receiver, a duplicate, pulled, lost or refused. For a node that did not get the event, it prints
    the last node that had it, and why it went no further.

    Examples:

        orbweaver simulate --overlay random --records-out records --copies

        orbweaver trace records

        orbweaver trace records --event 17-0-2-t5 --node 3
    """
    if out_file is not None:
        check_file(out_file)
        check_can_draw()
    records, about = _read(folder)
    live = "start_ms" in about
    if event is None:
        if node is not None or out_file is not None:
            raise UsageError("--node and --out need --event, the name of an event")
        _list_events(records, json)
        return
    found = follow(records, event)
    stops = Stops(records, found)
    chosen = None if node is None else _parse_node(node, records, live)
    asked = found.missed() if chosen is None else [chosen]
    whys = [stops.why(one) for one in asked]
    hops = found.hops if chosen is None else _of_node(found, chosen)

    def name(number: int) -> str:
        return f"{number:016x}" if live else str(number)

    if out_file is not None:
        from orbweaver.report.trace_page import write_trace

        write_trace(out_file, found, whys, name, this_command())
    if json:
        print_json(msgspec.to_builtins({"trace": found, "why": whys}, str_keys=True))
        return

    out.print(lead(found, name), soft_wrap=True)
    grid = table(event, *HOP_COLUMNS)
    for row in hop_rows(found, hops[:HOPS_SHOWN], name):
        grid.add_row(*row)
    if hops:
        out.print(grid)
    if len(hops) > HOPS_SHOWN:
        out.print(f"and {len(hops) - HOPS_SHOWN:,} more; --json has all of them")
    for stop in whys[:MISSED_SHOWN]:
        out.print(tell(stop, found, name), soft_wrap=True)
    if len(whys) > MISSED_SHOWN:
        out.print(f"and {len(whys) - MISSED_SHOWN:,} more nodes; --json has all of them")
    if out_file is not None:
        out.print(f"The page with a picture: {out_file}", soft_wrap=True)


def _read(folder: Path) -> tuple[Records, Mapping[str, Any]]:
    if has_records(folder):
        return read_records(folder), read_about(folder)
    if not has_files(folder):
        raise UsageError(
            f"{folder} has no records: name a folder of `simulate --records-out` or of "
            "`gather`, or the folder that the setting records of nodes names"
        )
    records, found = gather(folder)
    return records, msgspec.to_builtins(found)


def _list_events(records: Records, json: bool) -> None:
    events = missed_of_events(records)
    if json:
        print_json([{"event": name, "owed": owed, "missed": n} for name, owed, n in events])
        return
    grid = table(f"{len(events):,} events", "event", "nodes owed", "nodes missed")
    for name, owed, missed in events[:EVENTS_SHOWN]:
        grid.add_row(name, f"{owed:,}", f"{missed:,}")
    out.print(grid)


def _of_node(found: EventTrace, node: int) -> list[Any]:
    """Return the way to a node, then the other copies that were meant for it."""
    path = found.path(node)
    return path + [hop for hop in found.hops if hop.receiver == node and hop not in path]


def _parse_node(text: str, records: Records, live: bool) -> int:
    try:
        number = int(text, 16 if live else 10)
    except ValueError:
        kind = "16 hexadecimal digits" if live else "a number"
        raise UsageError(f"'{text}' is no node; it should be {kind}") from None
    if number not in records["nodes"]["node"]:
        raise UsageError(f"node {text} is not in these records")
    return number
