"""`orbweaver reproduce` runs a paper's evaluation and compares the results with its claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.text import Text

from orbweaver.cli.options import (
    SEEDS,
    STORE,
    Conf,
    HtmlPage,
    Json,
    Master,
    Seeds,
    StorageOption,
    Store,
)
from orbweaver.cli.seeds import parse_seeds
from orbweaver.cli.spark import lab_imports, start_spark
from orbweaver.cli.sweep import report_cut_short, report_failures, run_sweep
from orbweaver.cli.terminal import err, out, print_json, table, this_command
from orbweaver.core.errors import UsageError
from orbweaver.records.files import check_file
from orbweaver.report.ledger import write_study
from orbweaver.report.markdown import write_markdown
from orbweaver.study.judge import Ledger
from orbweaver.study.judge import reproduce as reproduce_paper
from orbweaver.study.paper import Paper
from orbweaver.study.papers import PAPERS, find_paper
from orbweaver.study.results import Results, made_here, read_results
from orbweaver.study.run import Job, Result


def reproduce(
    paper: Annotated[str, typer.Argument(help=f"The paper: {' or '.join(PAPERS)}.")],
    scale: Annotated[
        str, typer.Option(help="quick, middle or full; full is the paper's own scale.")
    ] = "quick",
    claims: Annotated[
        str | None, typer.Option(help="Judge these claims only, as in S1,S4. [default: all]")
    ] = None,
    seeds: Seeds = SEEDS,
    traces: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of real traces (docs/traces.md), for claims that need them. "
            "[default: leave these claims out]",
        ),
    ] = None,
    store: Store = STORE,
    storage_option: StorageOption = None,
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File with results of earlier runs, also by other versions of the code: these "
            "runs are not repeated, and new results are added.",
        ),
    ] = None,
    master: Master = None,
    conf: Conf = None,
    out_file: HtmlPage = Path("reproduce.html"),
    markdown: Annotated[
        Path | None,
        typer.Option(help="Also write a Markdown file of the claims, with pictures in a folder."),
    ] = None,
    machine: Annotated[
        str,
        typer.Option(help="For the Markdown file: when and on which machine the runs were made."),
    ] = "",
    json: Json = False,
) -> None:
    """Run a paper's evaluation again and judge each claim.

    Prints a ledger: each claim, the paper's number, ours, and the verdict. Writes an HTML page
    with plots. Scale quick takes minutes, full takes hours. Runs are kept in the store, so after
    Ctrl-C the same command goes on where it stopped. A store serves one version of the code
    only; a file of results (--results) serves later versions too.

    Examples:

        orbweaver reproduce spidercast --claims S1,S2,S14

        orbweaver reproduce vitis --seeds 3-5 --results vitis.jsonl
    """
    chosen = find_paper(paper)
    asked = [claim.strip().upper() for claim in claims.split(",")] if claims is not None else None
    needed = chosen.choose(asked, scale, traced=traces is not None)
    traced = any(chosen.claims[claim].traced for claim in needed)
    left = [claim for claim in chosen.claims if asked is None and claim not in needed]
    if left:
        err.print(f"{', '.join(left)} need real traces: --traces DIR; left out", soft_wrap=True)
    for path in filter(None, (out_file, markdown, results)):
        check_file(path)
    known = read_results(results) if results is not None else Results()
    work = traces_beside(store)
    if traced and traces is not None:
        check_traces(chosen, scale, traces)
        fetch_traces(chosen, scale, traces, work, master, conf)
    new = 0

    def run(jobs: Sequence[Job]) -> list[Result]:
        nonlocal new
        swept = run_sweep(list(jobs), store, master, 6.0, conf, storage_option)
        new = swept.ran
        if results is not None:
            known.add(made_here(swept.results))
            known.write(results)
        report_failures(swept.failures)
        return list(swept.results)

    judged = reproduce_paper(
        chosen, run, asked, scale, parse_seeds(seeds), work if traces is not None else None, known
    )
    report_cut_short(judged.results)
    write_study(out_file, [judged], judged.series, this_command(), judged.code)
    if markdown is not None:
        write_markdown(markdown, judged, machine)
    if json:
        print_json(msgspec.to_builtins({"ledger": judged.ledger, "page": str(out_file)}))
        return
    out.print(f"{len(judged.results)} runs, {new} of them new.", soft_wrap=True)
    print_ledger(judged.ledger)
    out.print(f"The page with plots: {out_file}", soft_wrap=True)


def traces_beside(store: str) -> Path:
    """Return the folder with the tables of the real traces that the runs of a store use: beside
    the store, or where the default store is if the store is at an address."""
    if "://" in store:
        return Path(STORE).with_name(f"{store.rstrip('/').rpartition('/')[2]}-traces")
    path = Path(store)
    return path.with_name(f"{path.name}-traces")


def check_traces(paper: Paper, scale: str, source: Path) -> None:
    """Raise `UsageError` if a file is missing; called before any long work begins."""
    missing = [trace.file for trace in paper.traces[scale] if not (source / trace.file).exists()]
    if missing:
        raise UsageError(
            f"{source} has no {' and no '.join(missing)}; docs/traces.md says where to get it"
        )


def fetch_traces(
    paper: Paper,
    scale: str,
    source: Path,
    work: Path,
    master: str | None,
    conf: list[str] | None = None,
) -> None:
    with lab_imports():
        from orbweaver.pipeline.traces import fetch
    spark = start_spark(master, "reproduce", conf)
    with err.status("reading traces"):
        for trace in paper.traces[scale]:
            fetch(spark, source, trace, work)


def print_ledger(ledger: Ledger) -> None:
    title = f"{ledger.title}'s claims at scale '{ledger.scale}': {ledger.scale_meaning}"
    grid = table(title, "claim", "what", "paper", "ours", "verdict")
    for column in grid.columns:
        column.justify = "left"
    for v in ledger.verdicts:
        colour = "green" if v.reproduced else "red"
        if v.uncounted:
            colour = "dim"
        grid.add_row(v.claim, v.what, v.paper, v.ours, Text(ledger.word(v), colour))
    out.print(grid)
    out.print(ledger.summary)
