"""Finds and reads the table node,topic that a user names, a file or a folder."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from orbweaver.core.errors import UsageError
from orbweaver.pipeline.dataset import input_path
from orbweaver.pipeline.ingest import notes
from orbweaver.pipeline.ingest.lines import mark_lines, read_lines
from orbweaver.pipeline.ingest.subscriptions import named_pairs
from orbweaver.workload.dialect import NAMED, Layout, Reading, find_places, parse_columns
from orbweaver.workload.subscriptions import SUBSCRIPTION_COLUMNS
from orbweaver.workload.tables import AS_FOUND, first_lines, layout_of


@dataclasses.dataclass(frozen=True)
class Source:
    """A table that exists. Only its first lines have been read."""

    path: Path
    """A Parquet file, a folder of Parquet files, or a text file."""
    read: Reading
    layout: Layout | None = None
    """How the text is read; None for Parquet."""
    header: str = ""
    """The first line of the text, if it is a header."""


def locate(path: Path, read: Reading = AS_FOUND) -> Source:
    """Find the table without Spark. A folder of tables stands for its table `subscriptions`."""
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    if path.is_dir():
        for folder in (path, path / "subscriptions"):
            if any(folder.glob("*.parquet")):
                return Source(folder, read)
        raise UsageError(
            f"{path} has neither .parquet files nor a folder 'subscriptions' with them"
        )
    if path.suffix == ".parquet":
        return Source(path, read)
    layout = layout_of(path, SUBSCRIPTION_COLUMNS, read)
    header = first_lines(path)[0].strip() if layout.header.there else ""
    return Source(path, read, layout, header)


def read_pairs(spark: SparkSession, source: Source) -> DataFrame:
    """Return all rows as text. Both cells of a row that cannot be read are null."""
    if source.layout is None:
        table = spark.read.parquet(input_path(str(source.path)))
        asked = parse_columns(source.read.columns, 2, source.path)
        places = find_places(SUBSCRIPTION_COLUMNS, asked, table.columns, NAMED, source.path)
        names = (table.columns[place].replace("`", "``") for place in places)
        cells = (F.col(f"`{name}`").cast("string") for name in names)
        return table.select(*(c.alias(n) for c, n in zip(cells, SUBSCRIPTION_COLUMNS, strict=True)))
    layout = source.layout
    lines = read_lines(spark, [str(source.path)])
    marked = mark_lines(lines, {source.header} if source.header else (), "")
    columns = ",".join(str(place + 1) for place in layout.places)
    rows = named_pairs(marked, layout.separator, columns)
    data = rows.filter(F.col("note").isNull() | ~F.col("note").isin(*notes.SKIPPED))
    good = F.col("note").isNull()
    return data.select(*(F.when(good, F.col(c)).alias(c) for c in SUBSCRIPTION_COLUMNS))


def usable(pairs: DataFrame) -> DataFrame:
    """Return the rows with both cells filled."""
    return pairs.where(" AND ".join(f"length(trim({c})) > 0" for c in SUBSCRIPTION_COLUMNS))
