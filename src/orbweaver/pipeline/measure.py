"""Measures all runs of a store, and the spread over seeds.

No metric is computed here: each group of rows goes to the function in `metrics` that a single run
uses. Topic connectivity and distances are taken for each (run, time, topic), so that a large run
has as many tasks as topics.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
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
from orbweaver.pipeline.recorded import are_records, read_runs, record_tables
from orbweaver.pipeline.store import RunStore
from orbweaver.study.results import Stored
from orbweaver.study.version import code_version, run_code

SHAPES = StructType(
    [
        StructField("run", StringType(), False),
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
        StructField("run", StringType(), False),
        StructField("time_ms", LongType(), False),
        StructField("metric", StringType(), False),
        StructField("value", DoubleType(), True),
    ]
)
"""A metric of a run at a snapshot. Metrics of the whole run have the time of the last snapshot."""

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
"""A metric over the seeds of a scenario; ci95 is half the interval, null for a single seed."""

RUNS = StructType(
    [
        StructField("run", StringType(), False),
        StructField("code", StringType(), False),
        StructField("name", StringType(), False),
        StructField("fingerprint", StringType(), False),
        StructField("seed", LongType(), False),
        StructField("result", StringType(), False),
    ]
)
"""A run by its identity; `result` is JSON of `study.run.Result`."""

TABLES = ("runs", "topics", "values", "settings")


@dataclasses.dataclass(frozen=True)
class MeasureReport:
    store: str
    code: str
    tables: dict[str, int]


def measure(
    spark: SparkSession,
    store: RunStore,
    out: Path,
    code: str | None = None,
    at_ms: int | None = None,
) -> MeasureReport:
    """Measure a store, or records, and write a folder with the tables of `TABLES`. For records,
    `at_ms` is the time at which the overlay is looked at."""
    with ExitStack() as ending, whole_dataset(out, TABLES) as folder, cancelled_on_failure(spark):
        if store.folder is not None and are_records(store.folder):
            tables = ending.enter_context(record_tables(spark, store.folder, folder.parent))
            runs_and_looks = read_runs(spark, tables, store.folder.name, at_ms)
            stored, seen = ending.enter_context(runs_and_looks)
        else:
            stored = select_runs(store.results().each(), code)
            seen = store.read_looks(spark, stored)
        runs = write_table(spark.createDataFrame(run_rows(stored), RUNS), folder, "runs")
        shapes = write_table(topic_shapes(seen), folder, "topics")
        values = write_table(run_values(runs, seen, shapes), folder, "values")
        write_table(over_seeds(runs, values), folder, "settings")
        counts = {name: count_rows(folder, name) for name in TABLES}
        found = MeasureReport(store.place, code or code_version(), counts)
        write_manifest(folder, {"made_by": "measure"} | dataclasses.asdict(found))
    return found


def select_runs(every: Sequence[Stored], code: str | None = None) -> list[Stored]:
    """Return the runs of one version of the code. A user's overlay may have runs by several
    versions of its file; the runs by its present version are returned."""
    wanted = code or code_version()
    good = [one for one in every if wanted in (one.code, one.code.partition("+")[0])]
    if not good:
        counts = Counter(one.code for one in every)
        listed = ", ".join(f"{name} ({count} runs)" for name, count in sorted(counts.items()))
        raise UsageError(
            f"no runs of code {wanted} in the store; it has runs of code: {listed or 'none'} "
            "(choose with --code)"
        )
    versions: dict[str, set[str]] = {}
    for one in good:
        versions.setdefault(one.result.overlay, set()).add(one.code)
    present = {name: run_code(name) for name, codes in versions.items() if len(codes) > 1}
    return [one for one in good if one.code == present.get(one.result.overlay, one.code)]


def run_rows(stored: Sequence[Stored]) -> list[tuple[Any, ...]]:
    results = ((one.code, one.result) for one in stored)
    return [
        (r.run_id, code, r.name, r.fingerprint, r.seed, msgspec.json.encode(r).decode())
        for code, r in results
    ]


def topic_shapes(looks: DataFrame) -> DataFrame:
    by_topic = looks.select("run", "time_ms", "node", "peers", F.explode("topics").alias("topic"))
    return by_topic.groupBy("run", "time_ms", "topic").applyInArrow(
        _grouped(_topic_shape, SHAPES), SHAPES
    )


def run_values(runs: DataFrame, looks: DataFrame, shapes: DataFrame) -> DataFrame:
    """Return all metrics of runs: of the graph computed here, the others as the run gave them."""
    sizes = looks.select("run", "time_ms", F.size("peers").alias("degree"))
    schema = to_arrow_schema(VALUES)

    def metrics(key: tuple[Any, ...], nodes: pa.Table, topics: pa.Table) -> pa.Table:
        found = [TopicShape(**_shape_of(row)) for row in topics.to_pylist()]
        values = graph_metrics(nodes.column("degree").to_pylist(), found)
        run, time_ms = (cell.as_py() for cell in key)
        rows = [
            {"run": run, "time_ms": time_ms, "metric": name, "value": _number(value)}
            for name, value in values.items()
        ]
        return pa.Table.from_pylist(rows, schema=schema)

    both = ("run", "time_ms")
    of_graph = sizes.groupBy(*both).cogroup(shapes.groupBy(*both)).applyInArrow(metrics, VALUES)
    given = F.from_json(
        F.get_json_object("result", "$.metrics"), MapType(StringType(), DoubleType())
    )
    last = looks.groupBy("run").agg(F.max("time_ms").alias("time_ms"))
    of_run = (
        runs.select("run", F.explode(given).alias("metric", "value"))
        .join(last, "run")
        .join(of_graph.select("run", "metric").distinct(), ["run", "metric"], "left_anti")
        .select(*VALUES.fieldNames())
    )
    return of_graph.unionByName(of_run)


def over_seeds(runs: DataFrame, values: DataFrame) -> DataFrame:
    """Return each metric over the seeds of a scenario. Snapshots are matched by their number, since
    the times of two live clusters can differ by a second."""
    named = values.dropna(subset=["value"]).join(runs.select("run", "name", "fingerprint"), "run")
    number = F.dense_rank().over(Window.partitionBy("run").orderBy("time_ms"))
    grouped = named.withColumn("number", number).groupBy("fingerprint", "number", "metric")
    return grouped.applyInArrow(_grouped(_over_seeds, SETTINGS), SETTINGS)


def _topic_shape(key: tuple[Any, ...], rows: pa.Table) -> dict[str, Any]:
    links = dict(
        zip(rows.column("node").to_pylist(), rows.column("peers").to_pylist(), strict=True)
    )
    run, time_ms, topic = key
    return {
        "run": run,
        "time_ms": time_ms,
        **dataclasses.asdict(topic_shape(topic, links, sorted(links))),
    }


def _over_seeds(key: tuple[Any, ...], rows: pa.Table) -> dict[str, Any]:
    values = rows.column("value").to_pylist()
    fingerprint, _, metric = key
    return {
        "name": min(rows.column("name").to_pylist()),
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
    """Return a function that makes one row of each group."""
    arrow = to_arrow_schema(schema)

    def apply(key: tuple[Any, ...], rows: pa.Table) -> pa.Table:
        row = one(tuple(cell.as_py() for cell in key), rows)
        return pa.Table.from_pylist([row], schema=arrow)

    return apply


def _shape_of(row: dict[str, Any]) -> dict[str, Any]:
    return {field.name: row[field.name] for field in dataclasses.fields(TopicShape)}


def _number(value: float) -> float | None:
    """Return None for NaN: Parquet has nulls, while NaN would count as a number."""
    return float(value) if value == value else None
