"""Reads traces of subscriptions.

In a social graph a user is a node and a topic at once, and a user that follows a second one
subscribes to its topic (Vitis IV-E, OMen 6.1). In the other kinds topics have names of their own.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from orbweaver.pipeline.dataset import conform
from orbweaver.pipeline.ingest import notes
from orbweaver.pipeline.ingest.kinds import Options
from orbweaver.pipeline.ingest.lines import (
    TIME_MS_MAX,
    WHITE,
    TracePlan,
    bad_topic,
    cell,
    entries,
    mark,
    number,
    numbered,
    unbalanced,
    used,
    with_cells,
    with_quoted_cells,
)
from orbweaver.pipeline.ingest.peek import ANY_SEPARATOR
from orbweaver.pipeline.schemas import PUBLICATIONS, SUBSCRIPTIONS


def directed_edges(lines: DataFrame, options: Options) -> TracePlan:
    follower, followed = "a", "b"
    if options.direction == "followed-first":
        follower, followed = "b", "a"
    rows = _edges(lines, topics=(followed,))
    pairs = used(rows).select(F.col(follower).alias("node"), F.col(followed).alias("topic"))
    return TracePlan(
        entries(rows),
        {"subscriptions": distinct_subscriptions(pairs)},
        (notes.DUPLICATE, "subscriptions", 1),
    )


def undirected_edges(lines: DataFrame, options: Options) -> TracePlan:
    rows = _edges(lines, topics=("a", "b"))
    both = F.array(
        F.struct(F.col("a").alias("node"), F.col("b").alias("topic")),
        F.struct(F.col("b").alias("node"), F.col("a").alias("topic")),
    )
    pairs = used(rows).select(F.inline(both))
    return TracePlan(
        entries(rows),
        {"subscriptions": distinct_subscriptions(pairs)},
        (notes.DUPLICATE, "subscriptions", 2),
    )


def _edges(lines: DataFrame, topics: tuple[str, ...]) -> DataFrame:
    rows = mark(lines, (notes.UNBALANCED, unbalanced("line")))
    rows = with_cells(rows, ANY_SEPARATOR, 2)
    # Some exporters put every cell in quotes; a user's name has none.
    a, b = (F.btrim(cell(i), F.lit('"')) for i in range(2))
    rows = rows.withColumns({"a": F.coalesce("left", a), "b": F.coalesce("right", b)})
    return mark(
        rows,
        (notes.EMPTY, (F.col("a") == "") | (F.col("b") == "")),
        *((notes.BAD_TOPIC, careful_bad_topic(name)) for name in topics),
        (notes.SELF_LOOP, F.col("a") == F.col("b")),
    )


def pairs(lines: DataFrame, options: Options) -> TracePlan:
    rows = named_pairs(lines, options.separator, options.columns)
    rows = mark(rows, (notes.BAD_TOPIC, careful_bad_topic("topic")))
    found = used(rows).select("node", "topic")
    return TracePlan(
        entries(rows),
        {"subscriptions": distinct_subscriptions(found)},
        (notes.DUPLICATE, "subscriptions", 1),
    )


def named_pairs(lines: DataFrame, separator: str, columns: str = "") -> DataFrame:
    """Add node and topic, the cells of two columns: the first two, or the columns with the numbers
    in `columns`, counted from 1."""
    of_node, of_topic = (int(number) - 1 for number in (columns or "1,2").split(","))
    if separator == "tab":
        # A tab at an end of the line stands beside an empty cell.
        trimmed = F.btrim("text", F.lit(WHITE.replace("\t", "")))
        lines = lines.withColumn("line", F.when(F.col("left").isNull(), trimmed))
    rows = with_quoted_cells(lines, separator, 1 + max(of_node, of_topic), (of_node, of_topic))
    # Only the first two columns of a line are ever plain.
    return rows.withColumns(
        {"node": F.coalesce("left", cell(of_node)), "topic": F.coalesce("right", cell(of_topic))}
    )


def lists(lines: DataFrame, options: Options) -> TracePlan:
    """Read a list of topics in each line; the number of the line is the user. A line that cannot be
    used still counts, since it stands for a user."""
    rows = with_cells(numbered(lines), ANY_SEPARATOR, 1)
    items = F.slice("cells", F.lit(2), F.greatest(F.size("cells") - 1, F.lit(0)))
    rows = rows.withColumn("items", F.when(F.col("note").isNull(), items))
    count = cell(0).try_cast("bigint")
    rows = mark(
        rows,
        (notes.BAD_COUNT, F.coalesce(count != F.size("items"), F.lit(True))),
        (notes.EMPTY, F.array_contains("items", F.lit(""))),
        (notes.BAD_TOPIC, F.exists("items", bad_topic)),
    )
    found = used(rows).select(
        F.col("number").cast("string").alias("node"), F.explode("items").alias("topic")
    )
    return TracePlan(
        entries(rows, F.size("items")),
        {"subscriptions": distinct_subscriptions(found)},
        (notes.DUPLICATE, "subscriptions", 1),
    )


def edits(lines: DataFrame, options: Options) -> TracePlan:
    """Read edits. Every edit is a publication; the first of a user on a page is its
    subscription."""
    rows = with_cells(lines, ANY_SEPARATOR, 3)
    rows = rows.withColumn("time_ms", F.round(number(cell(2)) * 1000))
    rows = mark(
        rows,
        (notes.BAD_TIME, F.col("time_ms").isNull()),
        (notes.TIME_RANGE, F.abs("time_ms") >= TIME_MS_MAX),
        (notes.BAD_TOPIC, bad_topic(cell(1))),
    )
    found = used(rows).select(
        F.col("time_ms").cast("bigint").alias("time_ms"),
        cell(0).alias("node"),
        cell(1).alias("topic"),
    )
    events = from_origin(found, options.origin, "time_ms")
    return TracePlan(
        entries(rows),
        {
            "subscriptions": distinct_subscriptions(found.distinct()),
            "publications": conform(events, PUBLICATIONS).orderBy("time_ms", "node", "topic"),
        },
        (notes.REPEATED_EDIT, "subscriptions", 1),
    )


def distinct_subscriptions(pairs: DataFrame) -> DataFrame:
    """Return each pair once, in an order that does not depend on partitions: readers number nodes
    in the order of the rows.

    A pair and its duplicates go where the order has them, so that rows move once; `distinct`
    and `orderBy` would move them twice. Where most are duplicates, take them out before.
    """
    placed = conform(pairs, SUBSCRIPTIONS).repartitionByRange("node", "topic")
    return placed.distinct().sortWithinPartitions("node", "topic")


def careful_bad_topic(name: str) -> Column:
    """Return whether a topic breaks the rule; a plain line has been seen to keep it."""
    return F.col("left").isNull() & bad_topic(F.col(name))


def from_origin(events: DataFrame, origin: str, first: str, *others: str) -> DataFrame:
    """Return times since the smallest in column `first`, or unchanged if they are to be kept."""
    if origin == "zero":
        return events
    start = events.agg(F.min(first).alias("start"))
    moved = {name: F.col(name) - F.col("start") for name in (first, *others)}
    return events.crossJoin(F.broadcast(start)).withColumns(moved).drop("start")
