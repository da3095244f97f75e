"""`orbweaver sweep` runs many runs as Spark tasks; `orbweaver replay` repeats one of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from orbweaver.cli.options import (
    SEED,
    SEEDS,
    STORE,
    Conf,
    Json,
    Master,
    Seeds,
    StorageOption,
    Store,
)
from orbweaver.cli.seeds import parse_seeds
from orbweaver.cli.simulate import print_result
from orbweaver.cli.spark import lab_imports, parse_conf, start_spark
from orbweaver.cli.stores import checked_store
from orbweaver.cli.terminal import err, out, print_json, progress, show, table
from orbweaver.core.errors import UsageError
from orbweaver.study.run import Job, Result, run_id, run_scenario
from orbweaver.workload.scenario import Scenario
from orbweaver.workload.scenario_files import load_scenario

SHOWN = ("degree_mean", "components", "diameter_max", "hit_ratio", "duplicates_steady")


def sweep(
    scenario: Annotated[list[Path], typer.Argument(help="Scenario files (TOML).")],
    seeds: Seeds = SEEDS,
    store: Store = STORE,
    storage_option: StorageOption = None,
    master: Master = None,
    conf: Conf = None,
    memory_gb: Annotated[float, typer.Option(help="Most memory for one run, in GB.")] = 6.0,
    json: Json = False,
) -> None:
    """Run scenarios over seeds, each run a Spark task, and keep the results in a store.

    Prints some metrics of each run. A run that the store has is not repeated, so an interrupted
    sweep goes on where it stopped. For a run that fails, the store keeps its traceback and the
    command that replays it. `orbweaver measure` evaluates the store.

    Example:

        orbweaver sweep scenarios/spidercast/base.toml --seeds 0-9
    """
    jobs: list[Job] = [(load_scenario(p), seed) for p in scenario for seed in parse_seeds(seeds)]
    swept = run_sweep(jobs, store, master, memory_gb, conf, storage_option)
    if json:
        print_json(msgspec.to_builtins(swept, str_keys=True))
    else:
        grid = table(f"{len(swept.results)} runs, {swept.ran} of them new", "run", "seed", *SHOWN)
        for result in swept.results:
            cells = (show(result.metrics[metric]) for metric in SHOWN)
            grid.add_row(result.name or result.overlay, str(result.seed), *cells)
        out.print(grid)
    report_cut_short(swept.results)
    report_failures(swept.failures)


def replay(
    scenario: Annotated[str, typer.Argument(help="A scenario as JSON, as a sweep printed it.")],
    seed: Annotated[int, typer.Option(help="The seed of the run.")] = SEED,
) -> None:
    """Repeat one run of a sweep in this process and print its metrics.

    A failed run prints the whole command when the sweep ends.
    """
    try:
        spec = msgspec.json.decode(scenario, type=Scenario)
    except msgspec.DecodeError as error:
        raise UsageError(f"the argument is not a scenario as JSON: {error}") from None
    print_result(run_scenario(spec, seed))


def run_sweep(
    jobs: list[Job],
    store: str,
    master: str | None,
    memory_gb: float,
    conf: list[str] | None = None,
    storage_option: list[str] | None = None,
) -> Any:
    """Run jobs through Spark and show a bar."""
    with lab_imports():
        from orbweaver.pipeline.dataset import explained_failures
        from orbweaver.pipeline.memory import sweep_settings
        from orbweaver.pipeline.sweep import sweep as sweep_stage
    # Before Spark starts, which takes a while.
    kept = checked_store(store, storage_option, "its runs are repeated")
    for job in jobs:
        run_id(*job)  # raises if a file it names is missing or a parameter is wrong
    purpose = sweep_settings(master, jobs, memory_gb, parse_conf(conf or ()))
    spark = start_spark(master, "sweep", conf, purpose)
    with progress("running", len(jobs), count=True) as bar, explained_failures():
        return sweep_stage(spark, jobs, kept, memory_gb, done=lambda there, _: bar(there))


def report_cut_short(results: Sequence[Result]) -> None:
    """Warn of runs that a limit ended, since their numbers cover a part of the run only."""
    short = [f"{r.name or r.overlay} seed {r.seed}" for r in results if not r.complete]
    if short:
        err.print(
            f"stopped by events_max or time_max_ms; the numbers cover the time before: "
            f"{', '.join(short)}",
            soft_wrap=True,
        )


def report_failures(failures: list[Any]) -> None:
    for failure in failures:
        reason = failure.error.strip().splitlines()[-1]
        line = f"failed: {failure.name} seed {failure.seed}: {reason}"
        err.print(line, soft_wrap=True)
        err.print(f"  replay: {failure.replay}", soft_wrap=True)
    if failures:
        raise typer.Exit(1)
