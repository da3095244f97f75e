"""`orbweaver advise` says which overlay suits a planner's subscriptions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from msgspec.structs import replace
from rich.text import Text

from orbweaver.cli.amounts import parse_bytes, parse_rate, parse_time_ms
from orbweaver.cli.kept_runs import run_kept
from orbweaver.cli.options import Columns, Conf, HtmlPage, Json, Master, TableHeader
from orbweaver.cli.scenario import parse_latency, tell_table
from orbweaver.cli.sweep import report_failures, run_sweep
from orbweaver.cli.terminal import err, out, print_json, table, this_command
from orbweaver.core.errors import LAB, UsageError
from orbweaver.overlays.catalog import find
from orbweaver.records.files import check_file
from orbweaver.report.advice import write_advice
from orbweaver.report.look import can_draw
from orbweaver.study.advice.evidence import Case, Runner
from orbweaver.study.advice.plan import CANDIDATES, SCALE_NODES_MIN, WARMUP_MS, Circumstances
from orbweaver.study.advice.question import PAYLOAD_BYTES_MAX, Care, Question
from orbweaver.study.advice.samples import AREA_MS, Samples
from orbweaver.study.advice.sentences import figure
from orbweaver.study.advice.steps import advise as advise_on
from orbweaver.study.advice.value import Advice, Estimate
from orbweaver.study.results import read_results
from orbweaver.study.run import Job, Result
from orbweaver.workload.sampling import topics_are_nodes
from orbweaver.workload.scenario import (
    ChurnSpec,
    LatencySpec,
    Scenario,
    WorkloadSpec,
    make_workload,
)
from orbweaver.workload.subscriptions import Subscriptions, load_subscriptions
from orbweaver.workload.tables import table_in

EXAMPLE = WorkloadSpec(
    nodes=300, topics=60, subscriptions_per_node="8", popularity="multi-modal:10:2:1"
)
"""The data without a table: the topics come in ten groups, each node takes its own from two of
them, and within a group some topics are more popular than others (Magnet 4.2)."""
STORE = Path("out/advise")
AWAY = 4
"""With sessions:T a node is away for a part `1/AWAY` of T, as long as in Vitis' flash crowds."""
SHOWN = ("lost", "relayed", "links", "links_max", "traffic", "delay_p50", "delay_p95", "busiest")
TITLES = ("lost", "unasked", "links", "largest", "sent", "half in", "95 % in", "busiest")
MEMORY_GB = 6.0
"""Most memory for one run on a cluster, in GB."""


