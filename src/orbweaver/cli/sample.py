"""`orbweaver sample` takes a part of a dataset that is small enough to simulate."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box

from orbweaver.cli.options import Columns, Conf, Json, Master, TableHeader
from orbweaver.cli.spark import lab_imports, start_spark
from orbweaver.cli.terminal import err, out, print_json, show, table
from orbweaver.workload.dialect import Reading
from orbweaver.workload.subscriptions import SUBSCRIPTION_COLUMNS
from orbweaver.workload.tables import told_layout

MEASURES = ("topic", "node")

if TYPE_CHECKING:
    from orbweaver.pipeline.sample.run import SampleReport


def sample(
    method: Annotated[str, typer.Argument(help="How nodes are chosen; see the list above.")],
    source: Annotated[
        Path,
        typer.Argument(
            metavar="DIR|FILE",
            help="A dataset, as `orbweaver ingest` makes it, or a table node,topic (CSV or "
            "Parquet; or say --columns).",
        ),
    ],
    out_folder: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="Write the sample here, whole or not at all."),
    ],
    nodes: Annotated[
        int | None,
        typer.Option(
            help="Number of nodes; an upper limit where the method itself gives a number."
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            help="What to begin with: nodes for bfs [10], topics for seed-universe [250]."
        ),
    ] = None,
    topics: Annotated[
        int | None,
        typer.Option(help="Topics to keep: seed-universe [100], random-topics [3000]."),
    ] = None,
    along: Annotated[
        str | None,
        typer.Option(help="Which nodes bfs goes on to: followed, followers or both. [followed]"),
    ] = None,
    topics_are_nodes: Annotated[
        bool | None,
        typer.Option(
            "--topics-are-nodes/--topics-are-apart",
            help="Whether a topic is a node's name, as in a social graph. [default: as ingested]",
        ),
    ] = None,
    columns: Columns = None,
    header: TableHeader = None,
    seed: Annotated[
        int, typer.Option(help="Seed of the sample; the same seed gives the same sample.")
    ] = 0,
    master: Master = None,
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Take a sample of a dataset by the method of a paper.

    Writes the same tables as the source has into --out. Prints how well the sample represents
    the source, as the papers check it: the share of topics with at least x subscribers, and the
    share of nodes with at least x subscriptions, in the source and in the sample.

    Methods:

    - `bfs`: breadth-first from --seeds random nodes until there are --nodes nodes. Vitis takes
      many seeds and one hop, OMen a few seeds and many hops.
    - `seed-universe`: all nodes that subscribe to one of --seeds random topics, and the --topics
      most popular topics among these nodes (Rappel).
    - `random-topics`: --topics random topics and all their subscribers (Magnet).
    - `uniform`: --nodes random nodes with all their subscriptions.
    - `machines`: --nodes random nodes that are up when a churn trace begins (OMen).

    Examples:

        orbweaver sample bfs twitter --nodes 10000 --seeds 5 --out tw10k

        orbweaver sample uniform my.csv --columns user,group --nodes 500 --out my500

        orbweaver sample seed-universe groups --seeds 250 --topics 100 --out groups100

        orbweaver sample machines cluster --nodes 1000 --seed 7 --out churn1000 --json
    """
    with lab_imports():
        from orbweaver.pipeline.progress import job_progress
        from orbweaver.pipeline.sample.methods import build_settings
        from orbweaver.pipeline.sample.run import check
        from orbweaver.pipeline.sample.run import sample as run
    given = {"nodes": nodes, "seeds": seeds, "topics": topics, "along": along}
    settings = build_settings(method, seed, given)
    read = Reading(columns or "", header or "auto")
    check(source, out_folder, settings, read)
    if source.is_file() and (told := told_layout(source, SUBSCRIPTION_COLUMNS, read)):
        err.print(told, soft_wrap=True)
    spark = start_spark(master, "sample", conf)
    with job_progress(spark, f"sampling {source}"):
        report = run(spark, source, out_folder, settings, topics_are_nodes, read)
    if json:
        print_json(dataclasses.asdict(report))
    else:
        print_report(report)


def print_report(report: SampleReport) -> None:
    settings = report.settings
    out.print(
        f"{settings['method']} of {report.source}, seed {settings['seed']}, to {report.out}",
        soft_wrap=True,
    )
    grid = table("", "table", "rows", box=box.SIMPLE_HEAD)
    for name, rows in report.tables.items():
        grid.add_row(f"{name}/", show(rows))
    out.print(grid)
    if report.hops:
        out.print(f"furthest from a seed: {report.hops} hop{'s' if report.hops > 1 else ''}")
    if not report.ccdf:
        return
    columns = [(measure, which) for measure in MEASURES for which in ("source", "sample")]
    shares = table(
        "share of topics with at least x subscribers, of nodes with at least x subscriptions",
        "x",
        *(f"{measure}s, {which}" for measure, which in columns),
        box=box.SIMPLE_HEAD,
    )
    found = {(row["measure"], row["degree"]): row for row in report.ccdf}
    for degree in sorted({row["degree"] for row in report.ccdf}):
        cells = (found.get((measure, degree), {}).get(which) for measure, which in columns)
        shares.add_row(show(degree), *(f"{cell:.3g}" if cell else "-" for cell in cells))
    out.print(shares)
