"""The store of a sweep is a folder with a file of results and tables of snapshots.

`results.jsonl` has a line for each run that succeeded (`study.results`). `looks` has a Parquet
table for each of these runs, with every node at every snapshot, so that new questions can be asked
of old runs. `failures.jsonl` has the failed runs of the last sweep, with their tracebacks.
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
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from orbweaver.core.errors import UsageError
from orbweaver.metrics.snapshot import Snapshot
from orbweaver.pipeline.dataset import input_path
from orbweaver.records.files import check_folder, whole_file
from orbweaver.study.results import Stored
from orbweaver.study.run import Job, Run

RESULTS, LOOKS, FAILURES = "results.jsonl", "looks", "failures.jsonl"

LOOK = StructType(
    [
        StructField("run", StringType(), False),
        StructField("time_ms", LongType(), False),
        StructField("node", LongType(), False),
        StructField("topics", ArrayType(StringType(), False), False),
        StructField("peers", ArrayType(LongType(), False), False),
    ]
)
"""Each row is a node at a snapshot of a run."""


class Failure(msgspec.Struct, frozen=True):
    name: str
    seed: int
    error: str
    """The traceback of the failure."""
    replay: str
    """The command that repeats the run."""


def failure(job: Job, error: str) -> Failure:
    scenario, seed = job
    text = msgspec.json.encode(scenario).decode()
    replay = shlex.join(["orbweaver", "replay", text, "--seed", str(seed)])
    return Failure(scenario.name, seed, error, replay)


def check_store(store: Path) -> None:
    """Raise `UsageError` if runs cannot be added; a store is a folder of its own."""
    check_folder(store, (RESULTS, LOOKS, FAILURES))


def is_store(folder: Path) -> bool:
    return (folder / RESULTS).is_file()


def looks_file(store: Path, run_id: str, code: str) -> Path:
    return store / LOOKS / f"{run_id}-{code}.parquet"


def has_looks(store: Path, one: Stored) -> bool:
    return looks_file(store, one.result.run_id, one.code).exists()


def write_looks(store: Path, one: Stored, run: Run) -> None:
    """Write the snapshots of a run, with its scenario in the metadata of the file."""
    about = {"scenario": msgspec.json.encode(run.scenario)}
    schema = to_arrow_schema(LOOK).with_metadata(about)
    rows = pa.Table.from_pylist(look_rows(one.result.run_id, run.looks), schema)
    path = looks_file(store, one.result.run_id, one.code)
    path.parent.mkdir(exist_ok=True)
    with whole_file(path) as temporary:
        pq.write_table(rows, temporary)


def look_rows(run: str, looks: Iterable[Snapshot]) -> list[dict[str, Any]]:
    return [
        {
            "run": run,
            "time_ms": look.time_ms,
            "node": node,
            "topics": sorted(topics),
            "peers": look.links[node],
        }
        for look in looks
        for node, topics in look.interests.items()
    ]


def read_looks(spark: SparkSession, store: Path, stored: Sequence[Stored]) -> DataFrame:
    files = [looks_file(store, one.result.run_id, one.code) for one in stored]
    for file in files:
        if why := _damage(file):  # Spark would stop with a Java traceback
            raise UsageError(f"{file} is damaged ({why}): move it away, and its run is run again")
    return spark.read.schema(LOOK).parquet(*(input_path(str(file)) for file in files))


def set_damaged_aside(store: Path) -> dict[Path, Path]:
    """Move damaged files of a store into a folder beside it, and return where each went. The runs
    of these files are then missing, and a sweep repeats them."""
    moved = {}
    aside = store.with_name(f"{store.name}-damaged")
    for file in sorted((store / LOOKS).glob("*.parquet")) if is_store(store) else ():
        if _damage(file):
            aside.mkdir(exist_ok=True)
            moved[file] = file.rename(aside / file.name)
    return moved


def _damage(file: Path) -> str:
    """Return why a file cannot be read; empty if it is whole. Only the end of the file is read,
    since it shows whether the file is whole."""
    try:
        pq.read_metadata(file)
    except (pa.ArrowException, OSError) as error:
        return str(error).partition(". ")[0].strip()
    return ""
