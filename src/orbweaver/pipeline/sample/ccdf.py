"""Compares the degree distributions of a sample and its source.

OMen (Fig. 7) and Vitis (Fig. 8) show that in- and out-degrees keep their shape: how many
subscribers topics have, and how many topics nodes subscribe to.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

from orbweaver.pipeline.dataset import conform

MEASURES = ("topic", "node")
"""What is counted. Over topics: their subscribers, the in-degree. Over nodes: their subscriptions,
the out-degree."""

DEGREES = [digit * 10**power for power in range(9) for digit in (1, 2, 5)]
"""The degrees at which the distribution is read, evenly on a logarithmic axis."""

CCDF = StructType(
    [
        StructField("measure", StringType(), False),
        StructField("degree", LongType(), False),
        StructField("source", DoubleType(), False),
        StructField("sample", DoubleType(), False),
    ]
)
"""The share of topics or nodes with at least this degree, among those with at least 1."""


def degree_ccdf(source: DataFrame, sample: DataFrame) -> DataFrame:
    """Return the `CCDF` of two tables of subscriptions, ordered, without degrees that do not
    occur."""
    parts = []
    for measure in MEASURES:
        theirs = _shares(source, measure).withColumnRenamed("share", "source")
        ours = _shares(sample, measure).withColumnRenamed("share", "sample")
        both = theirs.join(ours, "degree", "full_outer")
        parts.append(
            both.select(
                F.lit(measure).alias("measure"),
                "degree",
                F.coalesce("source", F.lit(0.0)).alias("source"),
                F.coalesce("sample", F.lit(0.0)).alias("sample"),
            )
        )
    return conform(parts[0].union(parts[1]).orderBy("measure", "degree"), CCDF)


def _shares(subscriptions: DataFrame, column: str) -> DataFrame:
    """Return the shares. Rows are counted by degree first, so that a row for each degree, not for
    each node, is compared with the marks."""
    degrees = subscriptions.groupBy(column).count().withColumnRenamed("count", "found")
    histogram = degrees.groupBy("found").agg(F.count("*").alias("many"))
    total = histogram.agg(F.sum("many").alias("total"))
    marks = F.explode(F.array(*(F.lit(degree).cast("bigint") for degree in DEGREES)))
    return (
        histogram.select("*", marks.alias("degree"))
        .filter(F.col("found") >= F.col("degree"))
        .groupBy("degree")
        .agg(F.sum("many").alias("many"))
        .crossJoin(F.broadcast(total))
        .select("degree", (F.col("many") / F.col("total")).alias("share"))
    )
