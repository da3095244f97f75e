"""Runs simulations as Spark tasks: one for each (scenario, seed), or for several short ones.

Each task writes the snapshots of its runs. The results are added to the store in waves. A run that
the store has is not repeated, so an interrupted sweep goes on where it stopped and loses one wave
at most. A failed run is noted with its traceback, and the other runs go on. Scenarios that differ
in their names only are one run.
"""

from __future__ import annotations

import fcntl
import resource
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from orbweaver.core.errors import UsageError
from orbweaver.pipeline.bundles import Pace, bundle, wave_size, work
from orbweaver.pipeline.cancel import cancelled_on_failure
from orbweaver.pipeline.progress import watched_tasks
from orbweaver.pipeline.store import Failure, Made, RunStore, failure
from orbweaver.pipeline.workers import freeze_imports
from orbweaver.study.results import Stored
from orbweaver.study.run import Job, Result, run_id, run_scenario
from orbweaver.study.version import run_code

MEMORY_GB = 6
"""Default limit of a task's memory in GB; a task that exceeds it fails alone."""

DONE = StructType(
    [
        StructField("id", LongType(), False),
        StructField("made", StringType(), False),
        StructField("error", StringType(), False),
    ]
)
"""What a task says of each of its runs: the number of the job, and what it made, as JSON, or the
error."""


class Swept(msgspec.Struct, frozen=True):
    results: list[Result]
    """The results in the order of the jobs, without the failed runs."""
    failures: list[Failure]
    ran: int
    """How many runs were not in the store before."""


def sweep(
    spark: SparkSession,
    jobs: Sequence[Job],
    store: RunStore,
    memory_gb: float = MEMORY_GB,
    wave: int = 0,
    done: Callable[[int, int], None] | None = None,
) -> Swept:
    """Run the jobs that the store lacks, in waves, and return all results.

    An interruption loses the wave that is running. `wave` 0 means as many runs as take about a
    minute. `done` is called now and then, and after each wave, with the number of finished jobs
    and of all jobs.
    """
    store.check()
    tell = done or (lambda there, of: None)
    every = {run_id(*job): job for job in jobs}
    with writing_alone(store):
        store.create()
        results = store.results(every)
        there = {one.result.run_id for one in results.of(jobs, any_code=False)}
        # Large runs first, so that no core is left with one at the end of a wave.
        left = sorted(every.keys() - there, key=lambda run: (-work(every[run]), run))
        failures = []
        pace, cores = Pace(), _parallelism(spark)
        size, start = 0, 0
        while start < len(left):
            size = wave or wave_size([every[run] for run in left[start:]], pace, cores, size)
            chunk = [every[run] for run in left[start : start + size]]
            tasks = bundle(chunk, pace, cores)
            before = len(every) - len(left) + start

            def moved(
                done: int, _: int, before: int = before, share: float = len(chunk) / len(tasks)
            ) -> None:
                tell(before + int(done * share), len(every))

            # A partition for each task, which finds its runs by its number.
            places = spark.range(0, len(tasks), 1, len(tasks))
            runner = _runner(chunk, tasks, store, memory_gb)
            with cancelled_on_failure(spark), watched_tasks(spark, "runs", moved):
                rows = places.mapInArrow(runner, DONE).collect()
            made = [msgspec.json.decode(row.made, type=Made) for row in rows if row.made]
            failures += [failure(chunk[row.id], row.error) for row in rows if row.error]
            store.add(made)
            results.add(one.stored for one in made)
            pace.learn(chunk, [one.stored.result for one in made])
            start += len(chunk)
            tell(before + len(chunk), len(every))
        store.write_failures(failures)
        found = [one.result for one in results.of(jobs, any_code=False)]
        return Swept(found, failures, len(left))


def run_job(job: Job, store: RunStore) -> dict[str, str]:
    """Run one job. Return what it made, or the traceback of its failure; never raise."""
    try:
        run = run_scenario(*job)
        made = store.write_looks(Stored(run_code(run.result.overlay), run.result), run)
        return {"made": msgspec.json.encode(made).decode(), "error": ""}
    except Exception:
        return {"made": "", "error": traceback.format_exc()}


def _runner(
    jobs: Sequence[Job], tasks: Sequence[Sequence[int]], store: RunStore, memory_gb: float
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    schema = to_arrow_schema(DONE)
    encoded = [msgspec.json.encode([jobs[number] for number in task]) for task in tasks]

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_imports()
        for batch in batches:
            for task in batch.column("id").to_pylist():
                own = msgspec.json.decode(encoded[task], type=list[Job])
                for number, job in zip(tasks[task], own, strict=True):
                    with bounded_memory(memory_gb):
                        row = run_job(job, store)
                    yield pa.RecordBatch.from_pylist([{"id": number, **row}], schema=schema)

    return run


@contextmanager
def writing_alone(store: RunStore) -> Iterator[None]:
    """Lock a store that is a folder: two sweeps would do the same runs. The lock ends with the
    process. At an address there is none, and the table keeps the first of equal runs."""
    if store.folder is None:
        yield
        return
    with store.folder.with_name(f".{store.folder.name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"{store.place} is being written by another command: wait for it, or choose a "
                "different store with --store"
            ) from None
        yield


@contextmanager
def bounded_memory(gigabytes: float) -> Iterator[None]:
    """Limit the memory of the body, so that a run that grows too large gets a MemoryError. The
    limit ends with the run, since Spark gives the same process other tasks afterwards."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (int(gigabytes * 2**30), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _parallelism(spark: SparkSession) -> int:
    """Return how many tasks run at the same time; 4 if a Connect server does not say."""
    try:
        return max(1, spark.sparkContext.defaultParallelism)
    except Exception:
        return 4
