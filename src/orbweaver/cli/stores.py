"""`orbweaver store` looks after a store of runs."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orbweaver.cli.options import STORE, Json, StorageOption
from orbweaver.cli.spark import lab_imports
from orbweaver.cli.terminal import err, out, print_json, show, table

if TYPE_CHECKING:
    from orbweaver.pipeline.store import RunStore

store = typer.Typer(no_args_is_help=True, help="Look after a store of runs.")

Place = Annotated[
    str, typer.Argument(metavar="[DIR|URL]", help="The store: a folder or an address.")
]


@store.command()
def compact(
    place: Place = STORE,
    keep_hours: Annotated[
        float,
        typer.Option(
            min=0,
            help="Delete files that are no part of the store and older than this. It must be more "
            "than the longest run that is under way.",
        ),
    ] = 168,
    storage_option: StorageOption = None,
    json: Json = False,
) -> None:
    """Make a few large files of the many small ones that a sweep writes."""
    with lab_imports():
        from orbweaver.pipeline import upkeep
    found = upkeep.compact(locate(place, storage_option), keep_hours)
    if json:
        print_json(found)
        return
    out.print(
        f"{found['files_before']:,} files became {found['files_after']:,}; "
        f"{found['deleted']:,} old files were deleted",
        soft_wrap=True,
    )


@store.command()
def check(
    place: Place = STORE,
    repair: Annotated[
        bool, typer.Option("--repair", help="Take damaged files and their runs out of the store.")
    ] = False,
    storage_option: StorageOption = None,
    json: Json = False,
) -> None:
    """Read every file of a store, and name those that are damaged. The exit code is 1 if there are
    any.

    With --repair, damaged files are moved into `_damaged` in the store, and a sweep repeats their
    runs.
    """
    with lab_imports():
        from orbweaver.pipeline import upkeep
    chosen = locate(place, storage_option)
    bad = upkeep.damaged(chosen, thorough=True)
    halves = upkeep.incomplete(chosen) if not bad else set()
    lost = upkeep.take_out(chosen, list(bad)) if repair and (bad or halves) else 0
    if json:
        print_json({"damaged": bad, "incomplete_runs": len(halves), "runs_taken_out": lost})
    else:
        for name, why in bad.items():
            err.print(f"damaged: {name}: {why}", soft_wrap=True)
        if halves:
            err.print(f"{len(halves):,} runs are incomplete", soft_wrap=True)
        if repair and (bad or halves):
            out.print(f"{lost:,} runs were taken out; 'orbweaver sweep' repeats them")
        elif not bad and not halves:
            out.print(f"{len(chosen.results()):,} runs, no damage")
    if bad or halves:
        raise typer.Exit(1)


@store.command()
def history(place: Place = STORE, storage_option: StorageOption = None, json: Json = False) -> None:
    """Show what was done to a store, the last commit first."""
    with lab_imports():
        from orbweaver.pipeline import upkeep
    found = upkeep.history(locate(place, storage_option))
    if json:
        print_json(found)
        return
    grid = table(place, "version", "time", "operation", "runs added")
    for one in found:
        when = datetime.datetime.fromtimestamp(one["time_ms"] / 1000, datetime.UTC)
        stamp = when.isoformat(sep=" ", timespec="seconds")
        grid.add_row(show(one["version"]), stamp, one["operation"], show(one["runs"]))
    out.print(grid)


@store.command()
def convert(
    old: Annotated[Path, typer.Argument(help="A store with a file results.jsonl.")],
    new: Annotated[str, typer.Argument(metavar="DIR|URL", help="The store to add its runs to.")],
    storage_option: StorageOption = None,
    json: Json = False,
) -> None:
    """Add the runs of a store of an earlier version to a store of this one. The old one stays."""
    with lab_imports():
        from orbweaver.pipeline import upkeep
    added = upkeep.convert(old, locate(new, storage_option))
    if json:
        print_json({"runs": added})
    else:
        out.print(f"{added:,} runs are now in {new}", soft_wrap=True)


def locate(place: str, options: Sequence[str] | None = None) -> RunStore:
    with lab_imports():
        from orbweaver.pipeline.store import locate_store
    return locate_store(place, options or ())


def checked_store(place: str, options: Sequence[str] | None, then: str) -> RunStore:
    """Return a store to work with, after damaged files were named and taken out. `then` says what
    becomes of their runs."""
    with lab_imports():
        from orbweaver.pipeline import upkeep
    chosen = locate(place, options)
    if chosen.folder is not None:
        chosen.folder.parent.mkdir(parents=True, exist_ok=True)
    chosen.check()
    if chosen.exists() and (bad := upkeep.damaged(chosen)):
        upkeep.take_out(chosen, list(bad))
        for name, why in bad.items():
            err.print(f"damaged: {name}: {why}; {then}", soft_wrap=True)
    return chosen
