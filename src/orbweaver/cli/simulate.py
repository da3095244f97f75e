"""`orbweaver simulate`: one run."""

from __future__ import annotations

import csv
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, cast

import msgspec
import typer

from orbweaver.cli.terminal import err, out, print_json, progress, show, table
from orbweaver.core.errors import UsageError, nearest
from orbweaver.metrics.summary import MEANING
from orbweaver.records.files import check_file, check_folder, whole_file
from orbweaver.records.writers import Format, default_format, write_records
from orbweaver.study.run import Run, run_scenario
from orbweaver.workload.scenario import build_scenario, load_scenario
from orbweaver.workload.tables import columns_of

NODES_MAX = 100_000_000


def simulate(
    scenario: Annotated[
        Path | None, typer.Argument(help="A scenario file (TOML); options override it.")
    ] = None,
    overlay: Annotated[
        str | None, typer.Option(help="Name (see `orbweaver overlays`), or module:Class.")
    ] = None,
    nodes: Annotated[int | None, typer.Option(help="Number of nodes. [default: 1000]")] = None,
    topics: Annotated[int | None, typer.Option(help="Number of topics. [default: 100]")] = None,
    subscriptions_per_node: Annotated[
        str | None, typer.Option(help="S, or MIN:MAX to draw it for each node. [default: 10]")
    ] = None,
    popularity: Annotated[
        str | None,
        typer.Option(help="uniform, zipf:A, rss, nyse or exponential:S. [default: zipf:0.5]"),
    ] = None,
    subscriptions: Annotated[
        Path | None, typer.Option(help="Your own data: CSV or Parquet with columns node,topic.")
    ] = None,
    churn: Annotated[
        str | None,
        typer.Option(
            help="A table time,node,kind (ms; join, leave or crash), or exponential:ON:OFF in "
            "mean seconds up and down."
        ),
    ] = None,
    latency: Annotated[
        str | None,
        typer.Option(
            help="A matrix of round trips in ms, a table node,x,y, constant:MS or uniform:LOW:HIGH."
        ),
    ] = None,
    loss: Annotated[float | None, typer.Option(help="Share of messages lost.")] = None,
    events_per_topic: Annotated[
        int | None, typer.Option(help="Publications on each topic. [default: 3]")
    ] = None,
    warmup_ms: Annotated[
        int | None, typer.Option(help="Time before the first publication. [default: 10000]")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same records.")] = 0,
    set: Annotated[
        list[str] | None, typer.Option("--set", help="Overlay parameter, NAME=VALUE; repeatable.")
    ] = None,
    links_out: Annotated[
        Path | None, typer.Option(help="Write the links as CSV with columns a,b.")
    ] = None,
    records_out: Annotated[
        Path | None, typer.Option(help="Write all records into this folder.")
    ] = None,
    records_format: Annotated[
        str | None, typer.Option(help="parquet, csv or jsonl. [default: parquet if installed]")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="The last line on stdout is one JSON object.")
    ] = False,
) -> None:
    """Run one overlay on one workload in the simulator and measure it.

    Examples:

        orbweaver simulate --overlay spidercast --nodes 2000 --popularity nyse

        orbweaver simulate --overlay spidercast --subscriptions my.csv --links-out links.csv

        orbweaver simulate scenarios/spidercast/churn.toml --seed 3 --json
    """
    base: dict[str, Any] = {}
    if scenario is not None:
        base = msgspec.to_builtins(load_scenario(scenario, overlay))
    _override(base, "workload", nodes=nodes, topics=topics, popularity=popularity)
    _override(base, "workload", subscriptions_per_node=subscriptions_per_node)
    _override(base, "publish", per_topic=events_per_topic)
    _override(base, "run", warmup_ms=warmup_ms)
    _override(base, "faults", loss=loss)
    if subscriptions is not None:
        _override(base, "workload", file=str(subscriptions))
    if churn is not None:
        base["churn"] = base.get("churn", {}) | parse_churn(churn)
    if latency is not None:
        base["latency"] = base.get("latency", {}) | parse_latency(latency)
    if overlay is not None:
        if overlay != base.get("overlay"):
            base["params"] = {}  # those of the scenario belong to its own overlay
        base["overlay"] = overlay
    if "overlay" not in base:
        raise UsageError("name an overlay with --overlay (see 'orbweaver overlays')")
    base["params"] = base.get("params", {}) | parse_settings(set or [])
    spec = build_scenario(base, str(scenario) if scenario else "options")
    format = _records_format(records_format)
    if links_out is not None:
        check_file(links_out)
    if records_out is not None:
        check_folder(records_out)

    with progress(f"simulating {spec.overlay}", 1000) as bar:
        run = run_scenario(spec, seed, lambda now, end: bar(1000 * now // max(1, end)))
    if links_out is not None:
        write_links(run, links_out)
    if records_out is not None:
        write_records(run.outcome.records, records_out, format)
    if json:
        print_json(msgspec.to_builtins(run.result))
    else:
        print_result(run)
    if not run.result.complete:
        err.print(
            f"stopped by events_max or time_max_ms at {run.outcome.end_ms} ms; the numbers are "
            "of that part",
            soft_wrap=True,
        )
        raise typer.Exit(1)


def write_links(run: Run, path: Path) -> None:
    with whole_file(path) as temporary, temporary.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("a", "b"))
        writer.writerows((run.labels[a], run.labels[b]) for a, b in run.looks[-1].edges())


def print_result(run: Run) -> None:
    result = run.result
    title = f"{result.overlay} on {result.nodes:,} nodes and {result.topics:,} topics"
    grid = table(f"{title}, seed {result.seed}", "metric", "value", "")
    grid.columns[2].justify = "left"
    for key, value in result.metrics.items():
        grid.add_row(key, show(value), f"[dim]{MEANING[key]}")
    out.print(grid)
    rate = result.events / result.wall_seconds if result.wall_seconds else 0
    out.print(
        f"{result.events:,} events in {result.wall_seconds:.1f} s ({rate:,.0f}/s), "
        f"records {result.digest}",
        soft_wrap=True,
    )


def parse_settings(settings: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise UsageError(f"--set takes NAME=VALUE, not '{setting}'")
        found[name.strip()] = value.strip()
    return found


def parse_churn(text: str) -> dict[str, Any]:
    if not text.startswith("exponential:"):
        if not Path(text).exists():
            raise UsageError(f"{text}: no such file (or write exponential:ON:OFF in seconds)")
        return {"model": "file", "file": text}
    on, off = _numbers("churn", text, 2)
    return {"model": "exponential", "on_ms": on * 1000, "off_ms": off * 1000}


def parse_latency(text: str) -> dict[str, Any]:
    if text.startswith("constant:"):
        (ms,) = _numbers("latency", text, 1)
        return {"model": "constant", "ms": ms}
    if text.startswith("uniform:"):
        low, high = _numbers("latency", text, 2)
        return {"model": "uniform", "low_ms": low, "high_ms": high}
    path = Path(text)
    if not path.exists():
        raise UsageError(f"{text}: no such file (or write constant:MS or uniform:LOW:HIGH)")
    model = "coordinates" if {"node", "x", "y"} <= {*columns_of(path)} else "matrix"
    return {"model": model, "file": text}


def _numbers(what: str, text: str, count: int) -> list[float]:
    parts = text.split(":")[1:]
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    if len(numbers) != count or not all(map(isfinite, numbers)):
        raise UsageError(f"{what} '{text}' needs {count} number{'s' if count > 1 else ''}")
    return numbers


def _override(base: dict[str, Any], part: str, **values: Any) -> None:
    given = {name: value for name, value in values.items() if value is not None}
    if given:
        base[part] = base.get(part, {}) | given


def _records_format(text: str | None) -> Format:
    formats = ("parquet", "csv", "jsonl")
    if text is None:
        return default_format()
    if text not in formats:
        raise UsageError(f"unknown records format '{text}': {nearest(text, formats)}")
    return cast(Format, text)
