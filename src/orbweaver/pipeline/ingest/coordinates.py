"""Reads places in a plane. Delays are distances, so n nodes need n rows, not n squared."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from orbweaver.pipeline.dataset import conform
from orbweaver.pipeline.ingest import notes
from orbweaver.pipeline.ingest.kinds import Options
from orbweaver.pipeline.ingest.lines import (
    NUMBER_MAX,
    WHITE,
    TracePlan,
    cell,
    entries,
    mark,
    number,
    used,
    with_cells,
)
from orbweaver.pipeline.ingest.peek import ANY_SEPARATOR
from orbweaver.pipeline.schemas import COORDINATES


def table(lines: DataFrame, options: Options) -> TracePlan:
    rows = with_cells(lines, ANY_SEPARATOR, 3)
    return _plan(rows.withColumn("node", cell(0)), cell(1), cell(2))


def xml(texts: DataFrame, options: Options) -> TracePlan:
    """Read OverSim's `<nodelist>`. The text is cut at each `<node`, not parsed as XML, so that a
    node that is not closed spoils no other node."""
    clean = F.regexp_replace("text", r"(?s)<!--.*?-->", "")
    pieces = F.posexplode(F.split(clean, r"<node\b"))
    nodes = (
        texts.select("source", pieces.alias("place", "text"))
        # What comes before the first node is the opening of the list.
        .filter(F.col("place") > 0)
        .withColumn("node", (F.col("place") - 1).cast("string"))
        .withColumn("note", F.lit(None).cast("string"))
    )
    found = F.regexp_extract_all("text", F.lit(r"<coord>\s*([^<]*?)\s*</coord>"), F.lit(1))
    rows = mark(
        nodes.withColumn("cells", found),
        (notes.NOT_UTF8, ~F.is_valid_utf8("text")),
        (notes.NOT_CLOSED, ~F.col("text").contains("</node>")),
        (notes.NOT_TWO, F.size("cells") != 2),
    )
    rows = rows.withColumn("text", F.concat(F.lit("<node"), F.rtrim("text", F.lit(WHITE))))
    return _plan(rows, cell(0), cell(1))


def _plan(rows: DataFrame, x: Column, y: Column) -> TracePlan:
    rows = rows.withColumns({"x": number(x), "y": number(y)})
    rows = mark(
        rows,
        (notes.BAD_NUMBER, F.col("x").isNull() | F.col("y").isNull()),
        (notes.NUMBER_RANGE, F.greatest(F.abs("x"), F.abs("y")) >= NUMBER_MAX),
    )
    # Of a node that is there twice, the smaller place: a choice that no partition changes.
    places = used(rows).groupBy("node").agg(F.min(F.struct("x", "y")).alias("place"))
    # A node's number may be its name; then 2 comes before 10.
    by_number = F.col("node").try_cast("bigint")
    flat = places.select("node", "place.x", "place.y").orderBy(by_number, "node")
    return TracePlan(
        entries(rows),
        {"coordinates": conform(flat, COORDINATES)},
        (notes.DUPLICATE, "coordinates", 1),
    )
