"""Samples have the size asked for, grow along the graph, and do not depend on partitions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.testing import assertDataFrameEqual

from orbweaver.core.errors import UsageError
from orbweaver.pipeline.dataset import write_manifest
from orbweaver.pipeline.sample import bfs
from orbweaver.pipeline.sample.bfs import breadth_first
from orbweaver.pipeline.sample.ccdf import degree_ccdf
from orbweaver.pipeline.sample.choice import choose
from orbweaver.pipeline.sample.draws import machines, random_topics, seed_universe, uniform
from orbweaver.pipeline.sample.methods import SampleSettings, build_settings
from orbweaver.pipeline.sample.run import induced, sample
from orbweaver.pipeline.schemas import CHURN, NODES, PUBLICATIONS, SUBSCRIPTIONS
from tests.pipeline.ingest_runs import rows

Pairs = set[tuple[str, str]]
PARTITIONS = (1, 7)


def graph(nodes: int, follows: int, seed: int = 1) -> Pairs:
    """A follower graph in which the first are followed by many."""
    rng = Random(seed)
    drawn = (
        (str(a), str(int(nodes * rng.random() ** 3))) for a in range(nodes) for _ in range(follows)
    )
    return {(a, b) for a, b in drawn if a != b}


def table(spark: SparkSession, pairs: Pairs) -> DataFrame:
    return spark.createDataFrame(sorted(pairs), SUBSCRIPTIONS)


def pairs_of(rows: DataFrame) -> Pairs:
    return {(row["node"], row["topic"]) for row in rows.collect()}


def search(source: DataFrame, settings: SampleSettings, topics_are_nodes: bool = True) -> list[Row]:
    with breadth_first(source, settings, topics_are_nodes) as nodes:
        return nodes.collect()


@pytest.mark.parametrize("along", ["followed", "followers", "both"])
def test_a_search_grows_along_the_graph(spark: SparkSession, along: str) -> None:
    pairs = graph(300, 3)
    settings = SampleSettings("bfs", nodes=120, seeds=3, along=along, seed=5)
    found = search(table(spark, pairs), settings)
    hops = {row["node"]: row["hop"] for row in found}
    assert len(hops) == len(found) == 120
    forward = pairs if along != "followers" else set()
    backward = {(b, a) for a, b in pairs} if along != "followed" else set()
    came_from: dict[str, set[int]] = {}
    for a, b in forward | backward:
        if a in hops:
            came_from.setdefault(b, set()).add(hops[a])
    last = max(hops.values())
    for node, hop in hops.items():
        # Nearest first: nobody stands further out than one step from the nearest neighbour.
        assert hop == 0 or min(came_from[node]) == hop - 1
    # A layer is complete before the next begins, so only the last may be cut.
    if list(hops.values()).count(0) == settings.seeds:
        inner = {node for node, hop in hops.items() if hop < last - 1}
        assert {b for a, b in forward | backward if a in inner} <= set(hops)


def test_a_search_does_not_depend_on_partitions(spark: SparkSession) -> None:
    source = table(spark, graph(200, 4))
    settings = SampleSettings("bfs", nodes=60, seeds=2, seed=1)
    runs = [{tuple(row) for row in search(source.repartition(n), settings)} for n in PARTITIONS]
    assert runs[0] == runs[1]
    other = search(source, SampleSettings("bfs", nodes=60, seeds=2, seed=2))
    assert {tuple(row) for row in other} != runs[0]


def test_a_search_goes_on_elsewhere(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten islands of four: one search sees one island. The executors keep nothing afterwards."""
    monkeypatch.setattr(bfs, "LAYERS_MAX", 2)
    pairs = {(f"{i}{a}", f"{i}{b}") for i in range(10) for a in "abcd" for b in "abcd" if a != b}
    source = table(spark, pairs)
    kept = spark.sparkContext._jsc.getPersistentRDDs
    before = set(kept())
    settings = SampleSettings("bfs", nodes=30, seeds=1)
    with breadth_first(source, settings, True) as nodes:
        found = nodes.collect()
        assert set(kept()) > before
    assert set(kept()) == before
    assert len({row["node"] for row in found}) == len(found) == 30
    with pytest.raises(UsageError, match="50 nodes are wanted, but there are only 40"):
        search(source, SampleSettings("bfs", nodes=50, seeds=1))
    assert set(kept()) == before


