"""The table node,topic that somebody wants characterised, from a file or a folder."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from orbweaver.core.errors import UsageError
from orbweaver.pipeline.dataset import input_path
from orbweaver.workload.tables import open_text

COLUMNS = ("node", "topic")


def locate(path: Path) -> Path:
    """The Parquet folder or the file itself; a folder of tables stands for its
    `subscriptions`. Nothing is read yet, and Spark need not run."""
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    if not path.is_dir():
        if not _is_parquet(path):
            _check_header(path)
        return path
    for folder in (path, path / "subscriptions"):
        if any(folder.glob("*.parquet")):
            return folder
    raise UsageError(f"{path} has neither .parquet files nor a folder 'subscriptions' with them")


def read_pairs(spark: SparkSession, path: Path) -> DataFrame:
    """All rows as text, rubbish included; `path` as `locate` gave it."""
    place = input_path(str(path))
    if path.is_dir() or _is_parquet(path):
        table = spark.read.parquet(place)
    else:
        # Cells are cut as `workload.tables` cuts them: a quote is doubled, spaces do not count.
        table = spark.read.csv(
            place, header=True, escape='"', multiLine=False,
            ignoreLeadingWhiteSpace=True, ignoreTrailingWhiteSpace=True,
        )  # fmt: skip
    names = {name.strip().lower(): name for name in table.columns}
    for column in COLUMNS:
        if column not in names:
            raise UsageError(f"{path}: no column '{column}'; it has {', '.join(table.columns)}")
    return table.select(*(F.col(f"`{names[c]}`").cast("string").alias(c) for c in COLUMNS))


def usable(pairs: DataFrame) -> DataFrame:
    """Rows with both cells filled."""
    return pairs.where(" AND ".join(f"length(trim({column})) > 0" for column in COLUMNS))


def _is_parquet(path: Path) -> bool:
    return path.suffix == ".parquet"


def _check_header(path: Path) -> None:
    try:
        with open_text(path) as file:
            first = file.readline()
    except (UnicodeDecodeError, OSError, EOFError) as error:
        raise UsageError(f"{path} is neither Parquet nor readable text: {error}") from None
    header = [cell.strip().strip('"').lower() for cell in first.split(",")]
    missing = [column for column in COLUMNS if column not in header]
    if missing:
        raise UsageError(f"{path}, line 1: no column '{missing[0]}'; the header is node,topic")
