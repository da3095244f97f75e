"""Metrics of a whole store, with what is known of their spread over seeds.

No metric is computed here: each group of rows goes to the function in `metrics` that a
single run uses. Topic connectivity and distances are taken for each (run, time, topic), so
that one large run is as many tasks as it has topics.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from orbweaver.core.errors import UsageError
from orbweaver.metrics.averages import interval95, mean
from orbweaver.metrics.summary import graph_metrics
from orbweaver.metrics.topics import TopicShape, topic_shape
from orbweaver.pipeline.cancel import cancelled_on_failure
from orbweaver.pipeline.dataset import count_rows, whole_dataset, write_manifest, write_table
from orbweaver.pipeline.store import read_runs, recorded_runs
from orbweaver.study.recorded import holds_records
from orbweaver.study.version import code_version, run_code

SHAPES = StructType(
    [
        StructField("key", StringType(), False),
        StructField("time_ms", LongType(), False),
        StructField("topic", StringType(), False),
        *(
            StructField(field.name, LongType(), False)
            for field in dataclasses.fields(TopicShape)
            if field.name != "topic"
        ),
    ]
)
"""The shape of each topic in each run at each snapshot."""

VALUES = StructType(
    [
        StructField("key", StringType(), False),
        StructField("time_ms", LongType(), False),
        StructField("metric", StringType(), False),
        StructField("value", DoubleType(), True),
    ]
)
"""A metric of a run at a snapshot; those of the whole run stand at its last one."""

SETTINGS = StructType(
    [
        StructField("name", StringType(), False),
        StructField("fingerprint", StringType(), False),
        StructField("time_ms", LongType(), False),
        StructField("metric", StringType(), False),
        StructField("seeds", LongType(), False),
        StructField("mean", DoubleType(), False),
        StructField("ci95", DoubleType(), True),
        StructField("lowest", DoubleType(), False),
        StructField("highest", DoubleType(), False),
    ]
)
"""A metric over the seeds of one scenario; ci95 is half the interval, none for one seed."""

TABLES = ("runs", "topics", "values", "settings")


@dataclasses.dataclass(frozen=True)
class MeasureReport:
    store: str
    code: str
    tables: dict[str, int]


def measure(
    spark: SparkSession,
    store: Path,
    out: Path,
    code: str | None = None,
    at_ms: int | None = None,
) -> MeasureReport:
    """Writes a folder with the tables of `TABLES`. What is measured is a store, or records;
    `at_ms` says when these are looked at."""
    if holds_records(store):
        runs = select_runs(recorded_runs(spark, store, at_ms))
    else:
        runs = select_runs(read_runs(spark, store), code)
    with whole_dataset(out, TABLES) as folder, cancelled_on_failure(spark):
        kept = write_table(runs.drop("looks"), folder, "runs")
        looks = exploded(runs)
        shapes = write_table(topic_shapes(looks), folder, "topics")
        values = write_table(run_values(kept, looks, shapes), folder, "values")
        write_table(over_seeds(kept, values), folder, "settings")
        counts = {name: count_rows(folder, name) for name in TABLES}
        found = MeasureReport(str(store), code or code_version(), counts)
        write_manifest(folder, {"made_by": "measure"} | dataclasses.asdict(found))
    return found


def select_runs(rows: DataFrame, code: str | None = None) -> DataFrame:
    """The runs of one version of the code that went well, each once; and of an overlay of
    somebody's own, if there are runs by several versions of its file, those by the present."""
    wanted = code or code_version()
    ours = F.split("code", r"\+")[0]
    good = rows.where("ok").where((F.col("code") == wanted) | (ours == wanted))
    if good.isEmpty():
        there = sorted(
            (r.code, r["count"]) for r in rows.where("ok").groupBy("code").count().collect()
        )
        listed = ", ".join(f"{name} ({count} runs)" for name, count in there) or "none"
        raise UsageError(
            f"no runs of code {wanted} in the store; it has those of: {listed} (--code takes them)"
        )
    overlay = F.get_json_object("scenario", "$.overlay")
    versions: dict[str, list[str]] = {}
    for row in good.select(overlay.alias("overlay"), "code").distinct().collect():
        versions.setdefault(row.overlay, []).append(row.code)
    for name, codes in versions.items():
        if len(codes) > 1:
            good = good.where((overlay != name) | (F.col("code") == run_code(name)))
    return good.dropDuplicates(["key"]).withColumn(
        "fingerprint", F.get_json_object("result", "$.fingerprint")
    )


