"""One ingest of a small text, and what it wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from orbweaver.pipeline.ingest.job import prepare
from orbweaver.pipeline.ingest.run import IngestReport, ingest

Rows = list[tuple[Any, ...]]


def run(
    spark: SparkSession, folder: Path, kind: str, *files: Path, **options: str
) -> tuple[IngestReport, dict[str, Rows]]:
    out = folder / "out"
    report = ingest(spark, prepare(kind, [str(file) for file in files], out, options))
    return report, {name: rows(out / name) for name in report.tables}


def rows(table: Path) -> Rows:
    """As another program would read it, in the order of the files."""
    read = pq.read_table(table)
    return list(zip(*(column.to_pylist() for column in read.columns), strict=True))


def counts(report: IngestReport) -> dict[str, int]:
    """Everything that was not simply used, by reason."""
    return report.merged | report.skipped | report.dropped | report.rejected
