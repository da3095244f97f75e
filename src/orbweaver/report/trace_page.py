"""Writes the page of `orbweaver trace`: the way of one event, drawn and in tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orbweaver import __version__
from orbweaver.metrics.missed import Stop
from orbweaver.metrics.trace import EventTrace
from orbweaver.report.page import Page
from orbweaver.report.trace import HOP_COLUMNS, Name, hop_rows, lead, tell
from orbweaver.report.webs import way

HOPS_MAX = 2000
"""Most copies in the table of a page."""


def write_trace(
    path: Path, trace: EventTrace, stops: Sequence[Stop], name: Name, command: str
) -> None:
    """Write the page. `stops` are of the nodes to explain."""
    page = Page(f"Event {trace.event}", lead(trace, name))
    caption = (
        "The way of the event. Each line is a node, and below it those that got the event from it. "
        "Crosses are nodes that the event missed; hovering tells why"
    )
    page.plots([(way(trace, stops, name), caption)])
    if stops:
        page.heading("Node by node")
        for stop in stops:
            page.text(tell(stop, trace, name))
    page.heading("Each copy")
    page.table(HOP_COLUMNS, hop_rows(trace, trace.hops[:HOPS_MAX], name))
    if len(trace.hops) > HOPS_MAX:
        page.text(f"And {len(trace.hops) - HOPS_MAX:,} more; --json has all of them.")
    page.heading("How to make this page again")
    page.command(command)
    page.write(path, f"orbweaver {__version__}")
