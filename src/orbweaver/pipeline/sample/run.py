"""Takes a sample, from the folder of a dataset to the folder of a new one."""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from orbweaver.core.errors import UsageError
from orbweaver.pipeline.cancel import cancelled_on_failure
from orbweaver.pipeline.characterise.source import locate, read_pairs, usable
from orbweaver.pipeline.dataset import (
    check_output,
    conform,
    count_rows,
    explained_failures,
    has_table,
    read_manifest,
    read_table,
    whole_dataset,
    write_manifest,
    write_table,
)
from orbweaver.pipeline.ingest.lines import bad_topic
from orbweaver.pipeline.sample.bfs import breadth_first
from orbweaver.pipeline.sample.ccdf import degree_ccdf
from orbweaver.pipeline.sample.draws import machines, random_topics, seed_universe, uniform
from orbweaver.pipeline.sample.methods import SampleSettings
from orbweaver.pipeline.schemas import CHURN, NODES, PUBLICATIONS, SUBSCRIPTIONS
from orbweaver.workload.dialect import Reading
from orbweaver.workload.tables import AS_FOUND


@dataclasses.dataclass(frozen=True)
class SampleReport:
    source: str
    out: str
    settings: dict[str, Any]
    topics_are_nodes: bool
    nodes: int
    hops: int
    tables: dict[str, int]
    ccdf: list[dict[str, Any]]


def check(
    folder: Path, out: Path, settings: SampleSettings, read: Reading = AS_FOUND
) -> tuple[str, ...]:
    """Return the tables that will be written. Raises `UsageError` for mistakes that can be found
    without Spark. A file stands for a dataset with subscriptions only."""
    if not folder.exists():
        raise UsageError(f"{folder}: no such folder or file")
    if folder.is_file():
        if settings.method == "machines":
            raise UsageError(f"{folder}: machines are sampled from a folder with a table 'churn'")
        locate(folder, read)
        check_output(out, ("nodes", "subscriptions"))
        return "nodes", "subscriptions"
    if read != AS_FOUND:
        raise UsageError(f"{folder} is a dataset, which names its columns: leave out --columns")
    needed = "churn" if settings.method == "machines" else "subscriptions"
    if not has_table(folder, needed):
        raise UsageError(f"{folder} has no table '{needed}'; 'orbweaver ingest' makes one")
    tables: tuple[str, ...] = ("nodes", needed)
    if needed == "subscriptions" and has_table(folder, "publications"):
        tables = (*tables, "publications")
    check_output(out, tables)
    if out.resolve() == folder.resolve():
        raise UsageError(f"--out {out} is what the sample is taken from: choose a different folder")
    return tables


