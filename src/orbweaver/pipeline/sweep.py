"""Simulations as Spark tasks: one task is one (scenario, seed).

Each task writes what its run looked like; the results are added to the store wave by wave. What
the store has is not run again, so a sweep that was interrupted goes on where it was, less one
wave at most. A run that fails is noted with its traceback, and the others go on. Scenarios that
differ in nothing but their names are one run.
"""

from __future__ import annotations

import fcntl
import resource
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from orbweaver.core.errors import UsageError
from orbweaver.pipeline.cancel import cancelled_on_failure
from orbweaver.pipeline.progress import watched_tasks
from orbweaver.pipeline.store import (
    FAILURES,
    RESULTS,
    Failure,
    check_store,
    failure,
    has_looks,
    write_looks,
)
from orbweaver.records.files import whole_file
from orbweaver.study.results import Stored, append_results, read_results
from orbweaver.study.run import Job, Result, run_id, run_scenario
from orbweaver.study.version import run_code

MEMORY_GB = 6
"""What one task may take, unless told otherwise; beyond, it fails alone."""
SHORT_S = 60.0
"""A wave that takes no longer is followed by one of twice as many runs."""

DONE = StructType(
    [
        StructField("id", LongType(), False),
        StructField("line", StringType(), False),
        StructField("error", StringType(), False),
    ]
)
"""What a task returns: which run, its line of the store, or what went wrong."""


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
        store.mkdir(exist_ok=True)
        results = read_results(store / RESULTS)
        known = results.of(jobs, any_code=False)
        there = {one.result.run_id for one in known if has_looks(store, one)}
        every = {run_id(*job): job for job in jobs}
        # Large runs first, so that no core is left with one at the end of a wave.
        left = sorted(every.keys() - there, key=lambda run: (-every[run][0].workload.nodes, run))
        failures = []
        size, start = wave or _parallelism(spark), 0
        while start < len(left):
            began = time.monotonic()
            chunk = [every[run] for run in left[start : start + size]]
            before = len(every) - len(left) + start

            def moved(tasks: int, _: int, before: int = before) -> None:
                tell(before + tasks, len(every))

            # A partition for each run, which the task finds by its number.
            places = spark.range(0, len(chunk), 1, len(chunk))
            with cancelled_on_failure(spark), watched_tasks(spark, "runs", moved):
                rows = places.mapInArrow(_runner(chunk, store, memory_gb), DONE).collect()
            made = [msgspec.json.decode(row.line, type=Stored) for row in rows if row.line]
            failures += [failure(chunk[row.id], row.error) for row in rows if row.error]
            if not all(has_looks(store, one) for one in made):
                raise UsageError(
                    f"the runs are at the machines that made them: {store} has to be a folder "
                    "that all of them share with this one"
                )
            append_results(store / RESULTS, made)
            results.add(made)
            start += len(chunk)
            tell(before + len(chunk), len(every))
            if not wave and time.monotonic() - began < SHORT_S:
                size *= 2  # what is left is no larger
        with whole_file(store / FAILURES) as temporary:
            temporary.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in failures))
        found = [one.result for one in results.of(jobs, any_code=False)]
        return Swept(found, failures, len(left))


def run_job(job: Job, store: Path) -> dict[str, str]:
    """Run one job. Return its line of the store, or what went wrong; never raise for that."""
    try:
        run = run_scenario(*job)
        one = Stored(run_code(run.result.overlay), run.result)
        write_looks(store, one, run)
        return {"line": msgspec.json.encode(one).decode(), "error": ""}
    except Exception:
        return {"line": "", "error": traceback.format_exc()}


def _runner(
    jobs: Sequence[Job], store: Path, memory_gb: float
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    schema = to_arrow_schema(DONE)
    encoded = msgspec.json.encode(jobs)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        jobs = msgspec.json.decode(encoded, type=list[Job])
        for batch in batches:
            for place in batch.column("id").to_pylist():
                with bounded_memory(memory_gb):
                    row = run_job(jobs[place], store)
                yield pa.RecordBatch.from_pylist([{"id": place, **row}], schema=schema)

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