def exploded(runs: DataFrame) -> DataFrame:
    """A row for each node at each snapshot of each run."""
    return runs.select("key", F.explode("looks").alias("look")).select("key", "look.*")


def topic_shapes(looks: DataFrame) -> DataFrame:
    by_topic = looks.select("key", "time_ms", "node", "peers", F.explode("topics").alias("topic"))
    return by_topic.groupBy("key", "time_ms", "topic").applyInArrow(
        _grouped(_topic_shape, SHAPES), SHAPES
    )


def run_values(runs: DataFrame, looks: DataFrame, shapes: DataFrame) -> DataFrame:
    """Metrics of the graph from its parts, the others as the run itself gave them."""
    sizes = looks.select("key", "time_ms", F.size("peers").alias("degree"))
    schema = to_arrow_schema(VALUES)

    def metrics(key: tuple[Any, ...], nodes: pa.Table, topics: pa.Table) -> pa.Table:
        found = [TopicShape(**_shape_of(row)) for row in topics.to_pylist()]
        values = graph_metrics(nodes.column("degree").to_pylist(), found)
        run, time_ms = (cell.as_py() for cell in key)
        rows = [
            {"key": run, "time_ms": time_ms, "metric": name, "value": _number(value)}
            for name, value in values.items()
        ]
        return pa.Table.from_pylist(rows, schema=schema)

    both = ("key", "time_ms")
    of_graph = sizes.groupBy(*both).cogroup(shapes.groupBy(*both)).applyInArrow(metrics, VALUES)
    given = F.from_json(
        F.get_json_object("result", "$.metrics"), MapType(StringType(), DoubleType())
    )
    last = looks.groupBy("key").agg(F.max("time_ms").alias("time_ms"))
    of_run = (
        runs.select("key", F.explode(given).alias("metric", "value"))
        .join(last, "key")
        .join(of_graph.select("key", "metric").distinct(), ["key", "metric"], "left_anti")
        .select(*VALUES.fieldNames())
    )
    return of_graph.unionByName(of_run)


def over_seeds(runs: DataFrame, values: DataFrame) -> DataFrame:
    """Snapshots go together by their number: live clusters are looked at when they are whole,
    one a second later than another."""
    named = values.dropna(subset=["value"]).join(runs.select("key", "name", "fingerprint"), "key")
    number = F.dense_rank().over(Window.partitionBy("key").orderBy("time_ms"))
    grouped = named.withColumn("number", number).groupBy("name", "fingerprint", "number", "metric")
    return grouped.applyInArrow(_grouped(_over_seeds, SETTINGS), SETTINGS)


def _topic_shape(key: tuple[Any, ...], rows: pa.Table) -> dict[str, Any]:
    links = dict(
        zip(rows.column("node").to_pylist(), rows.column("peers").to_pylist(), strict=True)
    )
    run, time_ms, topic = key
    return {
        "key": run,
        "time_ms": time_ms,
        **dataclasses.asdict(topic_shape(topic, links, sorted(links))),
    }


def _over_seeds(key: tuple[Any, ...], rows: pa.Table) -> dict[str, Any]:
    values = rows.column("value").to_pylist()
    name, fingerprint, _, metric = key
    return {
        "name": name,
        "fingerprint": fingerprint,
        "time_ms": min(rows.column("time_ms").to_pylist()),
        "metric": metric,
        "seeds": len(values),
        "mean": mean(values),
        "ci95": _number(interval95(values)),
        "lowest": min(values),
        "highest": max(values),
    }


def _grouped(
    one: Callable[[tuple[Any, ...], pa.Table], dict[str, Any]], schema: StructType
) -> Callable[[tuple[Any, ...], pa.Table], pa.Table]:
    """One row out of each group."""
    arrow = to_arrow_schema(schema)

    def apply(key: tuple[Any, ...], rows: pa.Table) -> pa.Table:
        row = one(tuple(cell.as_py() for cell in key), rows)
        return pa.Table.from_pylist([row], schema=arrow)

    return apply


def _shape_of(row: dict[str, Any]) -> dict[str, Any]:
    return {field.name: row[field.name] for field in dataclasses.fields(TopicShape)}


def _number(value: float) -> float | None:
    """Parquet has a word for no number; NaN would count as one."""
    return float(value) if value == value else None