def sample(
    spark: SparkSession,
    folder: Path,
    out: Path,
    settings: SampleSettings,
    topics_are_nodes: bool | None = None,
    read: Reading = AS_FOUND,
) -> SampleReport:
    """Take a sample and write it. Whether topics are nodes is what the caller says, else what the
    dataset says; a dataset that does not say is taken for a social graph, as searched in the
    papers. In a file topics are nodes if half of them or more are names of nodes."""
    tables = check(folder, out, settings, read)
    if topics_are_nodes is None and folder.is_dir():
        topics_are_nodes = bool(read_manifest(folder).get("topics_are_nodes", True))
    with (
        explained_failures(),
        whole_dataset(out, tables) as made,
        cancelled_on_failure(spark),
        ExitStack() as ending,
    ):
        written: dict[str, DataFrame] = {}
        ccdf: list[dict[str, Any]] = []
        if settings.method == "machines":
            part = machines(read_table(spark, folder, "churn", CHURN), settings)
            ordered = conform(part, CHURN).orderBy("time_ms", "node", "kind")
            written["churn"] = write_table(ordered, made, "churn")
            nodes = _flat(written["churn"])
        else:
            if folder.is_file():
                source = subscriptions_of(spark, folder, read)
                if topics_are_nodes is None:
                    topics_are_nodes = are_nodes(source)
            else:
                source = read_table(spark, folder, "subscriptions", SUBSCRIPTIONS)
            nodes_found, part = take(source, settings, bool(topics_are_nodes), ending)
            ordered = conform(part, SUBSCRIPTIONS).orderBy("node", "topic")
            written["subscriptions"] = write_table(ordered, made, "subscriptions")
            nodes = nodes_found if nodes_found is not None else _flat(written["subscriptions"])
            ccdf = [row.asDict() for row in degree_ccdf(source, written["subscriptions"]).collect()]
        ordered = conform(nodes, NODES).orderBy("hop", "node")
        written["nodes"] = write_table(ordered, made, "nodes")
        if "publications" in tables:
            events = read_table(spark, folder, "publications", PUBLICATIONS)
            kept = of_sample(events, written["nodes"], written["subscriptions"])
            ordered = conform(kept, PUBLICATIONS).orderBy("time_ms", "node", "topic")
            written["publications"] = write_table(ordered, made, "publications")
        sizes = {name: count_rows(made, name) for name in tables}
        _check_size(settings, sizes["nodes"])
        hops = written["nodes"].agg(F.max("hop")).collect()[0][0] or 0
        report = SampleReport(
            source=str(folder),
            out=str(out),
            settings=dataclasses.asdict(settings),
            topics_are_nodes=bool(topics_are_nodes),
            nodes=sizes["nodes"],
            hops=hops,
            tables=sizes,
            ccdf=ccdf,
        )
        write_manifest(made, {"made_by": "sample"} | dataclasses.asdict(report))
    return report


def subscriptions_of(spark: SparkSession, file: Path, read: Reading) -> DataFrame:
    """Return the rows of a file that can be used, each once."""
    pairs = usable(read_pairs(spark, locate(file, read))).filter(~bad_topic(F.col("topic")))
    return conform(pairs, SUBSCRIPTIONS).distinct()


def are_nodes(subscriptions: DataFrame) -> bool:
    topics = subscriptions.select(F.col("topic").alias("node")).distinct()
    both = topics.join(subscriptions.select("node"), "node", "left_semi")
    return 2 * both.count() >= topics.count()


def take(
    subscriptions: DataFrame, settings: SampleSettings, topics_are_nodes: bool, ending: ExitStack
) -> tuple[DataFrame | None, DataFrame]:
    """Return the sample's nodes, if they are known apart from their subscriptions, and its
    subscriptions. What executors keep for them is freed at `ending`."""
    if settings.method == "bfs":
        nodes = ending.enter_context(breadth_first(subscriptions, settings, topics_are_nodes))
        return nodes, induced(subscriptions, nodes, topics_are_nodes)
    if settings.method == "seed-universe":
        return None, seed_universe(subscriptions, settings, topics_are_nodes)
    if settings.method == "random-topics":
        return None, random_topics(subscriptions, settings)
    return None, uniform(subscriptions, settings)


def induced(subscriptions: DataFrame, nodes: DataFrame, topics_are_nodes: bool) -> DataFrame:
    """Return all relations among the nodes, and none that leads outside (Vitis IV-E, OMen 6.1)."""
    chosen = nodes.select("node")
    inside = subscriptions.join(chosen, "node", "left_semi")
    if not topics_are_nodes:
        return inside
    return inside.join(chosen.withColumnRenamed("node", "topic"), "topic", "left_semi")


def of_sample(events: DataFrame, nodes: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """Return the publications by nodes of the sample on topics with a subscriber in it."""
    by_nodes = events.join(nodes.select("node"), "node", "left_semi")
    return by_nodes.join(subscriptions.select("topic").distinct(), "topic", "left_semi")


def _flat(rows: DataFrame) -> DataFrame:
    """Return the nodes of a table, all with hop 0."""
    return rows.select("node").distinct().withColumn("hop", F.lit(0))


def _check_size(settings: SampleSettings, found: int) -> None:
    if not found:
        raise UsageError("the sample has no nodes: take more seeds or topics")
    if settings.method in ("uniform", "machines") and found < settings.nodes:
        raise UsageError(f"{settings.nodes:,} nodes are wanted, but there are only {found:,}")
