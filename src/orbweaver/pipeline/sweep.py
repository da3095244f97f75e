"""Simulations as Spark tasks: one task is one (scenario, seed).

Results are appended to the store wave by wave. What the store has is not run again, so a
sweep that was interrupted goes on where it was, less one wave at most. A run that fails is
stored with its traceback, and the others go on.
"""

from __future__ import annotations

import resource
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from orbweaver.core.errors import UsageError
from orbweaver.pipeline.store import RUNS, Failure, job_key, stored_failures, stored_results
from orbweaver.study.pool import Job
from orbweaver.study.run import Result, Run, run_scenario
from orbweaver.study.version import code_version
from orbweaver.workload.scenario import Scenario

JOBS = StructType(
    [
        StructField("place", LongType(), False),
        StructField("key", StringType(), False),
        StructField("scenario", StringType(), False),
        StructField("seed", LongType(), False),
    ]
)

MEMORY_GB = 6
"""What one task may take, unless told otherwise; beyond, it fails alone."""


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
    """Run what the store does not have. `wave` 0 means eight for each core; `done` is told
    after each wave how many of how many are there."""
    if not store.parent.is_dir():
        raise UsageError(f"{store}: there is no folder {store.parent}")
    keys = {job_key(*job): job for job in jobs}
    known = stored_results(spark, store, keys)
    missing = [key for key in keys if key not in known]
    # Large runs first, so that no core is left with one at the end of a wave.
    missing.sort(key=lambda key: -keys[key][0].workload.nodes)
    wave = wave or 8 * _parallelism(spark)
    for start in range(0, len(missing), wave):
        chunk = missing[start : start + wave]
        rows = [
            (place, key, msgspec.json.encode(keys[key][0]).decode(), keys[key][1])
            for place, key in enumerate(chunk)
        ]
        frame = spark.createDataFrame(rows, JOBS).repartitionByRange(len(rows), "place")
        frame.mapInArrow(_runner(memory_gb), RUNS).write.mode("append").parquet(str(store))
        if done is not None:
            done(len(keys) - len(missing) + start + len(chunk), len(keys))
    known = stored_results(spark, store, keys)
    failures = stored_failures(spark, store, [key for key in keys if key not in known])
    return Swept([known[key] for key in keys if key in known], failures, len(missing))


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
        row["name"] = scenario.name
        run = run_scenario(scenario, seed)
        result = msgspec.json.encode(run.result).decode()
        return row | {"ok": True, "result": result, "looks": _looks(run)}
    except Exception:
        return row | {"error": traceback.format_exc()}


def _looks(run: Run) -> list[dict[str, Any]]:
    return [
        {"time_ms": look.time_ms, "node": node, "topics": sorted(topics), "peers": look.links[node]}
        for look in run.looks
        for node, topics in look.interests.items()
    ]


def _runner(
    memory_gb: float,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    schema = to_arrow_schema(RUNS)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _bound_memory(memory_gb)
        for batch in batches:
            for job in batch.to_pylist():
                row = run_row(job["key"], job["scenario"], job["seed"])
                yield pa.RecordBatch.from_pylist([row], schema=schema)

    return run


def _bound_memory(memory_gb: float) -> None:
    """A run that grows beyond its share gets a MemoryError instead of taking the machine."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (int(memory_gb * 2**30), hard))


def _parallelism(spark: SparkSession) -> int:
    """Tasks at once; a Connect server does not say."""
    try:
        return max(1, spark.sparkContext.defaultParallelism)
    except Exception:
        return 4
