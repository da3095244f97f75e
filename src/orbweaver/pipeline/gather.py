"""Gathers the files of live nodes with Spark, into the tables that `records.gather` writes.

Neither facts nor tables pass through the driver. Nodes are independent but for the events: so each
task merges the files of some nodes with `ClusterState`, and puts what they received aside. Spark
then joins that with the publications, and adds up what the tasks counted. The rows of every table,
and their order, are those of `records.gather`.
"""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from orbweaver.core.ids import NodeId
from orbweaver.pipeline.cancel import cancelled_on_failure
from orbweaver.pipeline.dataset import input_path
from orbweaver.records.facts import AnyFact, Copied, Copy, Delivered, Published, Relayed
from orbweaver.records.files import whole_file, whole_folder
from orbweaver.records.gather import EVERY_MS, ClusterState, Gathered, check_survey
from orbweaver.records.node_files import Survey, find_files, lines, survey
from orbweaver.records.schema import TABLES
from orbweaver.records.writers import ABOUT, tables_to_replace

T = TypeVar("T")

TASK_BYTES = 64 << 20
"""About how many bytes of files a task merges. Its tables are in memory, events are not."""
ROWS_AT_ONCE = 50_000
"""Rows of events that a task writes together."""

_TYPES = {"int": LongType(), "text": StringType()}


def schema_of(name: str) -> StructType:
    """Return the columns of a table of records."""
    columns = TABLES[name].columns
    return StructType([StructField(c.name, _TYPES[c.type], False) for c in columns])


NUMBER = StructField("number", LongType(), False)
"""The place of a row among those of its task, for rows of one node at one time."""
EVENTS = StructType(
    [
        StructField("time_ms", LongType(), False),
        StructField("node", LongType(), False),
        StructField("what", StringType(), False),
        StructField("event", StringType(), False),
        StructField("hops", LongType(), False),
        StructField("count", LongType(), False),
        StructField("peer", LongType(), False),
        StructField("kind", StringType(), False),
        StructField("why", StringType(), False),
        NUMBER,
    ]
)
"""What nodes published and received: publish, deliver, pull, relay, copies or copy."""
STATES = ("nodes", "interests", "links", "sends", "states", "traffic", "loads", "drops")
"""The tables for which a node need not know of others."""
DONE = StructType([StructField("told", StringType(), False)])


class GatheredPart(msgspec.Struct):
    """What a task has counted."""

    nodes: int
    lives: int
    crashes: int
    missing: int


def gather(spark: SparkSession, folder: Path, out: Path, every_ms: int = EVERY_MS) -> Gathered:
    """Write the tables of all files below a folder, all or none, and return what was found."""
    groups = grouped(find_files(folder))
    with whole_folder(out, tables_to_replace(out)) as made, cancelled_on_failure(spark):
        # Beside the tables, where every worker can write.
        parts = Path(tempfile.mkdtemp(prefix=".parts-", dir=made.parent))
        try:
            found = _merged(_tell(spark, groups, _surveyed, Survey))
            start_ms = check_survey(folder, found, every_ms)
            span = (start_ms, found.end_ms, every_ms)
            done = _tell(
                spark, groups, lambda n, files: take_apart(n, files, parts, *span), GatheredPart
            )
            counts = write_tables(spark, parts, made)
        finally:
            shutil.rmtree(parts, ignore_errors=True)
        overlay, params = next(iter(found.overlays.items()), ("", {}))
        gathered = Gathered(
            overlay, params, sum(one.nodes for one in done), sum(one.lives for one in done),
            sum(one.crashes for one in done), start_ms, found.end_ms - start_ms, found.damaged,
            sum(one.missing for one in done), **counts,
        )  # fmt: skip
        (made / ABOUT).write_bytes(msgspec.json.encode(gathered) + b"\n")
    return gathered


def grouped(files: Sequence[Path]) -> list[list[Path]]:
    """Return the files in groups of about `TASK_BYTES`, in their order. All files of a node are in
    one group."""
    groups: list[list[Path]] = []
    room = 0
    for path in files:
        if not groups or (room <= 0 and groups[-1][-1].name != path.name):
            groups.append([])
            room = TASK_BYTES
        groups[-1].append(path)
        room -= path.stat().st_size
    return groups


