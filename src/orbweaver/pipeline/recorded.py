"""Reads records of nodes as runs: a task for each run, so that none passes through the driver."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from orbweaver.pipeline.gather import gather
from orbweaver.pipeline.store import LOOK, look_rows
from orbweaver.records.node_files import has_files
from orbweaver.study.recorded import holds_records, read_run, record_folders
from orbweaver.study.results import Stored, made_here
from orbweaver.study.run import Result

RECORDED = StructType(
    [
        StructField("result", StringType(), True),
        *(StructField(field.name, field.dataType, True) for field in LOOK.fields),
    ]
)
"""A run, with its result as JSON, or a node at a snapshot of it."""
ROWS_AT_ONCE = 10_000


def are_records(folder: Path) -> bool:
    """Return whether a folder has records: tables, or the files of live nodes."""
    return holds_records(folder) or has_files(folder)


@contextmanager
def record_tables(spark: SparkSession, folder: Path, near: Path) -> Iterator[Path]:
    """Yield a folder with tables of records. The files of live nodes are gathered first, into a
    folder in `near` that is there for a while."""
    if holds_records(folder):
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix=".gathered-", dir=near) as made:
        gather(spark, folder, Path(made) / "tables")
        yield Path(made) / "tables"


@contextmanager
def read_runs(
    spark: SparkSession, folder: Path, name: str, at_ms: int | None = None
) -> Iterator[tuple[list[Stored], DataFrame]]:
    """Yield the runs whose records are in a folder, or in the folders in it, and their snapshots.
    The records of a run are in the memory of one task, for the functions in `metrics`."""
    folders = record_folders(folder)
    schema = to_arrow_schema(RECORDED)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                run = read_run(folders[number], name, number, at_ms)
                result = msgspec.json.encode(run.result).decode()
                yield pa.RecordBatch.from_pylist([{"result": result}], schema=schema)
                rows = look_rows(run.result.run_id, run.looks)
                for start in range(0, len(rows), ROWS_AT_ONCE):
                    some = rows[start : start + ROWS_AT_ONCE]
                    yield pa.RecordBatch.from_pylist(some, schema=schema)

    found = spark.range(0, len(folders), 1, len(folders)).mapInArrow(read, RECORDED).persist()
    try:
        told = found.where(F.col("result").isNotNull()).select("result").collect()
        results = [msgspec.json.decode(row.result, type=Result) for row in told]
        looks = found.where(F.col("result").isNull()).select(*LOOK.fieldNames())
        each = {result.run_id: result for result in results}
        if len(each) < len(results):  # copies of a folder
            looks = looks.dropDuplicates(["run", "time_ms", "node"])
        yield made_here(each.values()), looks
    finally:
        found.unpersist()
