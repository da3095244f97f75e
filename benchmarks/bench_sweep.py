"""Do simulations as Spark tasks use the cores as well as a plain pool of processes?

The same runs are made three times: one after the other, in a pool of processes, and as a sweep into
a store with snapshots. The start of Spark and of the pool's processes is left out as far as
possible: each gets a small job first. Seconds are of the wall clock, and of the processor for all
processes together.

    python benchmarks/bench_sweep.py --runs 300 --nodes 100
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

from msgspec.structs import replace
from rich.console import Console
from rich.table import Table

from orbweaver.pipeline.session import spark_session
from orbweaver.pipeline.store import locate_store
from orbweaver.pipeline.sweep import sweep
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
    alone, *one = timed(lambda: [digest_of(job) for job in jobs])
    with get_context("spawn").Pool(args.cores) as pool:
        pool.map(digest_of, small)
        pooled, *pool_seconds = timed(lambda: pool.map(digest_of, jobs, chunksize=1))
    spark = spark_session(f"local[{args.cores}]")
    with tempfile.TemporaryDirectory() as folder:
        sweep(spark, small, locate_store(f"{folder}/warm"))
        store = locate_store(f"{folder}/store")
        swept, *sweep_seconds = timed(lambda: [r.digest for r in sweep(spark, jobs, store).results])
    assert alone == pooled == swept, "the same runs, wherever they run"
    table = Table(title=f"{args.runs} runs of {args.nodes:,} nodes on {args.cores} cores")
    table.add_column("how")
    for column in ("s", "processor s", "x one core", "x pool"):
        table.add_column(column, justify="right")
    for how, (seconds, used) in (
        ("one after the other", one),
        (f"multiprocessing pool of {args.cores}", pool_seconds),
        ("sweep, Spark tasks into a store", sweep_seconds),
    ):
        table.add_row(
            how,
            f"{seconds:.1f}",
            f"{used:.1f}",
            f"{one[0] / seconds:.2f}",
            f"{pool_seconds[0] / seconds:.2f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
