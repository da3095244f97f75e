"""Simulations as Spark tasks: one task is one (scenario, seed).

Results are appended to the store wave by wave. What the store has is not run again, so a
sweep that was interrupted goes on where it was, less one wave at most. A run that fails is
stored with its traceback, and the others go on. Scenarios that differ in nothing but their
names are one run.
"""

from __future__ import annotations

import fcntl
import resource
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from orbweaver.core.errors import UsageError
from orbweaver.pipeline.cancel import cancelled_on_failure
from orbweaver.pipeline.progress import watched_tasks
from orbweaver.pipeline.store import (
    RUNS,
    Failure,
    check_store,
    job_key,
    look_rows,
    stored_failures,
    stored_results,
)
from orbweaver.study.run import Job, Result, run_scenario
from orbweaver.study.version import code_version, run_code
from orbweaver.workload.scenario import Scenario

MEMORY_GB = 6
"""What one task may take, unless told otherwise; beyond, it fails alone."""
SHORT_S = 60.0
"""A wave that takes no longer is followed by one of twice as many runs."""


class Swept(msgspec.Struct, frozen=True):
    results: list[Result]
    """In the order of the jobs, without those that failed."""
    failures: list[Failure]
    ran: int
    """How many were not in the store before."""


def sweep(
    spark: SparkSession,
    jobs: Sequence[Job],
    store: Path,
    memory_gb: float = MEMORY_GB,
    wave: int = 0,
    done: Callable[[int, int], None] | None = None,
) -> Swept:
    """Run what the store does not have, in waves: what an interruption loses is the wave that
    is under way. `wave` 0 means as many as take some minutes; `done` is told now and then, and
    after each wave, how many of how many are there."""
    store = store.resolve()
    check_store(store)
    tell = done or (lambda there, of: None)
    with writing_alone(store):
        keys = {job_key(*job): job for job in jobs}
        known = stored_results(spark, store, keys)
        missing = [key for key in keys if key not in known]
        # Large runs first, so that no core is left with one at the end of a wave.
        left = sorted(missing, key=lambda key: -keys[key][0].workload.nodes)
        size = wave or _parallelism(spark)
        start, there = 0, len(keys) - len(missing)
        while start < len(left):
            began = time.monotonic()
            chunk = left[start : start + size]
            runs = [
                (key, msgspec.json.encode(keys[key][0]).decode(), keys[key][1]) for key in chunk
            ]
            # A partition for each run, which the task finds by its number.
            places = spark.range(0, len(runs), 1, len(runs))

            def moved(tasks: int, _: int, there: int = there) -> None:
                tell(there + tasks, len(keys))

            with cancelled_on_failure(spark), watched_tasks(spark, "runs", moved):
                rows = places.mapInArrow(_runner(runs, memory_gb), RUNS)
                rows.write.mode("append").parquet(f"file:{store}")
            if not any(store.glob("*.parquet")):
                raise UsageError(
                    f"the runs are at the machines that made them: {store} has to be a folder "
                    "that all of them share with this one"
                )
            start += len(chunk)
            there += len(chunk)
            tell(there, len(keys))
            if not wave and time.monotonic() - began < SHORT_S:
                size *= 2  # what is left is no larger
        known = stored_results(spark, store, keys)
        failures = stored_failures(spark, store, [key for key in keys if key not in known])
        # Jobs that differ in nothing but their names are one run, with a result for each.
        named = [(job_key(*job), job[0]) for job in jobs]
        results = [known[key].placed(scenario) for key, scenario in named if key in known]
        return Swept(results, failures, len(missing))


def run_row(key: str, scenario_json: str, seed: int) -> dict[str, Any]:
    """One row of the store; never raises for what the run does wrong."""
    row: dict[str, Any] = dict.fromkeys(("name", "result", "error"), "") | {
        "key": key,
        "code": code_version(),
        "seed": seed,
        "scenario": scenario_json,
        "ok": False,
        "looks": [],
    }
    try:
        scenario = msgspec.json.decode(scenario_json, type=Scenario)
        row["name"], row["code"] = scenario.name, run_code(scenario.overlay)
        run = run_scenario(scenario, seed)
        result = msgspec.json.encode(run.result).decode()
        return row | {"ok": True, "result": result, "looks": look_rows(run.looks)}
    except Exception:
        return row | {"error": traceback.format_exc()}


def _runner(
    runs: Sequence[tuple[str, str, int]], memory_gb: float
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    schema = to_arrow_schema(RUNS)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place in batch.column("id").to_pylist():
                with bounded_memory(memory_gb):
                    row = run_row(*runs[place])
                yield pa.RecordBatch.from_pylist([row], schema=schema)

    return run


@contextmanager
def writing_alone(store: Path) -> Iterator[None]:
    """Spark tidies up what another is about to write. The lock goes with the process."""
    with store.with_name(f".{store.name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"{store} is being written by another command: wait for it, or name another "
                "with --store"
            ) from None
        yield


@contextmanager
def bounded_memory(gigabytes: float) -> Iterator[None]:
    """A run that grows beyond its share gets a MemoryError instead of taking the machine.
    Only the run: Spark gives the same process other tasks afterwards."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (int(gigabytes * 2**30), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _parallelism(spark: SparkSession) -> int:
    """Tasks at once; a Connect server does not say."""
    try:
        return max(1, spark.sparkContext.defaultParallelism)
    except Exception:
        return 4
