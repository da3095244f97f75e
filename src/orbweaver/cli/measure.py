"""`orbweaver measure` and `orbweaver report` evaluate a store of runs."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from orbweaver.cli.options import STORE, Conf, HtmlPage, Json, Master, StorageOption
from orbweaver.cli.reproduce import print_ledger, traces_beside
from orbweaver.cli.spark import lab_imports, start_spark
from orbweaver.cli.stores import checked_store, locate
from orbweaver.cli.terminal import out, print_json, show, table, this_command
from orbweaver.core.errors import UsageError
from orbweaver.records.files import check_file
from orbweaver.report.ledger import write_study
from orbweaver.report.measured import read_measured
from orbweaver.study.claims import gather
from orbweaver.study.judge import judge_all
from orbweaver.study.papers import PAPERS
from orbweaver.study.results import Results, Stored

MEASURED = Path("out/measured")
"""Default folder of the tables."""


def measure(
    store: Annotated[
        str,
        typer.Argument(
            metavar="[DIR|URL]",
            help="A store of `orbweaver sweep`; or a folder of `orbweaver gather` or "
            "`simulate --records-out`, or with several of these; or the files of live nodes.",
        ),
    ] = STORE,
    out_folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Write the tables here, all or none.")
    ] = MEASURED,
    code: Annotated[
        str | None,
        typer.Option(
            help="Take the runs of this version of the code. [default: the installed one]"
        ),
    ] = None,
    at: Annotated[
        float | None,
        typer.Option(
            help="For records: when to look at the overlay, in seconds. [default: the last moment "
            "with all nodes up]"
        ),
    ] = None,
    storage_option: StorageOption = None,
    master: Master = None,
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Measure all runs in a store, or a live cluster, with the spread over seeds.

    Writes Parquet tables: `topics` (components, diameter and distances of each topic in
    each run at each snapshot), `values` (metrics of each run), `settings` (means over seeds
    with 95 % intervals) and `runs`. Prints how many rows each table has.

    Example:

        orbweaver measure out/store --out measured && orbweaver report measured
    """
    with lab_imports():
        from orbweaver.pipeline.dataset import check_output, explained_failures
        from orbweaver.pipeline.measure import TABLES
        from orbweaver.pipeline.measure import measure as stage
        from orbweaver.pipeline.progress import job_progress
        from orbweaver.pipeline.recorded import are_records
    if "://" not in store and not Path(store).is_dir():
        raise UsageError(f"{store}: no such folder; 'orbweaver sweep' makes a store")
    if out_folder == MEASURED:
        out_folder.parent.mkdir(exist_ok=True)
    check_output(out_folder, TABLES)
    if "://" not in store and are_records(Path(store)):
        measured = locate(store)
    else:
        measured = checked_store(store, storage_option, "'orbweaver sweep' repeats its runs")
    spark = start_spark(master, "measure", conf)
    with job_progress(spark, "measuring"), explained_failures():
        found = stage(
            spark, measured, out_folder, code, at_ms=None if at is None else round(1000 * at)
        )
    if json:
        print_json(dataclasses.asdict(found) | {"out": str(out_folder)})
        return
    grid = table(f"{store}, code {found.code}, to {out_folder}", "table", "rows")
    for name, rows in found.tables.items():
        grid.add_row(f"{name}/", show(rows))
    out.print(grid)


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder that `orbweaver measure` wrote.")
    ] = MEASURED,
    out_file: HtmlPage = Path("report.html"),
    json: Json = False,
) -> None:
    """Make an HTML page of measured runs: claims, figures, and every setting with its spread.

    A paper's claims are judged at each scale for which the store has all the runs they need.

    Example:

        orbweaver report measured --out measured.html
    """
    check_file(out_file)
    found = read_measured(folder)
    results = Results(Stored(found.code, result) for result in found.results)
    traces = traces_beside(found.store)
    all_judged = (judge_all(paper, results, traces) for paper in PAPERS.values())
    judged = [one for one in all_judged if one is not None]
    # Each run goes into the series of its paper; a run without a paper keeps its own name.
    placed = [result for one in judged for result in one.results]
    ids = {result.run_id for result in placed}
    series = gather([*placed, *(r for r in found.results if r.run_id not in ids)])
    write_study(out_file, judged, series, this_command(), found.code, found.topics)
    ledgers = [one.ledger for one in judged]
    if json:
        print_json(msgspec.to_builtins({"ledgers": ledgers, "page": str(out_file)}))
        return
    for ledger in ledgers:
        print_ledger(ledger)
    out.print(f"The page with plots: {out_file}", soft_wrap=True)
