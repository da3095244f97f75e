"""`orbweaver compare` runs overlays side by side on one workload."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from msgspec.structs import replace

from orbweaver.cli.compare_data import SAMPLE_NODES, take_sample
from orbweaver.cli.kept_runs import run_kept
from orbweaver.cli.options import (
    SEEDS,
    Columns,
    HtmlPage,
    Json,
    Nodes,
    Popularity,
    Seeds,
    SubscriptionsPerNode,
    SubscriptionTable,
    TableHeader,
    Topics,
)
from orbweaver.cli.scenario import (
    assemble,
    parse_churn,
    parse_settings_by_overlay,
    tell_table,
    workload_options,
)
from orbweaver.cli.seeds import parse_seeds
from orbweaver.cli.sweep import report_cut_short
from orbweaver.cli.terminal import err, out, print_json, table, this_command
from orbweaver.core.errors import LAB
from orbweaver.overlays.catalog import find
from orbweaver.records.files import check_file
from orbweaver.report.comparison import COLUMNS, FAIRNESS, table_rows, write_page
from orbweaver.report.look import can_draw
from orbweaver.report.oracle import told_oracle
from orbweaver.sim.simulation import build_params
from orbweaver.study.advice.plan import CANDIDATES, WARMUP_MS, YOUNG_MS
from orbweaver.study.run import Job, Result
from orbweaver.workload.scenario import ChurnSpec, Scenario, StudySpec, make_workload
from orbweaver.workload.scenario_files import build_scenario

KEPT = Path("out/compare.jsonl")
CALM, CHURNED = "calm", "churned"
CHURN = "exponential:300:75"
CHURN_MS = 30_000
"""Least time in ms over which publications are spread when nodes come and go."""


def compare(
    scenario: Annotated[
        Path | None,
        typer.Argument(help="A scenario file (TOML); options override it, its overlay is ignored."),
    ] = None,
    overlay: Annotated[
        list[str] | None,
        typer.Option(
            help="Overlay to compare; repeatable. [default: all but static, which needs links]"
        ),
    ] = None,
    nodes: Nodes = None,
    topics: Topics = None,
    subscriptions_per_node: SubscriptionsPerNode = None,
    popularity: Popularity = None,
    subscriptions: SubscriptionTable = None,
    columns: Columns = None,
    header: TableHeader = None,
    churn: Annotated[
        str | None,
        typer.Option(
            help="Churn of the second half: as for simulate, or none to leave the half out. "
            "[default: exponential:300:75, or the scenario's]"
        ),
    ] = None,
    warmup_ms: Annotated[
        int | None,
        typer.Option(
            help="Milliseconds for the overlays to form. [default: 60000, or the scenario's]"
        ),
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option("--set", help="Overlay parameter, OVERLAY.NAME=VALUE; repeatable."),
    ] = None,
    seeds: Seeds = SEEDS,
    workers: Annotated[
        int, typer.Option(min=0, help="Number of processes; 0 means one for each core.")
    ] = 0,
    full: Annotated[
        bool,
        typer.Option("--full", help=f"Take all nodes of a table, not a sample of {SAMPLE_NODES}."),
    ] = False,
    kept: Annotated[
        Path,
        typer.Option("--results", metavar="FILE", help="File that keeps finished runs."),
    ] = KEPT,
    out_file: HtmlPage = Path("compare.html"),
    json: Json = False,
) -> None:
    """Run several overlays on the same workload and compare them.

    Each overlay runs twice: with the same nodes all the time, and with nodes that come and go.
    Prints a table of each half and writes a self-contained HTML page with plots.

    Of a large table of subscriptions, a sample is taken by the method of a paper, which the page
    names; --full takes the whole table. Finished runs are kept: after Ctrl-C, the same command
    goes on where it stopped.

    Examples:

        orbweaver compare --subscriptions my.csv --out my.html

        orbweaver compare --overlay spidercast --overlay vitis --set vitis.table_size=25

        orbweaver compare scenarios/spidercast/churn.toml --seeds 0-4
    """
    names = list(dict.fromkeys(overlay or CANDIDATES))
    for name in names:
        find(name)
    params = parse_settings_by_overlay(set or [], names)
    wanted = parse_seeds(seeds)
    check_file(out_file)
    if kept != KEPT:
        check_file(kept)
    drawn = can_draw()
    if not drawn:
        err.print(f"no page will be written, since its plots need {LAB}", soft_wrap=True)
    source = str(scenario) if scenario else "options"
    if scenario is None and warmup_ms is None:
        warmup_ms = WARMUP_MS  # long enough for overlays that find their links by gossip
    workload = workload_options(
        nodes, topics, subscriptions_per_node, popularity, subscriptions, columns, header
    )
    compared = [
        build_scenario(
            assemble(
                scenario,
                name,
                workload=workload,
                run={"warmup_ms": warmup_ms},
                params=params[name],
            ),
            source,
        )
        for name in names
    ]
    for one in compared:
        build_params(one, find(one.overlay))  # report a mistake before anything runs
    tell_table(compared[0].workload)
    name_of_table = Path(compared[0].workload.file).name
    with tempfile.TemporaryDirectory(prefix="orbweaver-") as folder:
        about = ""
        if not full:
            churned = [with_churn(one, churn, 1) for one in compared] if churn != "none" else []
            part, about = take_sample([*compared, *churned], Path(folder))
            compared = [
                replace(one, workload=other.workload)
                for one, other in zip(compared, part, strict=False)
            ]
        halves = {CALM: [replace(one, churn=ChurnSpec()) for one in compared]}
        if churn != "none":
            topic_count = len(make_workload(compared[0], wanted[0]).subscriptions.topics)
            halves[CHURNED] = [with_churn(one, churn, topic_count) for one in compared]
        # Run every scenario with one seed before the next seed: the bar can estimate the time then.
        jobs: list[Job] = [
            (replace(one, name=f"{one.overlay}, {half}", study=StudySpec(series=half)), seed)
            for seed in wanted
            for half, scenarios in halves.items()
            for one in scenarios
        ]
        if kept == KEPT:
            kept.parent.mkdir(exist_ok=True)
        results, new = run_kept(jobs, kept, workers)
    report_cut_short(results)
    found: dict[str, dict[str, list[Result]]] = {
        half: {one.overlay: [] for one in scenarios} for half, scenarios in halves.items()
    }
    for result in results:
        found[result.study.series][result.overlay].append(result)
    titles = {
        half: _describe(scenarios[0], results[0], name_of_table, about)
        for half, scenarios in halves.items()
    }
    last = list(halves)[-1]
    if drawn:
        write_page(out_file, titles[last], this_command(), found[CALM], found.get(CHURNED))
    if json:
        plain = {**found, "page": str(out_file) if drawn else None}
        print_json(msgspec.to_builtins(plain, str_keys=True))
        return
    out.print(f"{len(jobs)} runs, {new} of them new.", soft_wrap=True)
    for half, by_overlay in found.items():
        _print_comparison(titles[half], by_overlay)
    if oracle := told_oracle(results):
        out.print(oracle, soft_wrap=True)
    if drawn:
        out.print(f"The page with plots: {out_file}", soft_wrap=True)


def with_churn(scenario: Scenario, asked: str | None, topics: int) -> Scenario:
    """Return the scenario with churn: `asked`, or else its own, or else the default. Churn that is
    drawn begins while the overlay forms, and publications go on long enough to be hit by it."""
    if asked is None and scenario.churn.model != "none":
        return scenario
    values = parse_churn(asked or CHURN)
    if values["model"] != "file":
        values["start_ms"] = scenario.run.warmup_ms // 2
    publish = scenario.publish
    events = publish.events or publish.per_topic * topics
    return replace(
        scenario,
        churn=msgspec.convert(values, ChurnSpec),
        publish=replace(publish, every_ms=max(publish.every_ms, CHURN_MS // max(1, events))),
        run=replace(scenario.run, young_ms=scenario.run.young_ms or YOUNG_MS),
    )


def _describe(scenario: Scenario, result: Result, name_of_table: str, sample: str) -> str:
    spec, churn = scenario.workload, scenario.churn
    text = f"{result.nodes:,} nodes, {result.topics:,} topics"
    if sample:
        text += f" from {name_of_table}, {sample}"
    elif spec.file:
        text = f"all {text} from {name_of_table}"
    else:
        text += (
            f", {spec.subscriptions_per_node} subscriptions for each node, popularity "
            f"{spec.popularity}"
        )
    if churn.model == "file":
        text += f", churn from {Path(churn.file).name}"
    elif churn.model != "none":
        text += f", {churn.on_ms / 1000:g} s up and {churn.off_ms / 1000:g} s down on average"
    return text


def _print_comparison(title: str, by_overlay: dict[str, list[Result]]) -> None:
    """Print a column for each overlay; a row for each would not fit a terminal."""
    grid = table(title, "mean over seeds", *by_overlay)
    columns = COLUMNS | FAIRNESS
    rows = table_rows(by_overlay, columns)
    for i, (name, _) in enumerate(columns.values(), 1):
        grid.add_row(name, *(row[i] for row in rows))
    out.print(grid)
