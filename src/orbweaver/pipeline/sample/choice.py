"""Chooses at random, independently of partitions."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

BROADCAST_ROWS = 500_000
"""Most rows that are sent to where the subscriptions are. With more it is left to Spark, which may
rather move the subscriptions."""


def in_random_order(seed: int, purpose: str, *columns: str) -> list[Column]:
    """Return an order: a hash of the seed, of the purpose, and of the row; then the row, in case
    two hashes are equal."""
    drawn = F.xxhash64(F.lit(seed).cast("bigint"), F.lit(purpose), *columns)
    return [drawn, *(F.col(column) for column in columns)]


def choose(rows: DataFrame, count: int, seed: int, purpose: str) -> DataFrame:
    """Return `count` of the rows, which must be distinct; all of them if there are fewer."""
    return rows.orderBy(*in_random_order(seed, purpose, *rows.columns)).limit(count)


def small(rows: DataFrame, count: int) -> DataFrame:
    """Return a table of `count` rows, marked to be sent everywhere if they are few."""
    return F.broadcast(rows) if count <= BROADCAST_ROWS else rows
