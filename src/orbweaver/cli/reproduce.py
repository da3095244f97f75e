"""`orbweaver reproduce`: a paper's claims, run again and set beside its numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.text import Text

from orbweaver.cli.options import SEEDS, HtmlPage, Json, Master, Seeds, Store
from orbweaver.cli.seeds import parse_seeds
from orbweaver.cli.spark import lab_imports, start_spark
from orbweaver.cli.sweep import STORE, report_cut_short, report_failures, run_sweep
from orbweaver.cli.terminal import err, out, print_json, table, this_command
from orbweaver.core.errors import UsageError
from orbweaver.records.files import check_file
from orbweaver.report.ledger import Ledger, judge, write_study
from orbweaver.report.markdown import write_markdown
from orbweaver.study.claims import gather
from orbweaver.study.kept import KeptResults, codes_of, read_kept, told_codes
from orbweaver.study.paper import Paper
from orbweaver.study.papers import find_paper
from orbweaver.study.version import code_version


def reproduce(
    paper: Annotated[str, typer.Argument(help="The paper: spidercast or vitis.")],
    scale: Annotated[str, typer.Option(help="quick, middle, or the paper's own: full.")] = "quick",
    claims: Annotated[
        str | None, typer.Option(help="Only these, as in S1,S4. [default: all]")
    ] = None,
    seeds: Seeds = SEEDS,
    traces: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Real traces (docs/traces.md), for claims that need them. "
            "[default: leave those out]",
        ),
    ] = None,
    store: Store = STORE,
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Results of earlier runs, also by other versions of the code: what is there is "
            "not run again, and new results are added.",
        ),
    ] = None,
    master: Master = None,
    out_file: HtmlPage = Path("reproduce.html"),
    markdown: Annotated[
        Path | None,
        typer.Option(help="Also a Markdown file of the claims, with pictures in a folder."),
    ] = None,
    machine: Annotated[
        str, typer.Option(help="For the Markdown file: when and on what the runs were.")
    ] = "",
    json: Json = False,
) -> None:
    """Run a paper's evaluation again and judge each claim.

    Scale quick takes minutes, full takes hours; the ledger says what it is of. Runs are
    kept in the store, so going on after Ctrl-C costs nothing. A store is of use to the code
    that made it; a file of results can stay, and get more seeds later.

    Examples:

        orbweaver reproduce spidercast --claims S1,S2,S14
        orbweaver reproduce vitis --seeds 3-5 --results vitis.jsonl
    """
    chosen_paper = find_paper(paper)
    chosen = list(chosen_paper.claims)
    if claims is not None:
        chosen = list(dict.fromkeys(claim.strip().upper() for claim in claims.split(",")))
    chosen_paper.check(chosen, scale)
    traced = [claim for claim in chosen if chosen_paper.claims[claim].traced]
    if traced and traces is None:
        needing = f"{', '.join(traced)} need real traces: --traces DIR"
        if claims is not None:
            raise UsageError(needing)
        err.print(f"{needing}; they are left out", soft_wrap=True)
        chosen = [claim for claim in chosen if claim not in traced]
    if traced and traces is not None:
        check_traces(chosen_paper, scale, traces)
    for path in filter(None, (out_file, markdown, results)):
        check_file(path)
    kept = read_kept(results) if results is not None else KeptResults()
    work = store.with_name(f"{store.name}-traces")
    jobs = chosen_paper.jobs(chosen, scale, parse_seeds(seeds), work)
    if traced and traces is not None:
        fetch_traces(chosen_paper, scale, traces, work, master)
    new = 0
    if missing := kept.missing(jobs):
        swept = run_sweep(missing, store, master, 6.0)
        kept.add(code_version(), swept.results)
        if results is not None:
            kept.write(results)
        report_failures(swept.failures)
        new = swept.ran
    found = kept.of(jobs)
    report_cut_short([one.result for one in found])
    series = gather(one.result for one in found)
    judged = judge(chosen_paper, chosen, scale, series, codes_of(found))
    code = told_codes(found) or code_version()  # where nothing had to be run
    write_study(out_file, [judged], series, this_command(), code)
    if markdown is not None:
        write_markdown(markdown, judged, code, machine)
    if json:
        print_json(msgspec.to_builtins({"ledger": judged.ledger, "page": str(out_file)}))
        return
    out.print(f"{len(jobs)} runs, {new} of them new.", soft_wrap=True)
    print_ledger(judged.ledger)
    out.print(f"The page with plots: {out_file}", soft_wrap=True)


def check_traces(paper: Paper, scale: str, source: Path) -> None:
    """Before anything is begun that takes long."""
    missing = [trace.file for trace in paper.traces[scale] if not (source / trace.file).exists()]
    if missing:
        raise UsageError(f"{source} has no {' and no '.join(missing)} (docs/traces.md)")


def fetch_traces(paper: Paper, scale: str, source: Path, work: Path, master: str | None) -> None:
    with lab_imports():
        from orbweaver.pipeline.traces import fetch
    spark = start_spark(master, "reproduce")
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
