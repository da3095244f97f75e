"""Counts the nodes of each topic and the topics of each node: histograms and their CCDFs."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from orbweaver.pipeline.characterise.powerlaw import Fit, fit

POINTS_MAX = 200
"""Most points of a CCDF."""


class Distribution(msgspec.Struct, frozen=True):
    count: int
    """Number of values: topics or nodes."""
    mean: float
    median: int
    max: int
    ccdf: list[tuple[int, float]]
    """Pairs (x, share of the values that are at least x), thinned to `POINTS_MAX` points."""
    fit: Fit | None
    """The power-law fit; None if there are too few different values, or no tail to fit."""


def nodes_of_topics(interests: DataFrame) -> dict[int, int]:
    """Return how many topics have x nodes, for each x."""
    of_topic = interests.select(F.explode("topics").alias("topic")).groupBy("topic").count()
    return _histogram(of_topic.select(F.col("count").alias("value")))


def topics_of_nodes(interests: DataFrame) -> dict[int, int]:
    """Return how many nodes have x topics, for each x."""
    return _histogram(interests.select(F.size("topics").alias("value")))


def describe(histogram: Mapping[int, int]) -> Distribution:
    values = np.array(sorted(histogram), dtype=np.int64)
    counts = np.array([histogram[int(value)] for value in values], dtype=np.int64)
    total = int(counts.sum())
    middle = int(values[np.searchsorted(np.cumsum(counts), (total + 1) // 2)])
    return Distribution(
        total, float(np.dot(values, counts) / total), middle, int(values[-1]),
        ccdf(histogram), fit(histogram),
    )  # fmt: skip


def ccdf(histogram: Mapping[int, int], points: int = POINTS_MAX) -> list[tuple[int, float]]:
    """Return P(X >= x) at the values that occur; at most `points` of them, evenly by logarithm."""
    values = np.array(sorted(histogram), dtype=np.int64)
    counts = np.array([histogram[int(value)] for value in values], dtype=np.int64)
    shares = np.cumsum(counts[::-1])[::-1] / counts.sum()
    keep = np.arange(len(values))
    if len(values) > points:
        wanted = np.geomspace(max(1, values[0]), values[-1], points)
        keep = np.unique(np.minimum(np.searchsorted(values, wanted), len(values) - 1))
    return [(int(values[i]), float(shares[i])) for i in keep]


def _histogram(values: DataFrame) -> dict[int, int]:
    return {int(row[0]): int(row[1]) for row in values.groupBy("value").count().collect()}