def advise(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]",
            help="What each node subscribes to: CSV or Parquet with a row for each node and topic, "
            "or a folder from `orbweaver ingest`. [default: an example of 300 nodes]",
        ),
    ] = None,
    columns: Columns = None,
    header: TableHeader = None,
    max_links: Annotated[
        int | None, typer.Option(min=1, help="Most links that any node may have.")
    ] = None,
    no_relays: Annotated[
        bool, typer.Option("--no-relays", help="No node may get events that it did not ask for.")
    ] = False,
    churn: Annotated[
        str | None,
        typer.Option(
            help="How nodes come and go: sessions:T for sessions of T on average, as in "
            "sessions:30m, or a table time,node,kind. [default: they stay]"
        ),
    ] = None,
    latency: Annotated[
        str,
        typer.Option(
            help="How far nodes are from each other: lan, wan, a file with a matrix of round "
            "trips in ms, or a table node,x,y."
        ),
    ] = "wan",
    rate: Annotated[str, typer.Option(help="Events published, of all nodes together.")] = "10/s",
    payload: Annotated[str, typer.Option(help="Size of an event.")] = "1KB",
    care: Annotated[
        Care | None,
        typer.Option(help="What matters most. [default: all four alike]"),
    ] = None,
    scale: Annotated[
        int | None, typer.Option(min=1, help="Say what to expect with this many nodes.")
    ] = None,
    overlay: Annotated[
        list[str] | None,
        typer.Option(help="Overlay to consider; repeatable. [default: all but static]"),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Stop at the first answer, from the smallest samples.")
    ] = False,
    workers: Annotated[
        int, typer.Option(min=0, help="Number of processes; 0 means one for each core.")
    ] = 0,
    store: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder that keeps finished runs and samples.")
    ] = STORE,
    master: Master = None,
    conf: Conf = None,
    out_file: HtmlPage = Path("advise.html"),
    json: Json = False,
) -> None:
    """Say which overlay suits your data, and why.

    A quick answer comes first, within a minute, from small samples of the data. It then gets
    better with larger samples until two sizes agree and nothing is in doubt. Ctrl-C stops at any
    time: finished runs are kept, and the same command goes on from there.

    An overlay that breaks its own promise or one of your constraints is left out. Of the others,
    those that lose the fewest events come first, then what you --care about, or delay, traffic,
    links and fairness alike. What the runs cannot tell apart is called a tie.

    The exit code is 0 if some overlay meets the constraints, and 1 if none does.

    Examples:

        orbweaver advise

        orbweaver advise my.csv --max-links 30 --no-relays --churn sessions:30m

        orbweaver advise my.csv --care delay --latency pings.txt --scale 100000
    """
    check_file(out_file)
    page = out_file if can_draw() else None
    if page is None:
        err.print(f"no page will be written, since its pictures need {LAB}", soft_wrap=True)
    names = list(dict.fromkeys(overlay or CANDIDATES))
    for name in names:
        find(name)
    churned, how_churned = read_churn_option(churn)
    apart, how_apart = read_latency_option(latency)
    question = Question(
        links_max=max_links,
        relays=not no_relays,
        churn=how_churned,
        latency=how_apart,
        rate=parse_rate("--rate", rate),
        payload_bytes=parse_bytes("--payload", payload, PAYLOAD_BYTES_MAX),
        care=care,
        scale=scale,
    )
    whole, name, are_nodes = read_data(data, columns, header)
    if scale is not None and len(whole.labels) < SCALE_NODES_MIN:
        raise UsageError(
            f"--scale needs data of at least {SCALE_NODES_MIN} nodes to tell from, and there are "
            f"{len(whole.labels)}"
        )
    store = store.resolve()  # runs on a cluster begin in another folder
    store.mkdir(parents=True, exist_ok=True)
    case = Case(
        name,
        question,
        Circumstances(churned, apart),
        Samples(whole, are_nodes, store / "samples"),
        names,
        this_command(),
    )
    last, stopped = follow(case, runner(store, workers, master, conf), quick, json, page)
    if last is None:
        raise typer.Exit(130)
    if json:
        plain = msgspec.to_builtins(last, str_keys=True)
        print_json(plain | {"sure": last.sure, "page": str(page) if page else None})
    else:
        print_advice(last)
        if page is not None:
            out.print(f"The page with pictures: {page}", soft_wrap=True)
    if stopped:
        raise typer.Exit(130)
    if last.pick is None:
        raise typer.Exit(1)


def follow(
    case: Case, run: Runner, quick: bool, quiet: bool, page: Path | None
) -> tuple[Advice | None, bool]:
    """Return the last answer, and whether Ctrl-C came before it was the best. Each answer is
    written to the page; those before the last are told in short as they come."""
    last: Advice | None = None
    try:
        for advice in advise_on(case, run, quick):
            if not quiet and not quick:
                tell(advice, last)
            last = advice
            if page is not None:
                write_advice(page, advice)
    except KeyboardInterrupt:
        return last, True
    return last, False


def tell(advice: Advice, last: Advice | None) -> None:
    """Say what a new answer adds to the last one."""
    if last is None:
        out.print(f"A first answer, from {told_size(advice)}:", soft_wrap=True)
        print_verdict(advice)
        out.print("Larger samples follow; Ctrl-C stops and keeps what there is.", soft_wrap=True)
        return
    same = (advice.pick, advice.ties) == (last.pick, last.ties)
    told = f"still {advice.pick or 'none'}" if same else advice.headline
    out.print(f"{told_size(advice)}: {told}", soft_wrap=True)


def told_size(advice: Advice) -> str:
    size = advice.ran.sizes[-1]
    of = "all" if size >= advice.data.nodes else f"samples of {size:,} of the"
    return f"{of} {advice.data.nodes:,} nodes, {advice.ran.runs} runs"


def print_verdict(advice: Advice) -> None:
    out.print(Text(advice.headline, "bold"), soft_wrap=True)
    for sentence in (*advice.sentences, *(f"Not sure: {doubt}" for doubt in advice.doubts)):
        out.print(sentence, soft_wrap=True)


