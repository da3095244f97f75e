"""`orbweaver gather` makes tables of what live nodes recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from orbweaver.cli.metrics_table import metrics_table
from orbweaver.cli.options import Conf, Json
from orbweaver.cli.simulate import read_format
from orbweaver.cli.spark import lab_imports, start_spark
from orbweaver.cli.terminal import err, out, print_json
from orbweaver.core.errors import UsageError
from orbweaver.records.gather import Gathered
from orbweaver.records.gather import gather as gather_records
from orbweaver.records.node_files import find_files
from orbweaver.records.writers import check_records_out, write_records
from orbweaver.study.recorded import recorded
from orbweaver.study.run import Result

TROUBLE = {
    "crashes": "nodes have no end in their records: killed, or still running",
    "damaged": "lines are cut short",
    "missing": "lines are missing, since their nodes could not write them",
    "unknown_events": "events are left out, since no file has their publication",
    "backwards": "deliveries are earlier than their publication: clocks do not agree",
}


def gather(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder with the records of the nodes.")
    ],
    out_folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Write the tables here, all or none.")
    ] = Path("out/cluster"),
    at: Annotated[
        float | None,
        typer.Option(
            help="When to look at the overlay, in seconds since the first node joined. "
            "[default: the last moment with all nodes up]"
        ),
    ] = None,
    every: Annotated[
        float, typer.Option(min=0.1, help="Seconds between two rows of sent messages.")
    ] = 1.0,
    format: Annotated[
        str | None,
        typer.Option(
            help="Format of the tables: parquet, csv or jsonl. [default: parquet if installed]"
        ),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(
            help="Let Spark gather, with this master; local[*] means this machine. Tables are "
            "Parquet then, each a folder. [default: this process gathers, without Spark]"
        ),
    ] = None,
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Make tables of what the nodes of a cluster recorded, and measure the cluster.

    A node with the setting `records` writes its events into a file of its own. This command
    reads the files of all nodes, writes the same tables as `simulate --records-out`, and prints
    the same metrics. Delays are differences between the clocks of two nodes, so they are right
    on one machine, or if the clocks agree.

    With many nodes or long files, `--master` lets Spark do it, with the same result. The folders
    have to be where every worker finds them.

    Examples:

        orbweaver gather records --out out/cluster && orbweaver measure out/cluster

        orbweaver gather records --master "local[*]"
    """
    if conf and master is None:
        raise UsageError("--conf is for Spark; say --master too")
    if master is not None and format not in (None, "parquet"):
        raise UsageError(f"Spark writes Parquet; leave --format {format} or --master out")
    kind = read_format(format)
    out_folder.parent.mkdir(parents=True, exist_ok=True)
    check_records_out(out_folder)
    find_files(folder)
    at_ms = None if at is None else round(1000 * at)
    if master is not None:
        found, result = _gather_with_spark(
            folder, out_folder, round(1000 * every), at_ms, master, conf
        )
        about = msgspec.to_builtins(found)
    else:
        records, found = gather_records(folder, round(1000 * every))
        about = msgspec.to_builtins(found)
        result = recorded(records, about, folder.resolve().name, at_ms=at_ms).result
        write_records(records, out_folder, kind, about)
    if json:
        found_and_measured = {"gathered": about, "metrics": result.metrics, "out": str(out_folder)}
        print_json(found_and_measured)
        return
    _print(found, result, out_folder)


def _gather_with_spark(
    folder: Path,
    out_folder: Path,
    every_ms: int,
    at_ms: int | None,
    master: str,
    conf: list[str] | None,
) -> tuple[Gathered, Result]:
    with lab_imports():
        from orbweaver.pipeline.dataset import explained_failures
        from orbweaver.pipeline.gather import gather as stage
        from orbweaver.pipeline.progress import job_progress
        from orbweaver.pipeline.recorded import read_runs
    spark = start_spark(master, "gather", conf)
    with job_progress(spark, "gathering"), explained_failures():
        found = stage(spark, folder, out_folder, every_ms)
        with read_runs(spark, out_folder, folder.resolve().name, at_ms) as (runs, _):
            return found, runs[0].result


def _print(found: Gathered, result: Result, out_folder: Path) -> None:
    title = f"{found.overlay} on {found.nodes:,} live nodes, {found.end_ms / 1000:,.1f} s"
    out.print(metrics_table(title, result.metrics))
    out.print(f"The tables: {out_folder}", soft_wrap=True)
    for name, meaning in TROUBLE.items():
        if count := getattr(found, name):
            err.print(f"{count:,} {meaning}", soft_wrap=True)
