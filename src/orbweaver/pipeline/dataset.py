"""A folder of tables, one Parquet folder for each, and `dataset.json` saying where they
come from. It appears whole or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from orbweaver.core.errors import UsageError
from orbweaver.records.files import check_folder, whole_folder

MANIFEST = "dataset.json"


@contextmanager
def whole_dataset(path: Path, tables: Collection[str]) -> Iterator[Path]:
    """Gives a folder to write tables into, which takes the place of `path` if nothing goes
    wrong. What is there already is replaced only if it is an earlier run's, with no tables
    but these: two traces written to one folder would otherwise lose the first."""
    check_output(path, tables)
    with whole_folder(path, {*tables, MANIFEST}) as temporary:
        yield temporary


def check_output(path: Path, tables: Collection[str]) -> None:
    """Mistakes about the place to write to, found before the work begins."""
    if "://" in str(path) or ":/" in str(path):
        raise UsageError(f"{path}: tables are written to a folder, not to an address")
    check_folder(path, {*tables, MANIFEST})


def write_table(rows: DataFrame, folder: Path, name: str) -> DataFrame:
    """Writes it, and gives back what was written, which no longer costs its making."""
    rows.write.parquet(f"file:{folder.resolve() / name}")
    return rows.sparkSession.read.schema(rows.schema).parquet(input_path(str(folder / name)))


def count_rows(folder: Path, name: str) -> int:
    """As the files themselves say; Spark would run a job for it."""
    return sum(pq.read_metadata(file).num_rows for file in (folder / name).glob("*.parquet"))


def write_manifest(folder: Path, facts: dict[str, Any]) -> None:
    (folder / MANIFEST).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Empty where there is none: a dataset may be made by hand."""
    path = folder / MANIFEST
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    return found if isinstance(found, dict) else {}


def has_table(folder: Path, name: str) -> bool:
    return (folder / name).is_dir()


def read_table(spark: SparkSession, folder: Path, name: str, schema: StructType) -> DataFrame:
    """One table of a dataset, with the columns and types of its schema."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    if not has_table(folder, name):
        raise UsageError(f"{folder} has no table '{name}'; 'orbweaver ingest' makes one")
    try:
        rows = spark.read.parquet(input_path(str(folder / name)))
    except AnalysisException as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(f"{folder / name} is not a Parquet table: {reason}") from None
    missing = [f.name for f in schema.fields if f.name not in rows.columns]
    if missing:
        raise UsageError(f"{folder / name}: no column '{missing[0]}'")
    return conform(rows, schema)


def conform(rows: DataFrame, schema: StructType) -> DataFrame:
    """The columns that a schema declares, in its order and types."""
    return rows.select([F.col(f.name).cast(f.dataType).alias(f.name) for f in schema.fields])


def input_path(name: str) -> str:
    """A file's name as Spark takes it: on this machine's file system whatever the cluster's
    default is, and without its characters meaning anything. An address is left alone."""
    if "://" in name:
        return name
    return "file:" + re.sub(r"([\\{}\[\]*?])", r"\\\1", str(Path(name).resolve()))


@contextmanager
def explained_failures() -> Iterator[None]:
    """A file that breaks in the middle is the user's to mend, not ours: one line about it."""
    try:
        yield
    except Exception as error:  # py4j's or PySpark's, by where the session runs
        text = str(error)
        if "FAILED_READ_FILE" not in text and "PATH_NOT_FOUND" not in text:
            raise
        name = re.search(r"(?:file|exist:) (\S+?)\.?\s", text)
        cause = re.search(r"Caused by: [\w.$]+: (.*)", text)
        where = Path(unquote(name[1])).name if name else "a file"
        why = cause[1].strip() if cause else "it is not there, or broken"
        raise UsageError(f"{where} cannot be read: {why}") from None
