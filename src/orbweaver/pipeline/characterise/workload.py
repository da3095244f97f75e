"""Describes a workload in one value."""

from __future__ import annotations

import msgspec
from pyspark import StorageLevel
from pyspark.sql import DataFrame

from orbweaver.core.errors import UsageError
from orbweaver.pipeline.characterise import locality, popularity, tdi
from orbweaver.pipeline.characterise.interests import interests
from orbweaver.pipeline.characterise.locality import Locality
from orbweaver.pipeline.characterise.minhash import Bands
from orbweaver.pipeline.characterise.popularity import Distribution
from orbweaver.pipeline.characterise.source import usable
from orbweaver.pipeline.characterise.tdi import Method, Tdi
from orbweaver.pipeline.progress import job_progress


class Character(msgspec.Struct, frozen=True):
    nodes: int
    topics: int
    subscriptions: int
    rejected: int
    """Number of rows without a node or without a topic."""
    repeated: int
    """Number of rows that repeat an earlier row."""
    popularity: Distribution
    """Distribution of the nodes of a topic."""
    sizes: Distribution
    """Distribution of the topics of a node."""
    tdi: Tdi
    locality: Locality | None


def characterise(
    pairs: DataFrame, d: int = 20, method: Method | None = None, seed: int = 0
) -> Character:
    """Describe a workload. `method` None means exact tdi up to `tdi.EXACT_MAX` nodes, and a sample
    above."""
    spark = pairs.sparkSession
    good = usable(pairs)
    grouped = interests(good).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        with job_progress(spark, "popularity and sizes"):
            sizes = popularity.topics_of_nodes(grouped)
            if not sizes:
                raise UsageError("there is no row with a node and a topic")
            of_topics = popularity.nodes_of_topics(grouped)
            rows, rows_usable = pairs.count(), good.count()
        of_nodes = popularity.describe(sizes)
        subscriptions = sum(size * count for size, count in sizes.items())
        with job_progress(spark, f"tdi({d})"):
            alike = likeness(grouped, d, method, of_nodes.count, seed)
        with job_progress(spark, "interest locality"):
            friends = locality.locality(grouped, seed)
    finally:
        grouped.unpersist()
    return Character(
        of_nodes.count, sum(of_topics.values()), subscriptions, rows - rows_usable,
        rows_usable - subscriptions, popularity.describe(of_topics), of_nodes, alike, friends,
    )  # fmt: skip


def likeness(grouped: DataFrame, d: int, method: Method | None, nodes: int, seed: int) -> Tdi:
    if method is None:
        method = "exact" if nodes <= tdi.EXACT_MAX else "sample"
    if method == "exact":
        return tdi.exact(grouped, d)
    return tdi.approximate(
        grouped, d, seed, bands=Bands(seed=seed) if method == "minhash" else None
    )
