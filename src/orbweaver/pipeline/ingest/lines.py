"""Reads lines of text as DataFrames: marks them with notes, splits them into cells, numbers
them."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from orbweaver.core.ids import TOPIC_BYTES_MAX
from orbweaver.pipeline.dataset import input_path
from orbweaver.pipeline.ingest import notes
from orbweaver.pipeline.ingest.peek import REGEXES
from orbweaver.pipeline.ingest.plain import left_name, right_name

WHITE = " \t\r\n\f\x0b"
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
TIME_MS_MAX = 2.0**53
"""Largest time in milliseconds. Larger ones are marks ("after the end"), not times."""
NUMBER_MAX = 2.0**53
"""Largest delay in milliseconds and largest coordinate. Larger ones are mistakes; 1e400 is
infinite."""


@dataclasses.dataclass(frozen=True)
class TracePlan:
    """A plan for a trace. Nothing has run yet."""

    entries: DataFrame
    """Everything in the trace: source, text, note, and weight (how many rows of data an entry
    without a note stands for)."""
    tables: Mapping[str, DataFrame]
    merged: tuple[str, str, int] | None = None
    """(note, table, rows): entries that were merged. The table has `rows` rows for each entry that
    is left; the number of merged entries is known when the table has been written."""


def read_lines(spark: SparkSession, files: Sequence[str], places: bool = True) -> DataFrame:
    """Return source (a file's name), text, and its place: path (of the file), block (of it) and
    place (in an order that holds within a block). Without `places` the source is empty and there is
    nothing else: Spark would carry all of it along with every line, also where nobody asks."""
    if not places:
        read = spark.read.text([input_path(name) for name in files])
        return read.select(F.lit("").alias("source"), F.col("value").alias("text"))
    return _with_source(spark.read.text([input_path(name) for name in files])).select(
        "source",
        "text",
        F.col("_metadata.file_path").alias("path"),
        F.col("_metadata.file_block_start").alias("block"),
        F.monotonically_increasing_id().alias("place"),
    )


def read_whole(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """Return source and text, one row for each file."""
    read = spark.read.text([input_path(name) for name in files], wholetext=True)
    return _with_source(read).select("source", "text")


def _with_source(read: DataFrame) -> DataFrame:
    # Spark gives names as in an address, with %20 for a space; a plus sign it leaves alone,
    # and url_decode would make a space of it.
    name = F.replace(F.col("_metadata.file_name"), F.lit("+"), F.lit("%2B"))
    return read.withColumn("source", F.url_decode(name)).withColumnRenamed("value", "text")


def mark_lines(
    lines: DataFrame, headers: Collection[str], comments: str, separator: str = ""
) -> DataFrame:
    """Add `note` for lines that are not data. A plain line, with `separator` between its names
    (`plain.find_plain`), has them in `left` and `right`, which are null in the others; these have
    `line`, the text without white space around it.

    A header is the first line of data of a file, if it is one of `headers`; a later line that reads
    the same is data.
    """
    trimmed = F.btrim("text", F.lit(WHITE))
    careful = F.col("left").isNull()
    marked = (
        lines.withColumn("left", left_name(F.col("text"), separator))
        .withColumn("right", F.when(~careful, right_name(F.col("text"), separator)))
        .withColumn("line", F.when(careful, trimmed))
        .withColumn("note", F.lit(None).cast("string"))
    )
    first = F.substring("line", 1, 1)
    marked = mark(
        marked,
        (notes.NOT_UTF8, careful & ~F.is_valid_utf8("text")),
        (notes.BLANK, F.col("line") == ""),
        (notes.COMMENT, first.isin(list(comments)) if comments else F.lit(False)),
    )
    if not headers:
        return marked
    firsts = (
        used(marked.filter(F.col("block") == 0).withColumn("line", trimmed))
        .groupBy("path")
        .agg(F.min_by("line", "place").alias("line"), F.min("place").alias("place"))
        .filter(F.col("line").isin(sorted(headers)))
    )
    places = [row["place"] for row in firsts.select("place").collect()]
    return mark(marked, (notes.HEADER, F.col("place").isin(places)))


def mark(rows: DataFrame, *checks: tuple[str, Column]) -> DataFrame:
    """Set the note to that of the first check that holds, unless the row has a note already. A null
    check does not hold: fields are null in a row that has a note."""
    found = [F.when(holds, F.lit(note)) for note, holds in checks]
    return rows.withColumn("note", F.coalesce(F.col("note"), *found))


def with_cells(rows: DataFrame, regex: str, least: int) -> DataFrame:
    """Add `cells`. A row with fewer than `least` cells, or with an empty one among the first
    `least`, is marked."""
    return _with(rows, F.split("line", regex), least)


def with_quoted_cells(
    rows: DataFrame, separator: str, least: int, filled: Sequence[int] | None = None
) -> DataFrame:
    """Add `cells`, with a separator that may also occur inside "double quotes". `filled` are the
    cells that may not be empty; by default the first `least`."""
    regex = REGEXES[separator]
    outside_quotes = regex + r'(?=(?:[^"]*"[^"]*")*[^"]*$)'
    unquoted = F.transform(F.split("line", outside_quotes), _unquote)
    # The look-ahead is slow; most files have no quotes at all.
    cells = F.when(F.col("line").contains('"'), unquoted).otherwise(F.split("line", regex))
    return _with(mark(rows, (notes.UNBALANCED, unbalanced("line"))), cells, least, filled)


def unbalanced(text: str) -> Column:
    """Return whether a quote is opened and not closed."""
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
    """Parse a double, or null. Forms that only Java takes for a number are null. A number that is
    too large, such as 1e400, is infinite: its reader marks it."""
    return F.when(text.rlike(NUMBER), text.try_cast("double"))


def bad_topic(name: Column) -> Column:
    """Return whether a topic breaks the rule of `core.ids.check_topic`."""
    # Nearly all names pass the first test, and the others are slow.
    plain = name.rlike(rf"^[\w.:@-]{{1,{TOPIC_BYTES_MAX}}}\z")
    return ~plain & (
        (F.octet_length(name) > TOPIC_BYTES_MAX)
        | name.rlike(r"(^|/)(/|$)")
        | name.rlike(r"[\p{C}\p{Z}&&[^ ]]")
    )


def numbered(lines: DataFrame) -> DataFrame:
    """Add `number`, which counts the data lines of a file from 0. Blank lines, comments and headers
    get no number.

    Spark reads a file in blocks, in any order. Lines are counted within their block, in parallel,
    and the lines of the blocks before are added.
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
    """Return the entries of a plan. A row without a weight counts as one."""
    counted = F.lit(1) if weight is None else weight
    weighed = F.when(F.col("note").isNull(), counted).otherwise(0).cast("bigint")
    return rows.select("source", "text", "note", weighed.alias("weight"))


def used(rows: DataFrame) -> DataFrame:
    return rows.filter(F.col("note").isNull())
