"""`orbweaver watch` counts what the nodes of a running cluster record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from orbweaver.cli.options import Conf, Json, Master
from orbweaver.cli.spark import lab_imports, start_spark
from orbweaver.cli.status import print_watched
from orbweaver.cli.terminal import err, out, print_json
from orbweaver.core.errors import UsageError
from orbweaver.report.watched import cells, clock

if TYPE_CHECKING:
    from orbweaver.pipeline.watch.batches import CountedBatch

WATCHED = Path("out/watch")
"""Default folder of what a watch writes."""


def watch(
    records: Annotated[
        Path,
        typer.Argument(
            metavar="RECORDS",
            help="The folder that the setting `records` of the nodes names. It may be empty yet.",
        ),
    ],
    out_folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Keep the table of minutes here.")
    ] = WATCHED,
    every: Annotated[
        float, typer.Option(min=0.1, help="Seconds from one batch to the next, at least.")
    ] = 5.0,
    once: Annotated[
        bool, typer.Option("--once", help="End when everything that is there now was counted.")
    ] = False,
    master: Master = None,
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Count what becomes of events while the nodes of a cluster run, minute by minute.

    Follows the files to which nodes with the setting `records` append. For each minute and topic:
    events published and delivered, duplicates, the share of the owed deliveries that happened
    (owed to the subscribers at the time of publication that stayed for five seconds), and latency;
    for each minute also the bytes of control messages. A delivery counts in the minute of its
    publication, for up to an hour.

    The folder `--out` gets `minutes`, a Delta table; `watch.json`, which `orbweaver status --watch
    DIR` shows; and the same as a page, `index.html`. Ctrl-C ends the watch and keeps everything.
    The same command goes on where it stopped, also after a crash, and counts nothing twice.

    Examples:

        mkdir records; orbweaver swarm 10 --set records=records &

        orbweaver watch records
    """
    if not records.is_dir():
        raise UsageError(
            f"{records}: no such folder; name the folder that the setting 'records' of the nodes "
            "names"
        )
    if master is not None and master.startswith("sc://"):
        raise UsageError(
            f"a watch counts in this process, which '{master}' cannot call: name another master"
        )
    with lab_imports():
        from orbweaver.pipeline.dataset import explained_failures
        from orbweaver.pipeline.java import find_java
        from orbweaver.pipeline.watch.kept import WatchFolder
        from orbweaver.pipeline.watch.run import watch as stage
    find_java()
    if out_folder == WATCHED:
        out_folder.parent.mkdir(exist_ok=True)
    folder = WatchFolder(out_folder)
    folder.check(records)
    spark = start_spark(master, "watch", conf)
    if not json:
        out.print(f"watching {records}, into {out_folder}; Ctrl-C ends it", soft_wrap=True)
    with explained_failures():
        stage(spark, records, folder, _told if not json else _silent, every, once)
    found = folder.summarise(folder.load(records))
    if json:
        print_json(msgspec.to_builtins(found) | {"out": str(out_folder)})
        return
    print_watched(found)
    out.print(f"The table: {folder.table}, the page: {folder.page}", soft_wrap=True)


def _told(batch: CountedBatch) -> None:
    """Print a line for a batch, with the last minute that has an event."""
    if not batch.lines:
        return
    line = f"batch {batch.number}: {batch.lines:,} lines in {batch.seconds:.1f} s"
    rows = [row for row in batch.summary.minutes if row["published"]]
    if rows:
        published, delivered, duplicates, _, ratio, _, p95, *_ = cells(rows[-1])
        line += (
            f"; {clock(rows[-1]['minute_ms'], '%H:%M')}: {published} published, {delivered} "
            f"delivered ({ratio}), {duplicates} duplicates, p95 {p95} ms"
        )
    if batch.summary.nodes_silent:
        line += f"; {batch.summary.nodes_silent:,} nodes silent"
    err.print(line, soft_wrap=True)


def _silent(batch: CountedBatch) -> None:
    pass
