"""Describes the tables by a few numbers, to compare with the source's own, and gives hints where an
option looks wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from orbweaver.pipeline.ingest.kinds import Kind, Options

Facts = dict[str, Any]

LIKELY_MS = (1.0, 10_000.0)
"""Range in ms within which medians of delays between distant machines lie."""


def of_subscriptions(rows: DataFrame) -> Facts:
    per_node = rows.groupBy("node").count()
    per_topic = rows.groupBy("topic").count()
    return _first(
        per_node.agg(
            F.count("*").alias("nodes"), F.max("count").alias("subscriptions_per_node_max")
        ).crossJoin(
            per_topic.agg(F.count("*").alias("topics"), F.max("count").alias("nodes_per_topic_max"))
        )
    )


def of_publications(rows: DataFrame) -> Facts:
    return _first(rows.agg((F.max("time_ms") - F.min("time_ms")).alias("publications_span_ms")))


def of_churn(rows: DataFrame) -> Facts:
    return _first(
        rows.agg(
            F.count_distinct("node").alias("nodes"),
            F.count_if(F.col("kind") == "join").alias("joins"),
            F.count_if(F.col("kind") == "leave").alias("leaves"),
            F.count_if((F.col("kind") == "join") & (F.col("time_ms") == 0)).alias("joins_at_zero"),
            F.max("time_ms").alias("last_ms"),
        )
    )


def of_latency(rows: DataFrame) -> Facts:
    """Return facts about a latency table. Asymmetry is the share of pairs with two delays that
    differ by more than a tenth of their mean, among pairs with both, and the median of the relative
    difference over all pairs."""
    facts = _first(
        rows.agg(
            F.count_distinct("a").alias("nodes"),
            F.percentile("ms", F.lit(0.5)).alias("median_ms"),
            F.max("ms").alias("max_ms"),
        )
    )
    back = rows.select(F.col("a").alias("b"), F.col("b").alias("a"), F.col("ms").alias("back"))
    pairs = rows.filter(F.col("a") < F.col("b")).join(back, ["a", "b"])
    difference = F.abs(F.col("ms") - F.col("back")) / ((F.col("ms") + F.col("back")) / 2)
    return facts | _first(
        pairs.select(difference.alias("d")).agg(
            F.count("*").alias("pairs_both_ways"),
            F.count_if(F.col("d") > 0).alias("pairs_asymmetric"),
            # Null where no pair was measured both ways.
            F.try_divide(F.count_if(F.col("d") > 0.1), F.count("*")).alias("share_off_by_a_tenth"),
            F.percentile("d", F.lit(0.5)).alias("median_relative_difference"),
        )
    )


def of_coordinates(rows: DataFrame) -> Facts:
    ranges = [F.min("x"), F.max("x"), F.min("y"), F.max("y")]
    names = ["x_min", "x_max", "y_min", "y_max"]
    return _first(
        rows.agg(
            F.count("*").alias("nodes"),
            *(column.alias(name) for column, name in zip(ranges, names, strict=True)),
        )
    )


def of_topology(rows: DataFrame) -> Facts:
    """Return facts about a topology. One-way rows have a link that is not also listed from its
    other end, with the relationship turned round."""
    systems = rows.select("src").union(rows.select("dst")).distinct().count()
    by_kind = {
        r["relationship"]: r["count"] for r in rows.groupBy("relationship").count().collect()
    }
    turned = {"customer": "provider", "provider": "customer"}
    other = F.col("relationship")
    for word, opposite in turned.items():
        other = F.when(F.col("relationship") == word, opposite).otherwise(other)
    back = rows.select(
        F.col("src").alias("dst"), F.col("dst").alias("src"), other.alias("relationship")
    )
    one_way = rows.join(back, ["src", "dst", "relationship"], "left_anti").count()
    return {"systems": systems} | dict(sorted(by_kind.items())) | {"one_way_rows": one_way}


OF_TABLE: Mapping[str, Callable[[DataFrame], Facts]] = {
    "subscriptions": of_subscriptions,
    "publications": of_publications,
    "churn": of_churn,
    "latency": of_latency,
    "coordinates": of_coordinates,
    "topology": of_topology,
}


def hints(kind: Kind, options: Options, facts: Facts) -> list[str]:
    found = []
    if kind.name == "directed-edges":
        follows, followed = facts["subscriptions_per_node_max"], facts["nodes_per_topic_max"]
        if follows > followed:
            other = "followed-first"
            if options.direction == other:
                other = "follower-first"
            found.append(
                f"a user follows {follows:,} users while no user has more than {followed:,} "
                f"followers, which is unusual: should it be --direction {other}?"
            )
    if kind.name == "latency-matrix":
        median = facts["median_ms"]
        if not LIKELY_MS[0] <= median <= LIKELY_MS[1]:
            found.append(f"the median delay is {median:.3g} ms one way: is --unit right?")
    return found


def _first(one_row: DataFrame) -> Facts:
    return one_row.collect()[0].asDict()
