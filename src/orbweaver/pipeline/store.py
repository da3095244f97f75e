"""The store of runs: one Parquet folder to which sweeps append, a row for each run.

A run is named by a hash of its scenario, its seed and the code that ran it. Its row has the
result as `simulate` would print it, and what the overlay looked like at each snapshot, so
that new questions can be asked of old runs. A run that failed has its traceback instead.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from orbweaver.core.errors import UsageError
from orbweaver.metrics.snapshot import Snapshot
from orbweaver.pipeline.dataset import input_path
from orbweaver.records.files import check_folder
from orbweaver.study.recorded import read_recorded
from orbweaver.study.run import Result, run_id
from orbweaver.study.version import code_version, run_code
from orbweaver.workload.scenario import Scenario

LOOK = StructType(
    [
        StructField("time_ms", LongType(), False),
        StructField("node", LongType(), False),
        StructField("topics", ArrayType(StringType(), False), False),
        StructField("peers", ArrayType(LongType(), False), False),
    ]
)
"""One node at one snapshot."""

RUNS = StructType(
    [
        StructField("key", StringType(), False),
        StructField("code", StringType(), False),
        StructField("name", StringType(), False),
        StructField("seed", LongType(), False),
        StructField("scenario", StringType(), False),
        StructField("ok", BooleanType(), False),
        StructField("result", StringType(), False),
        StructField("error", StringType(), False),
        StructField("looks", ArrayType(LOOK, False), False),
    ]
)
"""`scenario` and `result` are JSON of `workload.scenario.Scenario` and `study.run.Result`."""


class Failure(msgspec.Struct, frozen=True):
    name: str
    seed: int
    error: str
    replay: str
    """The command that does it again, here."""


def job_key(scenario: Scenario, seed: int) -> str:
    """Return the row of a run: its identity, and the code that makes it."""
    return f"{run_id(scenario, seed)}-{run_code(scenario.overlay)}"


def check_store(store: Path) -> None:
    """Raise where runs cannot be added: a store is a folder of its own, with whole files."""
    if any(store.glob("*.parquet")):
        check_whole(store)
        first = min(store.glob("*.parquet"))
        if pq.read_schema(first).names != RUNS.fieldNames():
            raise UsageError(f"{store} has other tables than of runs in it; name another --store")
        return
    check_folder(store, [file.name for file in store.glob("[._]*")])  # what Spark leaves behind


def damaged_files(store: Path) -> dict[Path, str]:
    """Return the files of a store that are cut short or are no Parquet files, and why. Whether
    a file is whole shows at its end, so that little of it is read."""
    found = {}
    for file in sorted(store.glob("*.parquet")):
        try:
            pq.read_metadata(file)
        except (pa.ArrowException, OSError) as error:
            found[file] = str(error).partition(". ")[0].strip()
    return found


def check_whole(store: Path) -> None:
    """Raise where a file is damaged: Spark would stop with a Java traceback."""
    for file, why in damaged_files(store).items():
        raise UsageError(f"{file} is damaged ({why}): move it away, and its runs are run again")


def set_damaged_aside(store: Path) -> dict[Path, Path]:
    """Move damaged files of a store into a folder beside it, and return where each went. Their
    runs are then missing, and a sweep runs them again. A folder of other tables is left alone."""
    damaged = damaged_files(store)
    whole = [file for file in store.glob("*.parquet") if file not in damaged]
    if any(pq.read_schema(file).names != RUNS.fieldNames() for file in whole):
        return {}
    moved = {}
    aside = store.with_name(f"{store.name}-damaged")
    for file in damaged:
        if not file.name.startswith("part-"):  # Spark did not write it
            continue
        aside.mkdir(exist_ok=True)
        # Spark's checksum goes with it.
        for part in (file.with_name(f".{file.name}.crc"), file):
            if part.exists():
                part.rename(aside / part.name)
        moved[file] = aside / file.name
    return moved


def read_runs(spark: SparkSession, store: Path) -> DataFrame:
    """All rows. Runs of other versions of the code are among them, and failures."""
    if not any(store.glob("*.parquet")):
        raise UsageError(f"{store} is no store of runs; 'orbweaver sweep' makes one")
    check_whole(store)
    return spark.read.schema(RUNS).parquet(input_path(str(store)))


def look_rows(looks: Iterable[Snapshot]) -> list[dict[str, Any]]:
    return [
        {"time_ms": look.time_ms, "node": node, "topics": sorted(topics), "peers": look.links[node]}
        for look in looks
        for node, topics in look.interests.items()
    ]


def recorded_runs(spark: SparkSession, folder: Path, at_ms: int | None = None) -> DataFrame:
    """Records that a live cluster or a simulation wrote, as rows of a store."""
    rows = []
    for run in read_recorded(folder, at_ms):
        result = run.result
        key = f"{result.run_id}-{code_version()}"
        text = msgspec.json.encode(result).decode()
        looks = look_rows(run.looks)
        rows.append((key, code_version(), result.name, result.seed, "", True, text, "", looks))
    return spark.createDataFrame(rows, RUNS)


def stored_results(spark: SparkSession, store: Path, keys: Iterable[str]) -> dict[str, Result]:
    """Those of these runs that are there."""
    if not any(store.glob("*.parquet")):
        return {}
    wanted = frozenset(keys)
    rows = read_runs(spark, store).where("ok").select("key", "result").toLocalIterator()
    return {r.key: msgspec.json.decode(r.result, type=Result) for r in rows if r.key in wanted}


def stored_failures(spark: SparkSession, store: Path, keys: Sequence[str]) -> list[Failure]:
    """What is known of the runs that have no result."""
    if not keys:
        return []
    wanted = frozenset(keys)
    rows = read_runs(spark, store).where("not ok").drop("looks").toLocalIterator()
    found = {row.key: row for row in rows if row.key in wanted}
    return [
        Failure(row.name, row.seed, row.error, _replay(row.scenario, row.seed))
        for row in (found[key] for key in keys if key in found)
    ]


def _replay(scenario: str, seed: int) -> str:
    return shlex.join(["orbweaver", "replay", scenario, "--seed", str(seed)])
