"""Do simulations as Spark tasks use the cores as well as a plain pool of processes?

The same runs are made one after the other, in a pool of processes, and as a sweep into a store with
snapshots. The start of Spark and of the pool's processes is left out as far as possible: each gets
a small job first. Seconds are of the wall clock, and of the processor for all processes together.
With several rounds pool and sweep take turns, each first in every second round, and the round with
the least processor time counts.

    python benchmarks/bench_sweep.py --runs 300 --nodes 100 --rounds 2 --skip-alone
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from msgspec.structs import replace
from rich.console import Console
from rich.table import Table

from orbweaver.pipeline.memory import sweep_settings
from orbweaver.pipeline.session import spark_session
from orbweaver.pipeline.store import locate_store
from orbweaver.pipeline.sweep import MEMORY_GB, sweep
from orbweaver.study.run import Job, run_scenario
from orbweaver.workload.scenario import PublishSpec, RunSpec, Scenario, WorkloadSpec


def digest_of(job: Job) -> str:
    return run_scenario(*job).result.digest


def timed(action: Callable[[], list[str]]) -> tuple[list[str], float, float]:
    """Return the result, the seconds and the seconds of the processor."""
    started, used = time.perf_counter(), processor_seconds()
    result = action()
    return result, time.perf_counter() - started, processor_seconds() - used


def processor_seconds() -> float:
    """Return what this process and its descendants, JVM and workers, have used so far."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            found[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    family = {os.getpid()}
    while more := {pid for pid, (parent, _) in found.items() if parent in family} - family:
        family |= more
    return sum(found[pid][1] for pid in family) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=32)
    parser.add_argument("--nodes", type=int, default=3000)
    parser.add_argument("--skip-alone", action="store_true", help="not one after the other")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    scenario = Scenario(
        overlay="spidercast",
        params={"membership": "full"},
        workload=WorkloadSpec(nodes=args.nodes),
        publish=PublishSpec(per_topic=0),
        run=RunSpec(warmup_ms=5000, drain_ms=0, measure_bytes=False),
    )
    jobs = [(scenario, seed) for seed in range(args.runs)]
    small = [(replace(scenario, workload=WorkloadSpec(nodes=20)), s) for s in range(args.cores)]
    best: dict[str, tuple[float, float]] = {}
    expected: list[str] = []
    if not args.skip_alone:
        expected, seconds, used = timed(lambda: [digest_of(job) for job in jobs])
        best["alone"] = used, seconds
    purpose = sweep_settings(None, jobs, MEMORY_GB, {})
    spark = spark_session(f"local[{args.cores}]", purpose=purpose)
    with (
        tempfile.TemporaryDirectory() as folder,
        get_context("spawn").Pool(args.cores) as pool,
    ):
        pool.map(digest_of, small)

        def pooled(_: int) -> list[str]:
            return pool.map(digest_of, jobs, chunksize=1)

        def swept(number: int) -> list[str]:
            store = locate_store(f"{folder}/store{number}")
            return [result.digest for result in sweep(spark, jobs, store).results]

        for number in range(args.rounds):
            for action in (pooled, swept)[:: -1 if number % 2 else 1]:
                if action is swept:  # Spark has ended workers that had nothing to do for a minute
                    sweep(spark, small, locate_store(f"{folder}/warm{number}"))
                digests, seconds, used = timed(partial(action, number))
                expected = expected or digests
                assert digests == expected, "the same runs, wherever they run"
                took = used, seconds
                best[action.__name__] = min(best.get(action.__name__, took), took)
    pool_used, pool_seconds = best["pooled"]
    table = Table(title=f"{args.runs} runs of {args.nodes:,} nodes on {args.cores} cores")
    table.add_column("how")
    for column in ("s", "processor s", "x one core", "x pool", "processor time / pool"):
        table.add_column(column, justify="right")
    ways = {
        "alone": "one after the other",
        "pooled": f"pool of {args.cores}",
        "swept": "sweep into a store",
    }
    for way in best:
        used, seconds = best[way]
        table.add_row(
            ways[way],
            f"{seconds:.1f}",
            f"{used:.1f}",
            f"{best['alone'][1] / seconds:.2f}" if "alone" in best else "",
            f"{pool_seconds / seconds:.2f}",
            f"{used / pool_used:.2f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