def print_advice(advice: Advice) -> None:
    """Print the verdict, then the numbers."""
    print_verdict(advice)
    grid = table(f"\n{advice.data.name}, {told_size(advice)}", "overlay", "", "nodes", *TITLES)
    for one in advice.ratings:
        numbers = (
            figure(name, told_number(name, one.measures[name])) if name in one.measures else "-"
            for name in SHOWN
        )
        grid.add_row(one.overlay, one.place, f"{one.nodes:,}", *numbers)
    out.print(grid)


def told_number(name: str, measured: Estimate) -> float:
    """Return the mean over the runs; of the largest node, as in the verdict, the worst run."""
    return max(measured.values) if name == "links_max" else measured.mean


def runner(store: Path, workers: int, master: str | None, conf: list[str] | None) -> Runner:
    """Return what runs jobs: the processes of this machine, or a cluster."""

    def here(jobs: Sequence[Job]) -> list[Result]:
        kept = store / "results.jsonl"
        announce(read_results(kept).missing(jobs, any_code=False))
        return run_kept(jobs, kept, workers)[0]

    def on_cluster(jobs: Sequence[Job]) -> list[Result]:
        announce(jobs)
        swept = run_sweep(list(jobs), str(store / "sweep"), master, MEMORY_GB, conf)
        report_failures(swept.failures)
        return list(swept.results)

    return here if master is None else on_cluster


def announce(jobs: Sequence[Job]) -> None:
    """Say what is run next. The bar below it says what is under way and how long it will take."""
    if not jobs:
        return
    overlays = dict.fromkeys(scenario.overlay for scenario, _ in jobs)
    samples = dict.fromkeys(scenario.name.partition(", ")[2] for scenario, _ in jobs)
    err.print(f"{len(jobs)} runs: {', '.join(overlays)}; {'; '.join(samples)}", soft_wrap=True)


def read_data(
    data: Path | None, columns: str | None, header: str | None
) -> tuple[Subscriptions, str, bool]:
    """Return the subscriptions, their name, and whether topics are nodes."""
    if data is None:
        if columns is not None or header is not None:
            raise UsageError("--columns and --header describe a table: name one")
        made = make_workload(Scenario(overlay="", workload=EXAMPLE), 0).subscriptions
        return made, "the example", False
    spec = msgspec.convert(
        {"file": str(data), "columns": columns or "", "header": header or "auto"}, WorkloadSpec
    )
    tell_table(spec)
    whole = load_subscriptions(table_in(data, "subscriptions"), spec.reading())
    if sum(map(len, whole.of_node)) == len(whole.topics):
        raise UsageError(
            f"{data}: each topic has one subscriber, so that nothing has to be sent to another "
            "node; are the columns right? (--columns)"
        )
    return whole, data.name, topics_are_nodes(data, whole)


def read_churn_option(text: str | None) -> tuple[ChurnSpec, str]:
    """Return how nodes come and go, and the same in words."""
    if text is None:
        return ChurnSpec(), ""
    if not text.startswith("sessions:"):
        if not Path(text).exists():
            raise UsageError(f"--churn {text}: no such file (or write sessions:30m)")
        spec = ChurnSpec(model="file", file=str(Path(text).resolve()))
        return spec, f"nodes come and go as in {Path(text).name}"
    length = text.removeprefix("sessions:")
    on_ms = parse_time_ms("--churn sessions:", length)
    if on_ms < 1000:
        raise UsageError(f"--churn {text}: sessions should last a second at least")
    spec = ChurnSpec(
        model="exponential",
        on_ms=on_ms,
        off_ms=on_ms / AWAY,
        down="crash",
        start_ms=WARMUP_MS // 2,
    )
    return spec, f"nodes crash after {length} on average and come back"


def read_latency_option(text: str) -> tuple[LatencySpec | None, str]:
    """Return the delays between nodes, and the same in words."""
    if text == "wan":
        # The mean distance of two points of a square is 0.52 of its side.
        return None, f"a wide area network, {0.52 * AREA_MS:.0f} ms from node to node on average"
    if text == "lan":
        return LatencySpec(), "a local network, 1 ms from node to node"
    if ":" not in text and not Path(text).exists():
        raise UsageError(f"--latency {text}: no such file (or write lan or wan)")
    spec = msgspec.convert(parse_latency(text), LatencySpec)
    if not spec.file:
        return spec, f"delays {text}"
    return replace(spec, file=str(Path(text).resolve())), f"delays from {Path(text).name}"
