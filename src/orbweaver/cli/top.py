"""`orbweaver top` watches running nodes on the terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from orbweaver.cli.reading import DEFAULT
from orbweaver.cli.watching import addresses, read
from orbweaver.core.errors import UsageError


def top(
    admin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST:PORT", help=f"A node's admin page; repeatable. [default: {DEFAULT}]"
        ),
    ] = None,
    swarm: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file with an admin page on each line.")
    ] = None,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between two readings.")] = 1.0,
) -> None:
    """Watch running nodes: their rates, queues and memory, and one node's links and topics.

    The arrow keys choose the node that is shown in detail, `q` quits. `orbweaver swarm` prints
    the command that watches all its nodes.

    Examples:

        orbweaver top

        orbweaver top --admin 127.0.0.1:7701 --admin 127.0.0.1:7711
    """
    try:
        from orbweaver.cli.top_view import Top
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] == "textual":
            raise UsageError(
                "orbweaver top needs: pip install '.[top]' in the repository"
            ) from None
        raise
    named = addresses(admin or ([] if swarm else [DEFAULT]), swarm)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("orbweaver top needs a terminal; scripts use: orbweaver status --json")
    Top(named, read, interval).run()