def test_a_search_through_shared_topics(spark: SparkSession) -> None:
    """A group named like a node is not that node."""
    chain = {(str(i), f"{i + d}") for i in range(20) for d in (0, 1)}
    settings = SampleSettings("bfs", nodes=5, seeds=1, seed=3)
    found = search(table(spark, chain), settings, topics_are_nodes=False)
    hops = {int(row["node"]): row["hop"] for row in found}
    (start,) = (node for node, hop in hops.items() if hop == 0)
    assert len(hops) == 5
    assert all(abs(node - start) == hop for node, hop in hops.items())
    nodes = spark.createDataFrame(found, NODES)
    kept = pairs_of(induced(table(spark, chain), nodes, topics_are_nodes=False))
    assert kept == {(a, b) for a, b in chain if int(a) in hops}


def test_all_relations_inside_and_none_outside(spark: SparkSession) -> None:
    pairs = graph(100, 4)
    inside = {str(i) for i in range(40)}
    nodes = spark.createDataFrame([(node, 0) for node in sorted(inside)], "node string, hop long")
    kept = pairs_of(induced(table(spark, pairs), nodes, topics_are_nodes=True))
    assert kept == {(a, b) for a, b in pairs if a in inside and b in inside}


def test_seed_universe(spark: SparkSession) -> None:
    pairs = {(f"u{a}", f"t{b}") for a, b in graph(300, 5)}
    source = table(spark, pairs)
    settings = SampleSettings("seed-universe", seeds=12, topics=6, seed=4)
    frames = [seed_universe(source.repartition(n), settings, False) for n in PARTITIONS]
    assertDataFrameEqual(*frames)
    found = pairs_of(frames[0])
    chosen = choose(source.select("topic").distinct(), 12, 4, "seeds").collect()
    seeds = {row["topic"] for row in chosen}
    universe = {node for node, topic in pairs if topic in seeds}
    inside = {(node, topic) for node, topic in pairs if node in universe}
    popularity = Counter(topic for _, topic in inside)
    topics = {topic for _, topic in found}
    assert len(topics) == 6
    assert found == {(node, topic) for node, topic in inside if topic in topics}
    left = [size for topic, size in popularity.items() if topic not in topics]
    assert min(popularity[topic] for topic in topics) >= max(left)


def test_publishers_of_a_social_universe_are_in_it(spark: SparkSession) -> None:
    pairs = graph(200, 3)
    settings = SampleSettings("seed-universe", seeds=5, topics=8, seed=4)
    found = pairs_of(seed_universe(table(spark, pairs), settings, topics_are_nodes=True))
    chosen = choose(table(spark, pairs).select("topic").distinct(), 5, 4, "seeds").collect()
    seeds = {row["topic"] for row in chosen}
    universe = {node for node, topic in pairs if topic in seeds}
    assert {topic for _, topic in found} <= universe
    limited = SampleSettings("seed-universe", nodes=10, seeds=5, topics=8, seed=4)
    kept = pairs_of(seed_universe(table(spark, pairs), limited, topics_are_nodes=True))
    assert len({node for node, _ in kept}) <= 10


def test_random_topics_and_uniform_nodes(spark: SparkSession) -> None:
    pairs = graph(200, 4)
    source = table(spark, pairs)
    by_topic = [
        pairs_of(
            random_topics(source.repartition(n), SampleSettings("random-topics", topics=20, seed=9))
        )
        for n in PARTITIONS
    ]
    assert by_topic[0] == by_topic[1]
    topics = {topic for _, topic in by_topic[0]}
    assert len(topics) == 20
    assert by_topic[0] == {(a, b) for a, b in pairs if b in topics}
    limited = SampleSettings("random-topics", nodes=7, topics=20, seed=9)
    assert len({node for node, _ in pairs_of(random_topics(source, limited))}) == 7
    by_node = [
        pairs_of(uniform(source.repartition(n), SampleSettings("uniform", nodes=30, seed=9)))
        for n in PARTITIONS
    ]
    assert by_node[0] == by_node[1]
    nodes = {node for node, _ in by_node[0]}
    assert len(nodes) == 30
    assert by_node[0] == {(a, b) for a, b in pairs if a in nodes}


def test_the_choice_is_pinned(spark: SparkSession) -> None:
    """A sample that is named by its seed must be the same next year."""
    names = spark.createDataFrame([(str(i),) for i in range(100)], "node string")
    chosen = [row[0] for row in choose(names, 6, 42, "nodes").collect()]
    assert chosen == ["71", "39", "30", "13", "34", "25"]


