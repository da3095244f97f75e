"""Reads traces of joins and leaves, in milliseconds.

A node that is still up when a trace of events ends does not leave. Where a trace has intervals,
each interval has an end, and the node leaves at it.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.window import WindowSpec

from orbweaver.pipeline.dataset import conform
from orbweaver.pipeline.ingest import notes
from orbweaver.pipeline.ingest.kinds import Options
from orbweaver.pipeline.ingest.lines import (
    TIME_MS_MAX,
    TracePlan,
    cell,
    entries,
    mark,
    number,
    used,
    with_cells,
    with_quoted_cells,
)
from orbweaver.pipeline.ingest.peek import ANY_SEPARATOR
from orbweaver.pipeline.ingest.subscriptions import from_origin
from orbweaver.pipeline.schemas import CHURN

ADD, REMOVE, UPDATE = 0, 1, 2


def machine_events(lines: DataFrame, options: Options) -> TracePlan:
    """Read machine events: ADD and REMOVE are joins and leaves (OMen 6.1). UPDATE changes what a
    machine can do, not whether it is up."""
    rows = with_cells(lines, r"\s*[,;\t]\s*", 3)
    rows = rows.withColumns(
        {
            "time_us": cell(0).try_cast("bigint"),
            "node": cell(1),
            "event": cell(2).try_cast("int"),
        }
    )
    rows = mark(
        rows,
        (notes.BAD_TIME, F.col("time_us").isNull()),
        # Sources mark "before the trace" with 0 and "after it" with the largest number.
        (notes.TIME_RANGE, ~F.col("time_us").between(0, 1000 * TIME_MS_MAX)),
        (notes.BAD_EVENT, F.coalesce(~F.col("event").isin(ADD, REMOVE, UPDATE), F.lit(True))),
        (notes.UPDATE, F.col("event") == UPDATE),
    )
    rest = rows.filter(F.col("note").isNotNull())
    checked = _alternating(used(rows))
    rest = rest.unionByName(checked.filter(F.col("note").isNotNull()))
    checked = _without_restarts(used(checked))
    events = from_origin(used(checked), options.origin, "time_us")
    kind = F.when(F.col("event") == ADD, "join").otherwise("leave")
    churn = events.select(_ms().alias("time_ms"), "node", kind.alias("kind"))
    return TracePlan(
        entries(rest.unionByName(checked)),
        {"churn": conform(churn, CHURN).orderBy("time_ms", "node", "kind")},
    )


def _alternating(events: DataFrame) -> DataFrame:
    """Mark a join of a node that is up and a leave of a node that is down."""
    before = F.lag("event").over(_of_node())
    return mark(
        events.withColumn("before", F.coalesce(before, F.lit(REMOVE))),
        (notes.ALREADY_UP, (F.col("event") == ADD) & (F.col("before") == ADD)),
        (notes.ALREADY_DOWN, (F.col("event") == REMOVE) & (F.col("before") == REMOVE)),
    ).drop("before")


def _without_restarts(events: DataFrame) -> DataFrame:
    """Mark a leave and a join in the same millisecond: the table could not tell which came first,
    and in its unit of time the node was never away."""
    of_node = _of_node()
    back_at_once = (F.col("event") == REMOVE) & (F.lead(_ms()).over(of_node) == _ms())
    was_just_there = (F.col("event") == ADD) & (F.lag(_ms()).over(of_node) == _ms())
    return mark(events, (notes.RESTART, back_at_once | was_just_there))


def _of_node() -> WindowSpec:
    return Window.partitionBy("node").orderBy("time_us", "event")


def _ms() -> Column:
    return F.floor(F.col("time_us") / 1000)


def sessions(lines: DataFrame, options: Options) -> TracePlan:
    rows = with_quoted_cells(lines, options.separator, 3)
    rows = rows.withColumns({"start_ms": stamp_ms(cell(1)), "end_ms": stamp_ms(cell(2))})
    rows = mark(rows, (notes.BAD_STAMP, F.col("start_ms").isNull() | F.col("end_ms").isNull()))
    return _intervals(rows, options)


def stamp_ms(text: Column) -> Column:
    """Parse an ISO 8601 time stamp into milliseconds since 1970, UTC if it names no zone; null if
    it is none. The result does not depend on the session's time zone."""
    zoned = text.rlike(r"(Z|[+-]\d{2}:?\d{2})$")
    dated = text.rlike(r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}")
    stamp = F.when(zoned, text).otherwise(F.concat(text, F.lit("Z")))
    return F.when(dated, F.unix_millis(stamp.try_cast("timestamp_ltz")))


def availability(lines: DataFrame, options: Options) -> TracePlan:
    rows = with_cells(lines, ANY_SEPARATOR, 3)
    state = F.lower(F.coalesce(cell(3), F.lit("up")))
    seconds = {"start_ms": number(cell(1)), "end_ms": number(cell(2))}
    rows = rows.withColumns({name: F.round(value * 1000) for name, value in seconds.items()})
    rows = mark(
        rows,
        (notes.BAD_TIME, F.col("start_ms").isNull() | F.col("end_ms").isNull()),
        (notes.BAD_STATE, ~state.isin("up", "down", "1", "0")),
        (notes.DOWN_INTERVAL, state.isin("down", "0")),
    )
    return _intervals(rows, options)


def _intervals(rows: DataFrame, options: Options) -> TracePlan:
    """Merge intervals of a node that overlap or touch: a node does not join while it is up."""
    rows = mark(
        rows,
        (
            notes.TIME_RANGE,
            (F.abs("start_ms") >= TIME_MS_MAX) | (F.abs("end_ms") >= TIME_MS_MAX),
        ),
        (notes.BACKWARDS, F.col("end_ms") < F.col("start_ms")),
    )
    found = used(rows).select(
        cell(0).alias("node"),
        F.col("start_ms").cast("bigint").alias("start_ms"),
        F.col("end_ms").cast("bigint").alias("end_ms"),
    )
    in_order = Window.partitionBy("node").orderBy("start_ms", "end_ms")
    so_far = F.max("end_ms").over(in_order.rowsBetween(Window.unboundedPreceding, -1))
    begins = F.coalesce(F.col("start_ms") > so_far, F.lit(True)).cast("int")
    merged = (
        found.withColumn("begins", begins)
        .withColumn("stay", F.sum("begins").over(in_order))
        .groupBy("node", "stay")
        .agg(F.min("start_ms").alias("start_ms"), F.max("end_ms").alias("end_ms"))
    )
    both = F.array(
        F.struct(F.col("start_ms").alias("time_ms"), F.lit("join").alias("kind")),
        F.struct(F.col("end_ms").alias("time_ms"), F.lit("leave").alias("kind")),
    )
    moved = from_origin(merged, options.origin, "start_ms", "end_ms")
    # In a stay without length the join comes first, as it does in the alphabet.
    churn = moved.select("node", F.inline(both)).orderBy("time_ms", "node", "kind")
    return TracePlan(entries(rows), {"churn": conform(churn, CHURN)}, (notes.OVERLAP, "churn", 2))
