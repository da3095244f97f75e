"""Lines of text as DataFrames: read, marked with a note, split into cells, numbered."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from orbweaver.core.ids import TOPIC_BYTES_MAX
from orbweaver.pipeline.dataset import input_path
from orbweaver.pipeline.ingest import notes
from orbweaver.pipeline.ingest.peek import REGEXES

WHITE = " \t\r\n\f\x0b"
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
TIME_MS_MAX = 2.0**53
"""Times beyond this are marks ("after the end") rather than times."""
NUMBER_MAX = 2.0**53
"""Delays in milliseconds and coordinates beyond this are mistakes; 1e400 is infinite."""


@dataclasses.dataclass(frozen=True)
class TracePlan:
    """What is to become of a trace. Nothing has run yet."""

    entries: DataFrame
    """Everything the trace holds: source, text, note, and weight (how many rows of data an
    entry without a note stands for)."""
    tables: Mapping[str, DataFrame]
    merged: tuple[str, str, int] | None = None
    """(note, table, rows): entries that fell together. The table has so many rows for each
    that is left; how many fell together is known when it has been written."""


def read_lines(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """source (a file's name), text, and where it stood: path (of the file), block (of it) and
    place (in an order that holds within a block)."""
    return _with_source(spark.read.text([input_path(name) for name in files])).select(
        "source",
        "text",
        F.col("_metadata.file_path").alias("path"),
        F.col("_metadata.file_block_start").alias("block"),
        F.monotonically_increasing_id().alias("place"),
    )


def read_whole(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """source and text, one row for each file."""
    read = spark.read.text([input_path(name) for name in files], wholetext=True)
    return _with_source(read).select("source", "text")


def _with_source(read: DataFrame) -> DataFrame:
    # Spark gives names as in an address, with %20 for a space; a plus sign it leaves alone,
    # and url_decode would make a space of it.
    name = F.replace(F.col("_metadata.file_name"), F.lit("+"), F.lit("%2B"))
    return read.withColumn("source", F.url_decode(name)).withColumnRenamed("value", "text")


def mark_lines(lines: DataFrame, headers: Collection[str], comments: str) -> DataFrame:
    """Adds `line`, the text without white space around it, and `note` for what is not data.
    A header is the first line of data of a file, if it is one of `headers`: another line that
    reads the same is data."""
    marked = lines.withColumn("line", F.btrim("text", F.lit(WHITE))).withColumn(
        "note", F.lit(None).cast("string")
    )
    first = F.substring("line", 1, 1)
    marked = mark(
        marked,
        (notes.NOT_UTF8, ~F.is_valid_utf8("text")),
        (notes.BLANK, F.col("line") == ""),
        (notes.COMMENT, first.isin(list(comments)) if comments else F.lit(False)),
    )
    if not headers:
        return marked
    firsts = (
        used(marked.filter(F.col("block") == 0))
        .groupBy("path")
        .agg(F.min_by("line", "place").alias("line"), F.min("place").alias("place"))
        .filter(F.col("line").isin(sorted(headers)))
    )
    places = [row["place"] for row in firsts.select("place").collect()]
    return mark(marked, (notes.HEADER, F.col("place").isin(places)))


def mark(rows: DataFrame, *checks: tuple[str, Column]) -> DataFrame:
    """The first check that holds gives the note, unless there is one already. A check that
    is null does not hold: fields are null in a row whose note says why."""
    found = [F.when(holds, F.lit(note)) for note, holds in checks]
    return rows.withColumn("note", F.coalesce(F.col("note"), *found))


def with_cells(rows: DataFrame, regex: str, least: int) -> DataFrame:
    """Adds `cells`; a row with fewer than `least`, or with an empty one among them, is
    marked."""
    return _with(rows, F.split("line", regex), least)


def with_quoted_cells(
    rows: DataFrame, separator: str, least: int, filled: Sequence[int] | None = None
) -> DataFrame:
    """The same for a separator that may also stand inside "double quotes". `filled` are the
    cells that may not be empty: the first `least`, unless it says otherwise."""
    regex = REGEXES[separator]
    outside_quotes = regex + r'(?=(?:[^"]*"[^"]*")*[^"]*$)'
    unquoted = F.transform(F.split("line", outside_quotes), _unquote)
    # The look-ahead is slow; most files have no quotes at all.
    cells = F.when(F.col("line").contains('"'), unquoted).otherwise(F.split("line", regex))
    return _with(mark(rows, (notes.UNBALANCED, unbalanced("line"))), cells, least, filled)


def unbalanced(text: str) -> Column:
    """Whether a quote is opened and not closed."""
    return F.length(F.regexp_replace(text, '[^"]', "")) % 2 == 1


def _with(
    rows: DataFrame, cells: Column, least: int, filled: Sequence[int] | None = None
) -> DataFrame:
    rows = rows.withColumn("cells", F.when(F.col("note").isNull(), cells))
    return mark(
        rows,
        (notes.TOO_FEW, F.size("cells") < least),
        *((notes.EMPTY, cell(i) == "") for i in (range(least) if filled is None else filled)),
    )


def _unquote(cell: Column) -> Column:
    inner = F.replace(F.substring(cell, F.lit(2), F.length(cell) - 2), F.lit('""'), F.lit('"'))
    return F.when(cell.rlike('^".*"$'), inner).otherwise(cell)


def cell(i: int) -> Column:
    return F.get("cells", F.lit(i))


def number(text: Column) -> Column:
    """A double, or null; without what Java takes for a number and nobody else does. One that
    is too large, such as 1e400, is infinite: its reader marks it."""
    return F.when(text.rlike(NUMBER), text.try_cast("double"))


def bad_topic(name: Column) -> Column:
    """The rule of `core.ids.check_topic`."""
    # Nearly all names pass the first test, and the others are slow.
    plain = name.rlike(rf"^[\w.:@-]{{1,{TOPIC_BYTES_MAX}}}$")
    return ~plain & (
        (F.octet_length(name) > TOPIC_BYTES_MAX)
        | name.rlike(r"(^|/)(/|$)")
        | name.rlike(r"[\p{C}\p{Z}&&[^ ]]")
    )


def numbered(lines: DataFrame) -> DataFrame:
    """Adds `number`, counting the data lines of one file from 0: all but those that are
    blank, comments or headers, which get none.

    Spark reads a file in blocks, in any order. Lines are counted within their block, in
    parallel, and the lines of the blocks before are added.
    """
    is_data = F.coalesce(~F.col("note").isin(*notes.SKIPPED), F.lit(True))
    data = lines.filter(is_data)
    before = Window.orderBy("block").rowsBetween(Window.unboundedPreceding, -1)
    offsets = (
        data.groupBy("block")
        .agg(F.count("*").alias("lines"))
        .select("block", F.coalesce(F.sum("lines").over(before), F.lit(0)).alias("offset"))
    )
    inside = F.row_number().over(Window.partitionBy("block").orderBy("place"))
    counted = (
        data.withColumn("inside", inside)
        .join(F.broadcast(offsets), "block")
        .withColumn("number", F.col("offset") + F.col("inside") - 1)
        .drop("offset", "inside")
    )
    return counted.unionByName(lines.filter(~is_data), allowMissingColumns=True)


def entries(rows: DataFrame, weight: Column | None = None) -> DataFrame:
    """What a plan says of each row. Without a weight, a row stands for itself."""
    counted = F.lit(1) if weight is None else weight
    weighed = F.when(F.col("note").isNull(), counted).otherwise(0).cast("bigint")
    return rows.select("source", "text", "note", weighed.alias("weight"))


def used(rows: DataFrame) -> DataFrame:
    return rows.filter(F.col("note").isNull())
