"""Samples by the methods without a search: seed universe, random topics, uniform, machines.

Each function takes a table and returns the part of it that is the sample.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from orbweaver.pipeline.sample.choice import choose, in_random_order, small
from orbweaver.pipeline.sample.methods import SampleSettings


def seed_universe(
    subscriptions: DataFrame, settings: SampleSettings, topics_are_nodes: bool
) -> DataFrame:
    """Sample as in Rappel 6.1.2. The universe is all nodes that subscribe to at least one topic of
    a random seed set. "The X most subscribed-to journals in this universe" are the topics; where a
    topic is the journal of a node, the node must be in the universe."""
    seeds = choose(subscriptions.select("topic").distinct(), settings.seeds, settings.seed, "seeds")
    universe = subscriptions.join(small(seeds, settings.seeds), "topic").select("node").distinct()
    universe = _at_most(universe, settings)
    inside = subscriptions.join(universe, "node", "left_semi")
    candidates = inside
    if topics_are_nodes:
        journals = universe.withColumnRenamed("node", "topic")
        candidates = inside.join(journals, "topic", "left_semi")
    publishers = (
        candidates.groupBy("topic")
        .count()
        .orderBy(F.desc("count"), *in_random_order(settings.seed, "publishers", "topic"))
        .limit(settings.topics)
        .select("topic")
    )
    return inside.join(small(publishers, settings.topics), "topic", "left_semi")


def random_topics(subscriptions: DataFrame, settings: SampleSettings) -> DataFrame:
    """Sample random topics and all their subscribers, without other topics (Magnet 4.5)."""
    topics = choose(
        subscriptions.select("topic").distinct(), settings.topics, settings.seed, "topics"
    )
    inside = subscriptions.join(small(topics, settings.topics), "topic", "left_semi")
    kept = _at_most(inside.select("node").distinct(), settings)
    return inside if not settings.nodes else inside.join(kept, "node", "left_semi")


def uniform(subscriptions: DataFrame, settings: SampleSettings) -> DataFrame:
    """Sample random subscribers with all their subscriptions. They are not cut to topics inside
    the sample, as a search does: of a uniform sample of a social graph hardly a relation would
    be left."""
    nodes = _at_most(subscriptions.select("node").distinct(), settings)
    return subscriptions.join(nodes, "node", "left_semi")


def machines(churn: DataFrame, settings: SampleSettings) -> DataFrame:
    """Sample "unique machine IDs from the start of the Google cluster trace" (OMen 6.1), with all
    their joins and leaves."""
    start = churn.agg(F.min("time_ms").alias("time_ms"))
    at_start = churn.filter(F.col("kind") == "join").join(F.broadcast(start), "time_ms")
    nodes = _at_most(at_start.select("node").distinct(), settings)
    return churn.join(nodes, "node", "left_semi")


def _at_most(nodes: DataFrame, settings: SampleSettings) -> DataFrame:
    return choose(nodes, settings.nodes, settings.seed, "nodes") if settings.nodes else nodes
