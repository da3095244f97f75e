"""The methods that need no search: seed universe, random topics, uniform nodes, machines.

Each takes a table and gives the part of it that is the sample.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from orbweaver.pipeline.sample.choice import choose, in_random_order
from orbweaver.pipeline.sample.methods import SampleSettings


def seed_universe(
    subscriptions: DataFrame, settings: SampleSettings, topics_are_nodes: bool
) -> DataFrame:
    """Rappel 6.1.2. The universe is everybody who subscribes to at least one topic of a
    random seed set. "The X most subscribed-to journals in this universe" are the topics;
    where a topic is somebody's journal, it must be of somebody in the universe."""
    seeds = choose(subscriptions.select("topic").distinct(), settings.seeds, settings.seed, "seeds")
    universe = subscriptions.join(F.broadcast(seeds), "topic").select("node").distinct()
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
    return inside.join(F.broadcast(publishers), "topic", "left_semi")


def random_topics(subscriptions: DataFrame, settings: SampleSettings) -> DataFrame:
    """Magnet 4.5: topics at random, and whoever wants one, with nothing but these."""
    topics = choose(
        subscriptions.select("topic").distinct(), settings.topics, settings.seed, "topics"
    )
    inside = subscriptions.join(F.broadcast(topics), "topic", "left_semi")
    kept = _at_most(inside.select("node").distinct(), settings)
    return inside if not settings.nodes else inside.join(kept, "node", "left_semi")


def uniform(subscriptions: DataFrame, settings: SampleSettings) -> DataFrame:
    """Random subscribers with all they want. Not cut to topics inside the sample, as a
    search's is: of a uniform sample of a social graph hardly a relation would be left."""
    nodes = _at_most(subscriptions.select("node").distinct(), settings)
    return subscriptions.join(nodes, "node", "left_semi")


def machines(churn: DataFrame, settings: SampleSettings) -> DataFrame:
    """OMen 6.1: "unique machine IDs from the start of the Google cluster trace", with all
    that happens to them."""
    start = churn.agg(F.min("time_ms").alias("time_ms"))
    at_start = churn.filter(F.col("kind") == "join").join(F.broadcast(start), "time_ms")
    nodes = _at_most(at_start.select("node").distinct(), settings)
    return churn.join(nodes, "node", "left_semi")


def _at_most(nodes: DataFrame, settings: SampleSettings) -> DataFrame:
    return choose(nodes, settings.nodes, settings.seed, "nodes") if settings.nodes else nodes
