"""Prints tables on stdout, and progress on stderr if it is a terminal."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

out = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 160)
"""The console for stdout. Output into a file or a pipe has a fixed width. Markup is off, since
names and paths may have brackets; coloured output is a `Text`."""
err = Console(stderr=True, highlight=False, markup=False)


def this_command() -> str:
    """Return the command as it was typed, so that a page can say how it was made."""
    return shlex.join(["orbweaver", *sys.argv[1:]])


def print_json(value: Any) -> None:
    """Print a value as one line of JSON, without the console's wrapping."""
    print(json.dumps(value, allow_nan=False), flush=True)


@contextmanager
def progress(label: str, total: int, count: bool = False) -> Iterator[Callable[..., None]]:
    """Show a bar. Yields a function that takes how much is done and, optionally, a new label.
    Nothing is shown if stderr is not a terminal."""
    columns = [TextColumn("{task.description}"), BarColumn()]
    columns.append(MofNCompleteColumn() if count else TextColumn("{task.percentage:3.0f} %"))
    with Progress(
        *columns, TimeElapsedColumn(), console=err, transient=True, disable=not err.is_terminal
    ) as bar:
        task = bar.add_task(label, total=max(1, total))
        yield lambda done, says=label: bar.update(task, completed=done, description=says)


def table(title: str, *columns: str, **options: Any) -> Table:
    made = Table(title=title, title_justify="left", **options)
    for i, column in enumerate(columns):
        made.add_column(column, justify="left" if i == 0 else "right")
    return made


def show(value: Any) -> str:
    """Format a value for people: thousands separators, few decimals, `-` for None."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".") if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)
