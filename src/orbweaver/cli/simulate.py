"""`orbweaver simulate` runs one simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import msgspec
import typer

from orbweaver.cli.links import write_links
from orbweaver.cli.metrics_table import metrics_table
from orbweaver.cli.options import (
    SEED,
    Churn,
    Columns,
    Json,
    Nodes,
    Popularity,
    SubscriptionsPerNode,
    SubscriptionTable,
    TableHeader,
    Topics,
)
from orbweaver.cli.scenario import (
    assemble,
    parse_churn,
    parse_latency,
    parse_settings,
    tell_table,
    workload_options,
)
from orbweaver.cli.terminal import err, out, print_json, progress
from orbweaver.core.errors import UsageError, nearest
from orbweaver.records.files import check_file
from orbweaver.records.writers import (
    Format,
    check_records_out,
    default_format,
    write_records,
)
from orbweaver.report.oracle import told_oracle
from orbweaver.study.recorded import about_run
from orbweaver.study.run import Run, run_scenario
from orbweaver.workload.scenario_files import build_scenario


def simulate(
    scenario: Annotated[
        Path | None, typer.Argument(help="A scenario file (TOML); options override it.")
    ] = None,
    overlay: Annotated[
        str | None, typer.Option(help="Overlay: a name of `orbweaver overlays`, or module:Class.")
    ] = None,
    nodes: Nodes = None,
    topics: Topics = None,
    subscriptions_per_node: SubscriptionsPerNode = None,
    popularity: Popularity = None,
    subscriptions: SubscriptionTable = None,
    columns: Columns = None,
    header: TableHeader = None,
    churn: Churn = None,
    latency: Annotated[
        str | None,
        typer.Option(
            help="Delays: a file with a matrix of round trips in ms or a table node,x,y; "
            "constant:MS or uniform:LOW:HIGH."
        ),
    ] = None,
    links: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A table of links, columns a,b. The two ends of a link are each other's contacts "
            "when they join; the overlay static keeps exactly these links.",
        ),
    ] = None,
    loss: Annotated[
        float | None, typer.Option(help="Share of messages that are lost, from 0 to 1.")
    ] = None,
    events_per_topic: Annotated[
        int | None, typer.Option(help="Publications on each topic. [default: 3]")
    ] = None,
    publish_by: Annotated[
        str | None,
        typer.Option(
            help="subscriber or anyone, drawn for each event; or publisher: one subscriber for "
            "each topic, known to the overlay, as Rappel wants it. [default: subscriber]"
        ),
    ] = None,
    warmup_ms: Annotated[
        int | None, typer.Option(help="Milliseconds before the first publication. [default: 10000]")
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Seed of the run; the same seed gives the same records.")
    ] = SEED,
    set: Annotated[
        list[str] | None, typer.Option("--set", help="Overlay parameter, NAME=VALUE; repeatable.")
    ] = None,
    links_out: Annotated[
        Path | None, typer.Option(help="Write the links as CSV with columns a,b.")
    ] = None,
    records_out: Annotated[
        Path | None, typer.Option(help="Write all records as tables into this folder.")
    ] = None,
    records_format: Annotated[
        str | None,
        typer.Option(
            help="Format of the tables: parquet, csv or jsonl. [default: parquet if installed]"
        ),
    ] = None,
    copies: Annotated[
        bool,
        typer.Option(
            "--copies", help="Record each copy of an event on its way, for `orbweaver trace`."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Run one overlay on one workload in the simulator and measure it.

    Prints a table of metrics with their meaning, and a digest of the records: two runs with the
    same digest did the same. Exits with 1 if the overlay broke a promise or a limit ended the run.

    Examples:

        orbweaver simulate --overlay spidercast --nodes 2000 --popularity nyse

        orbweaver simulate --overlay spidercast --subscriptions my.csv --links-out links.csv

        orbweaver simulate --overlay static --subscriptions my.csv --links links.csv

        orbweaver simulate scenarios/spidercast/churn.toml --seed 3 --json
    """
    plain = assemble(
        scenario,
        overlay,
        workload=workload_options(
            nodes, topics, subscriptions_per_node, popularity, subscriptions, columns, header
        ),
        churn=parse_churn(churn) if churn is not None else {},
        latency=parse_latency(latency) if latency is not None else {},
        links={"file": str(links) if links else None},
        faults={"loss": loss},
        publish={
            "per_topic": events_per_topic,
            # Replaces the total number of events that a scenario gives.
            "events": None if events_per_topic is None else 0,
            "by": publish_by,
        },
        run={"warmup_ms": warmup_ms, "records": "copies" if copies else None},
        params=parse_settings(set or []),
    )
    spec = build_scenario(plain, str(scenario) if scenario else "options")
    format = read_format(records_format)
    if copies and records_out is None:
        raise UsageError("--copies records more than is printed: add --records-out DIR")
    if links_out is not None:
        check_file(links_out)
    if records_out is not None:
        check_records_out(records_out)

    tell_table(spec.workload)
    with progress(f"simulating {spec.overlay}", 1000) as bar:
        run = run_scenario(spec, seed, lambda now, end: bar(1000 * now // max(1, end)))
    if links_out is not None:
        write_links(run.looks[-1].edges(), run.labels, links_out)
    if records_out is not None:
        write_records(run.outcome.records, records_out, format, about_run(run))
    broken = run.result.broken_claims
    if json:
        print_json(msgspec.to_builtins(run.result))
    else:
        print_result(run)
    for claim in broken:
        err.print(f"{spec.overlay} breaks its own claim: {claim}", soft_wrap=True)
    if broken:
        err.print("Promises hold for an overlay that has formed: try a longer --warmup-ms first.")
    if not run.result.complete:
        err.print(
            f"stopped by events_max or time_max_ms at {run.outcome.end_ms} ms; the numbers cover "
            "the time before",
            soft_wrap=True,
        )
        raise typer.Exit(1)


def print_result(run: Run) -> None:
    result = run.result
    title = f"{result.overlay} on {result.nodes:,} nodes and {result.topics:,} topics"
    out.print(metrics_table(f"{title}, seed {result.seed}", result.metrics))
    if oracle := told_oracle([result]):
        out.print(oracle, soft_wrap=True)
    rate = result.events / result.wall_seconds if result.wall_seconds else 0
    out.print(
        f"{result.events:,} events in {result.wall_seconds:.1f} s ({rate:,.0f}/s), "
        f"records {result.digest}",
        soft_wrap=True,
    )


def read_format(text: str | None) -> Format:
    formats = ("parquet", "csv", "jsonl")
    if text is None:
        return default_format()
    if text not in formats:
        raise UsageError(f"unknown records format '{text}': {nearest(text, formats)}")
    return cast(Format, text)
