"""Reads latency matrices: one line for each sender, one column for each receiver."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from orbweaver.pipeline.dataset import conform
from orbweaver.pipeline.ingest import notes
from orbweaver.pipeline.ingest.kinds import Options
from orbweaver.pipeline.ingest.lines import (
    NUMBER_MAX,
    TracePlan,
    entries,
    mark,
    number,
    numbered,
    used,
    with_cells,
)
from orbweaver.pipeline.ingest.peek import ANY_SEPARATOR
from orbweaver.pipeline.schemas import LATENCY
from orbweaver.workload.dialect import MISSING_WORDS

UNIT_MS = {"s": 1000.0, "ms": 1.0, "us": 0.001}


def matrix(lines: DataFrame, options: Options) -> TracePlan:
    """Read a matrix; every cell is an entry. A cell that was not measured is counted and left out,
    never taken for a delay of zero. Cells on the diagonal, a node's delay to itself, are left out
    too."""
    scale = UNIT_MS[options.unit] / (2 if options.delay == "round-trip" else 1)
    rows = _square(with_cells(numbered(lines), ANY_SEPARATOR, 0))
    cells = (
        used(rows)
        .select("source", "note", "number", F.posexplode("cells").alias("column", "cell"))
        .withColumn("value", number(F.col("cell")))
        .withColumn(
            "text", F.concat_ws(" ", F.lit("row"), "number", F.lit("column"), "column", "cell")
        )
    )
    missing = F.lower("cell").isin(*MISSING_WORDS) | (F.col("value") <= 0)
    cells = mark(
        cells,
        (notes.DIAGONAL, F.col("number") == F.col("column")),
        (notes.MISSING_CELL, missing),
        (notes.BAD_NUMBER, F.col("value").isNull()),
        (notes.NUMBER_RANGE, F.col("value") * scale >= NUMBER_MAX),
    )
    latency = (
        used(cells)
        .orderBy("number", "column")
        .select(
            F.col("number").alias("a"),
            F.col("column").alias("b"),
            (F.col("value") * scale).alias("ms"),
        )
    )
    unusable = rows.filter(F.col("note").isNotNull())
    return TracePlan(
        entries(unusable).unionByName(entries(cells)), {"latency": conform(latency, LATENCY)}
    )


def _square(rows: DataFrame) -> DataFrame:
    """Check that the matrix is square: as wide as most of its lines, with as many lines. If a line
    is missing or extra, the senders of the other lines are unknown. A separator after the last cell
    does not begin a further cell."""
    is_data = F.col("number").isNotNull()
    shape = rows.filter(is_data).agg(
        F.count("*").alias("height"), F.mode(F.size("cells"), True).alias("width")
    )
    rows = rows.crossJoin(F.broadcast(shape))
    one_more = (F.size("cells") == F.col("height") + 1) & (F.element_at("cells", -1) == "")
    trimmed = F.slice("cells", F.lit(1), F.col("height"))
    rows = rows.withColumn("cells", F.when(one_more, trimmed).otherwise(F.col("cells")))
    fits = (F.col("width") == F.col("height")) | (F.col("width") == F.col("height") + 1)
    return mark(
        rows,
        (notes.NOT_SQUARE, is_data & ~fits),
        (notes.WRONG_WIDTH, is_data & (F.size("cells") != F.col("height"))),
    ).drop("height", "width")
