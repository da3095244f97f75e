"""A dataset is a folder of tables, one Parquet folder for each, and `dataset.json`, which says
where they come from. It appears whole or not at all."""

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
    """Yield a folder to write tables into, which replaces `path` if the body succeeds.

    A folder at `path` is replaced only if an earlier run wrote it, with no tables but `tables`: two
    traces written to one folder would otherwise lose the first.
    """
    check_output(path, tables)
    with whole_folder(path, {*tables, MANIFEST}) as temporary:
        yield temporary


def check_output(path: Path, tables: Collection[str]) -> None:
    """Raise `UsageError` if `path` cannot be written to; called before the work begins."""
    if "://" in str(path) or ":/" in str(path):
        raise UsageError(f"{path} is an address: tables are written to a folder of this machine")
    check_folder(path, {*tables, MANIFEST})


def write_table(rows: DataFrame, folder: Path, name: str) -> DataFrame:
    """Write a table and return the written rows, which are not computed again."""
    rows.write.parquet(f"file:{folder.resolve() / name}")
    return rows.sparkSession.read.schema(rows.schema).parquet(input_path(str(folder / name)))


def count_rows(folder: Path, name: str) -> int:
    """Return the number of rows from the metadata of the files, without a Spark job."""
    return sum(pq.read_metadata(file).num_rows for file in (folder / name).glob("*.parquet"))


def write_manifest(folder: Path, facts: dict[str, Any]) -> None:
    (folder / MANIFEST).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest, or an empty one if there is none: a dataset may be made by hand."""
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
    """Return a table of a dataset with the columns and types of its schema."""
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
    """Return the columns of a schema, in its order and types."""
    return rows.select([F.col(f.name).cast(f.dataType).alias(f.name) for f in schema.fields])


def input_path(name: str) -> str:
    """Return a file's name for Spark: on this machine's file system, whatever the cluster's default
    is, and with special characters escaped. An address is returned unchanged."""
    if "://" in name:
        return name
    return "file:" + re.sub(r"([\\{}\[\]*?])", r"\\\1", str(Path(name).resolve()))


@contextmanager
def explained_failures() -> Iterator[None]:
    """Turn a failure that the user has to mend, such as one to read a file, into an error of one
    line."""
    try:
        yield
    except Exception as error:  # of py4j or of PySpark, depending on where the session runs
        text = str(error)
        if of_task := re.search(r"core\.errors\.UsageError: (.*)", text):
            raise UsageError(of_task[1]) from None
        if "FAILED_READ_FILE" not in text and "PATH_NOT_FOUND" not in text:
            raise
        name = re.search(r"(?:file|exist:) (\S+?)\.?\s", text)
        cause = re.search(r"Caused by: [\w.$]+: (.*)", text)
        where = Path(unquote(name[1])).name if name else "a file"
        why = cause[1].strip() if cause else "it is missing or damaged"
        raise UsageError(f"{where} cannot be read: {why}") from None
