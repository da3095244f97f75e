"""`orbweaver ingest` turns a trace into tables."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.text import Text

from orbweaver.cli.options import Conf, Json, Master
from orbweaver.cli.spark import lab_imports, start_spark
from orbweaver.cli.terminal import out, print_json, show, table

if TYPE_CHECKING:
    from orbweaver.pipeline.ingest.run import IngestReport


DECISIONS_MAX = 10
"""Most files for which the decision about the first line is shown."""


def ingest(
    kind: Annotated[str, typer.Argument(help="What the trace contains; see the list above.")],
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Text files, also .gz or .bz2; a folder stands for the files in it.",
        ),
    ],
    out_folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Write the tables here, all or none.")
    ],
    direction: Annotated[
        str | None,
        typer.Option(
            help="directed-edges only, required there: follower-first if 'a b' means that a "
            "follows b, followed-first if it means that b follows a. Sources differ."
        ),
    ] = None,
    separator: Annotated[
        str | None,
        typer.Option(
            help="What separates cells: tab, comma, semicolon, space or colon. [default: found out]"
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            help="pairs only: the two columns with user and item, as names or numbers: "
            "user,group or 1,3. [default: the first two]"
        ),
    ] = None,
    header: Annotated[
        str | None,
        typer.Option(
            help="yes or no: whether each file begins with a header. [default: found out]"
        ),
    ] = None,
    comments: Annotated[
        str | None,
        typer.Option(help="Characters with which a comment line begins. [default: #%]"),
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help="Unit of delays: s, ms or us. [default: ms]")
    ] = None,
    delay: Annotated[
        str | None,
        typer.Option(
            help="What a delay measures: round-trip (halved) or one-way. [default: round-trip]"
        ),
    ] = None,
    origin: Annotated[
        str | None,
        typer.Option(
            help="first: times count from the first in the trace; zero: times stay as they are. "
            "[default: first]"
        ),
    ] = None,
    master: Master = None,
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Turn a trace into Parquet tables that the other commands read.

    Prints what was read and writes a dataset: a folder with a Parquet folder for each table.
    No line is dropped silently: lines without data are counted, and each line that cannot be
    read goes into the table `rejected` with the reason.

    Kinds:

    - `directed-edges`: user user (followers; say --direction)
    - `undirected-edges`: user user (friends, both ways)
    - `pairs`: user item
    - `lists`: count item item ... (line i is user i, from 0)
    - `edits`: user page seconds
    - `machine-events`: time_us,machine,event (0 ADD, 1 REMOVE, 2 UPDATE)
    - `sessions`: peer,join,leave (ISO 8601, UTC)
    - `availability`: node,start,end[,state] (seconds)
    - `latency-matrix`: number number ...
    - `coordinates`: node,x,y
    - `coordinates-xml`: an OverSim node list
    - `as-graph`: from to relationship

    Further columns are ignored.

    Examples:

        orbweaver ingest pairs memberships.txt.gz --out groups

        orbweaver ingest directed-edges twitter.csv --direction followed-first --out tw

        orbweaver ingest latency-matrix rtt.txt --unit s --out rtt --json

    Then `orbweaver sample bfs tw --nodes 1000 --out tw1000`, or
    `orbweaver simulate --overlay spidercast --subscriptions groups/subscriptions`.
    """
    with lab_imports():
        from orbweaver.pipeline.ingest.job import prepare
        from orbweaver.pipeline.ingest.run import ingest as run
        from orbweaver.pipeline.progress import job_progress
    given = {
        "direction": direction,
        "separator": separator,
        "columns": columns,
        "header": header,
        "comments": comments,
        "unit": unit,
        "delay": delay,
        "origin": origin,
    }
    job = prepare(kind, files, out_folder, given)
    spark = start_spark(master, "ingest", conf)
    with job_progress(spark, f"reading {len(job.files)} file{'s' if len(job.files) > 1 else ''}"):
        report = run(spark, job)
    if json:
        print_json(dataclasses.asdict(report))
    else:
        print_report(report)


def print_report(report: IngestReport) -> None:
    names = report.files[0] if len(report.files) == 1 else f"{len(report.files)} files"
    out.print(f"{report.kind} from {names}, to {report.out}", soft_wrap=True)
    for decision in report.first_lines[:DECISIONS_MAX]:
        out.print(decision, soft_wrap=True)
    grid = table("", "what", "count", "", box=box.SIMPLE_HEAD)
    grid.columns[2].justify = "left"
    grid.add_row(f"{report.entry}s", show(report.entries), Text("in all", "dim"))
    grid.add_row("used", show(report.used), "")
    for counts, where in (
        (report.merged, "used, and equal to an earlier one"),
        (report.skipped, "not data"),
        (report.dropped, "left out"),
        (report.rejected, "rejected; see the table"),
    ):
        style = "red" if counts is report.rejected else "dim"
        for note, count in counts.items():
            grid.add_row(note, show(count), Text(where, style))
    grid.add_section()
    for name, rows in report.tables.items():
        grid.add_row(f"{name}/", show(rows), Text("rows written", "dim"))
    grid.add_section()
    for name, value in report.facts.items():
        grid.add_row(name.replace("_", " "), show(value), "")
    out.print(grid)
    for hint in report.hints:
        out.print(Text.assemble(("note:", "yellow"), f" {hint}"), soft_wrap=True)
