"""`orbweaver gather`: what live nodes wrote down, as one set of tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from orbweaver.cli.metrics_table import metrics_table
from orbweaver.cli.options import Json
from orbweaver.cli.simulate import read_format
from orbweaver.cli.terminal import err, out, print_json
from orbweaver.records.gather import Gathered
from orbweaver.records.gather import gather as gather_records
from orbweaver.records.writers import check_records_out, write_records
from orbweaver.study.recorded import recorded
from orbweaver.study.run import Result

TROUBLE = {
    "crashes": "nodes ended without a last word: killed, or still running",
    "damaged": "lines were cut short",
    "missing": "lines could not be written by their nodes",
    "unknown_events": "events are left out, since no file has their publication",
    "backwards": "deliveries came before the publication: clocks do not agree",
}


def gather(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where nodes wrote their records, or copies.")
    ],
    out_folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where the tables go, all or none.")
    ] = Path("out/cluster"),
    at: Annotated[
        float | None,
        typer.Option(
            help="When the overlay is looked at, in seconds since the first node joined. "
            "[default: the last moment with all nodes up]"
        ),
    ] = None,
    every: Annotated[
        float, typer.Option(min=0.1, help="Seconds between the moments at which sends are told.")
    ] = 1.0,
    format: Annotated[
        str | None, typer.Option(help="parquet, csv or jsonl. [default: parquet if installed]")
    ] = None,
    json: Json = False,
) -> None:
    """Make tables of what the nodes of a cluster recorded, and measure the cluster.

    A node with the setting `records` writes what happens to it into a file of its own.
    This brings the files of all nodes together into the tables that `simulate
    --records-out` writes, and takes the same metrics. Delays are differences between the
    clocks of two nodes, so they are right on one machine, or with clocks that agree.

    Example:

        orbweaver gather records --out out/cluster && orbweaver measure out/cluster
    """
    kind = read_format(format)
    out_folder.parent.mkdir(parents=True, exist_ok=True)
    check_records_out(out_folder)
    records, found = gather_records(folder, round(1000 * every))
    about = msgspec.to_builtins(found)
    name = folder.resolve().name
    result = recorded(records, about, name, at_ms=None if at is None else round(1000 * at)).result
    write_records(records, out_folder, kind, about)
    if json:
        found_and_measured = {"gathered": about, "metrics": result.metrics, "out": str(out_folder)}
        print_json(found_and_measured)
        return
    _print(found, result, out_folder)


def _print(found: Gathered, result: Result, out_folder: Path) -> None:
    title = f"{found.overlay} on {found.nodes:,} live nodes, {found.end_ms / 1000:,.1f} s"
    out.print(metrics_table(title, result.metrics))
    out.print(f"The tables: {out_folder}", soft_wrap=True)
    for name, meaning in TROUBLE.items():
        if count := getattr(found, name):
            err.print(f"{count:,} {meaning}", soft_wrap=True)