def take_apart(
    number: int, files: Sequence[Path], parts: Path, start_ms: int, end_ms: int, every_ms: int
) -> GatheredPart:
    """Merge the files of some nodes: write what they received as events, and tables of the rest."""
    cluster = ClusterState(Survey(start_ms=start_ms, end_ms=end_ms), start_ms, every_ms)
    events = _event_rows(files, cluster, start_ms, end_ms)
    _write(parts / "events" / f"{number}.parquet", EVENTS, events)
    records = cluster.finish()
    for name in STATES:
        rows = ((*row, i) for i, row in enumerate(records[name].rows()))
        schema = StructType([*schema_of(name).fields, NUMBER])
        _write(parts / name / f"{number}.parquet", schema, rows)
    return GatheredPart(len(cluster.nodes), cluster.lives, cluster.crashes, cluster.missing)


def write_tables(spark: SparkSession, parts: Path, out: Path) -> dict[str, int]:
    """Write all tables, and return what was found out about events."""

    def read(name: str, schema: StructType) -> DataFrame:
        return spark.read.schema(schema).parquet(input_path(str(parts / name)))

    def state(name: str) -> DataFrame:
        return read(name, StructType([*schema_of(name).fields, NUMBER]))

    def write(name: str, rows: DataFrame, *order: str | Column) -> None:
        ordered = rows.orderBy(*order).select(*TABLES[name].names)
        ordered.write.parquet(f"file:{out.resolve() / name}.parquet")

    events = read("events", EVENTS)
    published = publications(events)
    known = with_publication(events, published).persist()
    try:
        by_time = ("time_ms", "node", "number")
        for name in ("nodes", "interests", "links"):
            write(name, state(name), *by_time)
        write("publications", publication_totals(published, known), "first_ms", "event")
        write("deliveries", deliveries(known), "fact_ms", "node", "number")
        write("relays", known.where(F.col("what") == "relay"), *by_time)
        write("copies", known.where(F.col("what") == "copy"), *by_time)
        write("sends", added(state("sends"), "time_ms", "kind", "purpose"), "time_ms", "kind")
        write("states", added(state("states"), "time_ms", "state", "value"),
              "time_ms", "state", "value")  # fmt: skip
        traffic = state("traffic").drop("number").unionByName(traffic_of_events(known))
        write("traffic", added(traffic, "node"), "node")
        write("loads", added(state("loads"), "node"), "node")
        write("drops", added(state("drops"), "reason"), "reason")
        received = events.where(F.col("what") != "publish").select("event").distinct()
        delivered = known.where(F.col("what").isin("deliver", "pull"))
        backwards = F.sum((F.col("time_ms") < F.col("published_ms")).cast("long"))
        pulled = F.sum((F.col("what") == "pull").cast("long"))
        counted = delivered.agg(pulled.alias("pulled"), backwards.alias("backwards")).first()
        assert counted is not None
        return {
            "unknown_events": received.join(published, "event", "left_anti").count(),
            "pulled": counted["pulled"] or 0,
            "backwards": counted["backwards"] or 0,
        }
    finally:
        known.unpersist()


# -- tables of events


def publications(events: DataFrame) -> DataFrame:
    """Return each event once, with its publisher and topic out of its name."""
    parts = r"(?s)^([^-]*)-[^-]*-[^-]*-(.*)$"
    return (
        events.where(F.col("what") == "publish")
        .groupBy("event")
        .agg(F.min("time_ms").alias("first_ms"), F.max("time_ms").alias("published_ms"))
        .withColumn("publisher", F.regexp_extract("event", parts, 1).cast("long"))
        .withColumn("topic", F.regexp_extract("event", parts, 2))
    )


def with_publication(events: DataFrame, published: DataFrame) -> DataFrame:
    """Return what was received of events whose publication is known."""
    received = events.where(F.col("what") != "publish")
    return received.join(published.select("event", "published_ms"), "event")


def deliveries(known: DataFrame) -> DataFrame:
    """Return the deliveries; one that precedes its publication, by clocks that do not agree,
    happens with it."""
    return (
        known.where(F.col("what").isin("deliver", "pull"))
        .withColumn("fact_ms", F.col("time_ms"))
        .withColumn("time_ms", F.greatest("time_ms", "published_ms"))
        .withColumn("latency_ms", F.col("time_ms") - F.col("published_ms"))
    )


def publication_totals(published: DataFrame, known: DataFrame) -> DataFrame:
    """Return the publications with totals of their copies and deliveries."""
    delivered = deliveries(known).groupBy("event").agg(
        F.count("*").alias("deliveries"),
        F.sum("hops").alias("hops_sum"), F.max("hops").alias("hops_max"),
        F.sum("latency_ms").alias("latency_ms_sum"), F.max("latency_ms").alias("latency_ms_max"),
    )  # fmt: skip
    copied = known.groupBy("event").agg(_copies().alias("copies"), _relays().alias("relays"))
    return (
        published.join(copied, "event", "left")
        .join(delivered, "event", "left")
        .na.fill(0)
        .withColumnsRenamed({"published_ms": "time_ms", "publisher": "node"})
    )


