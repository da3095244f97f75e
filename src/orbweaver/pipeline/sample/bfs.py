"""Searches breadth-first from several seeds at once, on a graph of any size.

A round joins the frontier with the whole table and keeps the nodes not seen before. Each round
depends on all earlier rounds, so each is computed once and detached from its plan; otherwise the
plan would double in every round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.utils import is_remote

from orbweaver.core.errors import UsageError
from orbweaver.pipeline.sample.choice import choose, small
from orbweaver.pipeline.sample.methods import SampleSettings

LAYERS_MAX = 16
"""Most layers that are searched one by one before they are made one table."""


def _checkpoint(rows: DataFrame) -> DataFrame:
    """Detach a table from its plan. The executors keep it: fast, and lost with them. A cluster that
    loses executors needs `DataFrame.checkpoint` and a folder for it."""
    return rows.localCheckpoint()


def _release(tables: Iterable[DataFrame]) -> None:
    """Free what executors keep of detached tables. A Connect server does so by itself, when the
    client has forgotten a table; elsewhere it would happen when Java next collects garbage."""
    if not is_remote():
        for rows in tables:
            rows._jdf.logicalPlan().rdd().unpersist(False)


@contextmanager
def breadth_first(
    subscriptions: DataFrame, settings: SampleSettings, topics_are_nodes: bool
) -> Iterator[DataFrame]:
    """Yield exactly `nodes` nodes, each with its hop: 0 for a seed, else one more than the hop of
    a neighbour in the sample. They are kept as long as the body runs."""
    kept: list[DataFrame] = []
    try:
        yield _search(subscriptions, settings, topics_are_nodes, kept)
    finally:
        _release(kept)


def _search(
    subscriptions: DataFrame,
    settings: SampleSettings,
    topics_are_nodes: bool,
    kept: list[DataFrame],
) -> DataFrame:
    """Return the nodes, and note in `kept` what executors keep for them."""
    all_nodes = subscriptions.select("node")
    if topics_are_nodes:
        all_nodes = all_nodes.union(subscriptions.select(F.col("topic").alias("node")))
    all_nodes = all_nodes.distinct()
    seen: list[DataFrame] = []
    taken = hop = searches = 0
    frontier: DataFrame | None = None
    while taken < settings.nodes:
        if frontier is None:
            # The first time, and again where a search has nowhere to go: elsewhere, with
            # twice the seeds, since a graph in many pieces would take as many rounds.
            count = min(settings.seeds << searches, settings.nodes - taken)
            candidates, hop = _without(all_nodes, seen), 0
            searches += 1
        else:
            count, hop = settings.nodes - taken, hop + 1
            found = neighbours(subscriptions, frontier, settings.along, topics_are_nodes)
            candidates = _without(found.distinct(), seen)
        layer = choose(candidates, count, settings.seed, "bfs")
        layer = _checkpoint(layer.withColumn("hop", F.lit(hop).cast("bigint")))
        kept.append(layer)
        size = layer.count()
        if size == 0:
            if hop == 0:
                raise UsageError(
                    f"{settings.nodes:,} nodes are wanted, but there are only {taken:,}"
                )
            frontier = None
            continue
        taken += size
        seen = [*seen, layer]
        if len(seen) > LAYERS_MAX:
            seen = [_checkpoint(_all(seen))]
            _release(kept[:-1])  # the last one is the frontier
            kept[:] = [kept[-1], *seen]
        frontier = small(layer.select("node"), size)
    return _all(seen)


def neighbours(
    subscriptions: DataFrame, frontier: DataFrame, along: str, topics_are_nodes: bool
) -> DataFrame:
    """Return the neighbours of the frontier. If topics are not nodes, the neighbours of a node are
    all nodes that share a topic with it."""
    wanted = subscriptions.join(frontier, "node")
    if not topics_are_nodes:
        shared = wanted.select("topic").distinct()
        return subscriptions.join(shared, "topic").select("node")
    followed = wanted.select(F.col("topic").alias("node"))
    if along == "followed":
        return followed
    authors = frontier.withColumnRenamed("node", "topic")
    followers = subscriptions.join(authors, "topic").select("node")
    return followers if along == "followers" else followed.union(followers)


def _without(nodes: DataFrame, seen: list[DataFrame]) -> DataFrame:
    return nodes.join(_all(seen), "node", "left_anti") if seen else nodes


def _all(layers: list[DataFrame]) -> DataFrame:
    union = layers[0]
    for layer in layers[1:]:
        union = union.union(layer)
    return union
