"""`orbweaver compare`: overlays side by side on one workload."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from orbweaver.cli.seeds import parse_seeds
from orbweaver.cli.terminal import out, print_json, progress, table
from orbweaver.overlays.catalog import OVERLAYS, find
from orbweaver.records.files import check_file
from orbweaver.report.comparison import COLUMNS, table_rows, write_page
from orbweaver.study.pool import Job, run_all
from orbweaver.study.run import Result
from orbweaver.workload.scenario import Scenario, build_scenario


def compare(
    overlay: Annotated[
        list[str] | None, typer.Option(help="Overlay to compare; repeatable. [default: all]")
    ] = None,
    nodes: Annotated[int, typer.Option(help="Number of nodes.")] = 1000,
    topics: Annotated[int, typer.Option(help="Number of topics.")] = 100,
    subscriptions_per_node: Annotated[
        str, typer.Option(help="S, or MIN:MAX to draw it for each node.")
    ] = "10",
    popularity: Annotated[
        str, typer.Option(help="uniform, zipf:A, rss, nyse or exponential:S.")
    ] = "zipf:0.5",
    subscriptions: Annotated[
        Path | None,
        typer.Option(help="Your own data instead: CSV or Parquet with columns node,topic."),
    ] = None,
    seeds: Annotated[str, typer.Option(help="Seeds, as in 0-2 or 1,5,9.")] = "0-2",
    workers: Annotated[int, typer.Option(help="Processes; 0 means one for each core.")] = 0,
    out_file: Annotated[Path, typer.Option("--out", help="Where the HTML page goes.")] = Path(
        "compare.html"
    ),
    json: Annotated[
        bool, typer.Option("--json", help="The last line on stdout is one JSON object.")
    ] = False,
) -> None:
    """Run several overlays on the same workload and set them side by side.

    Prints a table and writes a self-contained HTML page with plots.

    Example:

        orbweaver compare --subscriptions my.csv --out my.html
    """
    names = overlay or list(OVERLAYS)
    for name in names:
        find(name)
    wanted = parse_seeds(seeds)
    check_file(out_file)
    workload = {
        "nodes": nodes,
        "topics": topics,
        "subscriptions_per_node": subscriptions_per_node,
        "popularity": popularity,
        "file": str(subscriptions) if subscriptions else "",
    }
    compared = [build_scenario({"overlay": n, "workload": workload}, "options") for n in names]
    jobs: list[Job] = [(scenario, seed) for scenario in compared for seed in wanted]
    results = _run(jobs, workers)
    by_overlay: dict[str, list[Result]] = {}
    for result in results:
        by_overlay.setdefault(result.overlay, []).append(result)
    first = results[0]
    title = _describe(compared[0], first.nodes, first.topics)
    command = "orbweaver " + shlex.join(sys.argv[1:])
    write_page(out_file, title, command, by_overlay)
    if json:
        plain = {"overlays": by_overlay, "page": str(out_file)}
        print_json(msgspec.to_builtins(plain, str_keys=True))
        return
    _print_comparison(title, by_overlay)
    out.print(f"The page with plots: {out_file}", soft_wrap=True)


def _run(jobs: list[Job], workers: int) -> list[Result]:
    finished = 0
    with progress("running", len(jobs), count=True) as bar:

        def done(_: Result) -> None:
            nonlocal finished
            finished += 1
            bar(finished)

        return run_all(jobs, workers, done)


def _describe(scenario: Scenario, nodes: int, topics: int) -> str:
    spec = scenario.workload
    if spec.file:
        return f"{nodes:,} nodes and {topics:,} topics from {Path(spec.file).name}"
    return (
        f"{nodes:,} nodes, {topics:,} topics, {spec.subscriptions_per_node} subscriptions for "
        f"each node, popularity {spec.popularity}"
    )


def _print_comparison(title: str, by_overlay: dict[str, list[Result]]) -> None:
    """One column for each overlay, which fits a terminal better than one row."""
    grid = table(title, "mean over seeds", *by_overlay)
    rows = table_rows(by_overlay)
    for i, (name, _) in enumerate(COLUMNS.values(), 1):
        grid.add_row(name, *(row[i] for row in rows))
    out.print(grid)