def traffic_of_events(known: DataFrame) -> DataFrame:
    """Return the copies that each node received. A node that received none has no row."""
    copies = known.where(F.col("what").isin("copies", "pull", "relay"))
    return copies.groupBy("node").agg(
        _copies().alias("interesting"), _relays().alias("uninteresting"),
        F.lit(0).alias("notices"), F.lit(0).alias("uninteresting_notices"),
    )  # fmt: skip


def added(rows: DataFrame, *keys: str) -> DataFrame:
    """Add up the other columns of rows with equal keys."""
    others = [name for name in rows.columns if name not in (*keys, NUMBER.name)]
    return rows.groupBy(*keys).agg(*(F.sum(name).alias(name) for name in others))


def _copies() -> Column:
    # What was pulled came by itself, and is a copy too.
    return F.sum(F.when(F.col("what").isin("copies", "pull"), F.col("count")).otherwise(0))


def _relays() -> Column:
    return F.sum((F.col("what") == "relay").cast("long"))


# -- tasks


def _event_rows(
    files: Sequence[Path], cluster: ClusterState, start_ms: int, end_ms: int
) -> Iterator[tuple[Any, ...]]:
    """Yield what nodes published and received, and let `cluster` take the rest."""
    number = 0
    for at, node, fact in merge(*(lines(path) for path in files), key=lambda line: line[0]):
        if at > end_ms:
            return  # written since the survey
        if isinstance(fact, Published | Delivered | Relayed | Copied | Copy):
            for row in _rows_of(fact):
                yield at - start_ms, int(node), *row, number
                number += 1
        else:
            cluster.take(at, NodeId(node), fact)


def _rows_of(fact: AnyFact) -> Iterator[tuple[Any, ...]]:
    """Yield (what, event, hops, count, peer, kind, why)."""
    match fact:
        case Published():
            yield "publish", fact.event, 0, 1, 0, "", ""
        case Delivered():
            yield "pull" if fact.pulled else "deliver", fact.event, fact.hops, 1, 0, "", ""
        case Relayed():
            yield "relay", fact.event, fact.hops, 1, 0, "", ""
        case Copied():
            for event, copies in fact.copies.items():
                yield "copies", event, 0, copies, 0, "", ""
        case Copy():
            yield "copy", fact.event, fact.hops, 1, int(fact.peer), fact.kind, fact.why


def _write(path: Path, schema: StructType, rows: Iterable[tuple[Any, ...]]) -> None:
    """Write rows as they come. A task that Spark repeats writes the same file again."""
    arrow = to_arrow_schema(schema)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as temporary, pq.ParquetWriter(temporary, arrow) as writer:
        some: list[tuple[Any, ...]] = []
        for row in rows:
            some.append(row)
            if len(some) == ROWS_AT_ONCE:
                writer.write_batch(_batch(some, arrow))
                some = []
        if some:
            writer.write_batch(_batch(some, arrow))


def _batch(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(cells, field.type) for cells, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _surveyed(_: int, files: Sequence[Path]) -> Survey:
    return dataclasses.replace(survey(files), publications={})


def _merged(found: Sequence[Survey]) -> Survey:
    overlays: dict[str, Mapping[str, Any]] = {}
    for one in found:
        overlays |= one.overlays
    starts = [one.start_ms for one in found if one.start_ms is not None]
    return Survey(
        files=sum(one.files for one in found),
        start_ms=min(starts, default=None),
        end_ms=max(one.end_ms for one in found),
        overlays={name: dict(params) for name, params in overlays.items()},
        damaged=sum(one.damaged for one in found),
    )


def _tell(
    spark: SparkSession,
    groups: Sequence[Sequence[Path]],
    work: Callable[[int, Sequence[Path]], T],
    kind: type[T],
) -> list[T]:
    """Let a task do the work for each group of files. Return what the tasks tell, in order."""
    schema = to_arrow_schema(DONE)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                told = msgspec.json.encode(work(number, groups[number])).decode()
                yield pa.RecordBatch.from_pylist([{"told": told}], schema=schema)

    rows = spark.range(0, len(groups), 1, len(groups)).mapInArrow(run, DONE).collect()
    return [msgspec.json.decode(row.told, type=kind) for row in rows]
