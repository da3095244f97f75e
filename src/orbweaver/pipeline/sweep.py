"""Simulations as Spark tasks: one task is one (scenario, seed).

Results are appended to a store, one Parquet folder, wave by wave. A run is named by a hash
of its scenario, its seed and the code; what the store has is not run again, so a sweep that
was interrupted goes on where it was, less one wave at most. A run that fails is stored with
its traceback and the command that replays it, and the others go on.
"""

from __future__ import annotations

import resource
import shlex
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

from orbweaver.core.errors import UsageError
from orbweaver.core.seeds import derive
from orbweaver.study.pool import Job
from orbweaver.study.run import Result, run_scenario
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
STORE = StructType(
    [
        StructField("key", StringType(), False),
        StructField("name", StringType(), False),
        StructField("seed", LongType(), False),
        StructField("ok", BooleanType(), False),
        StructField("result", StringType(), False),
        StructField("error", StringType(), False),
        StructField("replay", StringType(), False),
    ]
)
"""`result` and `scenario` are JSON of `study.run.Result` and `workload.scenario.Scenario`."""

MEMORY_GB = 6
"""What one task may take, unless told otherwise; beyond, it fails alone."""


class Failure(msgspec.Struct, frozen=True):
    name: str
    seed: int
    error: str
    replay: str


class Swept(msgspec.Struct, frozen=True):
    results: list[Result]
    """In the order of the jobs, without those that failed."""
    failures: list[Failure]
    ran: int
    """How many were not in the store before."""


def job_key(scenario: Scenario, seed: int) -> str:
    return f"{derive('run', scenario.fingerprint(), scenario.name, seed, code_version()):016x}"


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
    known = _stored(spark, store, keys)
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
        frame.mapInPandas(_runner(memory_gb), STORE).write.mode("append").parquet(str(store))
        if done is not None:
            done(len(keys) - len(missing) + start + len(chunk), len(keys))
    known = _stored(spark, store, keys)
    failures = _failures(spark, store, [key for key in keys if key not in known])
    results = [known[key] for key in keys if key in known]
    return Swept(results, failures, len(missing))


def run_row(key: str, scenario_json: str, seed: int) -> tuple[str, str, int, bool, str, str, str]:
    """One row of the store; never raises for what the run does wrong."""
    name = ""
    try:
        scenario = msgspec.json.decode(scenario_json, type=Scenario)
        name = scenario.name
        result = run_scenario(scenario, seed).result
        return key, name, seed, True, msgspec.json.encode(result).decode(), "", ""
    except Exception:
        replay = shlex.join(["orbweaver", "replay", scenario_json, "--seed", str(seed)])
        return key, name, seed, False, "", traceback.format_exc(), replay


def _runner(memory_gb: float) -> Callable[[Iterable[pd.DataFrame]], Iterator[pd.DataFrame]]:
    def run(batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        _bound_memory(memory_gb)
        for batch in batches:
            for row in batch.itertuples():
                made = run_row(row.key, row.scenario, int(row.seed))
                yield pd.DataFrame([made], columns=STORE.fieldNames())

    return run


def _bound_memory(memory_gb: float) -> None:
    """A run that grows beyond its share gets a MemoryError instead of taking the machine."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (int(memory_gb * 2**30), hard))


def _stored(spark: SparkSession, store: Path, keys: Iterable[str]) -> dict[str, Result]:
    """The results that are there, of these keys."""
    if not store.is_dir():
        return {}
    frame = spark.read.schema(STORE).parquet(str(store)).where("ok").select("key", "result")
    wanted = frozenset(keys)
    found = (row for row in frame.collect() if row.key in wanted)
    return {row.key: msgspec.json.decode(row.result, type=Result) for row in found}


def _failures(spark: SparkSession, store: Path, keys: Sequence[str]) -> list[Failure]:
    """What is known of the runs that have no result, the last try of each."""
    if not keys:
        return []
    frame = spark.read.schema(STORE).parquet(str(store)).where("not ok")
    last = {row.key: row for row in frame.collect()}
    rows = [last[key] for key in keys if key in last]
    return [Failure(row.name, row.seed, row.error, row.replay) for row in rows]


def _parallelism(spark: SparkSession) -> int:
    """Tasks at once; a Connect server does not say."""
    try:
        return max(1, spark.sparkContext.defaultParallelism)
    except Exception:
        return 4