def test_machines_are_those_of_the_start(spark: SparkSession) -> None:
    early = [(0, f"m{i}", "join") for i in range(10)]
    late = [(5, f"late{i}", "join") for i in range(10)]
    leaves = [(9, f"m{i}", "leave") for i in range(10)]
    churn = spark.createDataFrame(early + late + leaves, CHURN)
    kept = machines(churn, SampleSettings("machines", nodes=4, seed=1)).collect()
    nodes = {row["node"] for row in kept}
    assert len(nodes) == 4
    assert all(node.startswith("m") for node in nodes)
    assert len(kept) == 8


def test_ccdf(spark: SparkSession) -> None:
    source = {("a", "t"), ("b", "t"), ("c", "t"), ("d", "u"), ("a", "u"), ("a", "v")}
    sample = {("a", "t"), ("d", "u")}
    found = degree_ccdf(table(spark, source), table(spark, sample)).collect()
    assert [tuple(row) for row in found] == [
        ("node", 1, 1.0, 1.0),
        ("node", 2, 0.25, 0.0),
        ("topic", 1, 1.0, 1.0),
        ("topic", 2, pytest.approx(2 / 3), 0.0),
    ]


@pytest.mark.parametrize("topics_are_nodes", [True, False])
def test_a_dataset_is_sampled(spark: SparkSession, tmp_path: Path, topics_are_nodes: bool) -> None:
    source = tmp_path / "source"
    pairs = graph(100, 4)
    table(spark, pairs).repartition(5).write.parquet(str(source / "subscriptions"))
    events = [(i, a, b) for i, (a, b) in enumerate(sorted(pairs))]
    spark.createDataFrame(events, PUBLICATIONS).write.parquet(str(source / "publications"))
    write_manifest(source, {"topics_are_nodes": topics_are_nodes})
    settings = SampleSettings("bfs", nodes=30, seeds=2, seed=3)
    report = sample(spark, source, tmp_path / "out", settings)
    nodes = {node for node, _ in rows(tmp_path / "out" / "nodes")}
    assert report.nodes == len(nodes) == 30
    kept = rows(tmp_path / "out" / "subscriptions")
    assert kept == sorted(
        (a, b) for a, b in pairs if a in nodes and (b in nodes or not topics_are_nodes)
    )
    published = rows(tmp_path / "out" / "publications")
    wanted = {topic for _, topic in kept}
    assert published == [(i, a, b) for i, a, b in events if a in nodes and b in wanted]
    assert {row["measure"] for row in report.ccdf} == {"node", "topic"}
    assert report.topics_are_nodes is topics_are_nodes


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("bsf", {}, "unknown method 'bsf': did you mean 'bfs'"),
        ("bfs", {}, "bfs needs --nodes"),
        ("bfs", {"nodes": 5, "seeds": 6}, "6 seeds are more than the 5 nodes wanted"),
        ("bfs", {"nodes": 0}, "--nodes should be 1 or more, not 0"),
        ("bfs", {"nodes": 5, "topics": 6}, "it is for seed-universe and random-topics"),
        (
            "bfs",
            {"nodes": 50, "along": "up"},
            "--along 'up' should be one of followed, followers, both",
        ),
        ("uniform", {"nodes": 5, "seeds": 6}, "--seeds has no meaning for uniform"),
    ],
)
def test_bad_settings(name: str, given: dict[str, int | str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build_settings(name, 0, given)


def test_bad_datasets(spark: SparkSession, tmp_path: Path) -> None:
    settings = SampleSettings("uniform", nodes=5)
    out = tmp_path / "out"
    with pytest.raises(UsageError, match="none: no such folder"):
        sample(spark, tmp_path / "none", out, settings)
    with pytest.raises(UsageError, match="has no table 'subscriptions'"):
        sample(spark, tmp_path, out, settings)
    (tmp_path / "subscriptions").mkdir()
    with pytest.raises(UsageError, match="subscriptions is not a Parquet table"):
        sample(spark, tmp_path, out, settings)
    source = tmp_path / "source"
    table(spark, {("a", "b"), ("b", "c")}).write.parquet(str(source / "subscriptions"))
    with pytest.raises(UsageError, match="5 nodes are wanted, but there are only 2"):
        sample(spark, source, out, settings)
    (source / "bad").mkdir()
    spark.createDataFrame([("a",)], "node string").write.parquet(str(source / "bad/subscriptions"))
    with pytest.raises(UsageError, match="no column 'topic'"):
        sample(spark, source / "bad", out, settings)
    assert not out.exists()
