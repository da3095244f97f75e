"""Turns models into tables.

`spark.range` hands out row numbers; a task turns its share, batch by batch, into Arrow tables.
Nothing is shuffled, nothing comes to the driver, and rows are written in their order, so the same
plan and seed give the same tables on any number of cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from orbweaver.pipeline.schemas import CHURN, RATES, SUBSCRIPTIONS
from orbweaver.pipeline.synthesise.traffic import OnOff, Rates
from orbweaver.pipeline.workers import freeze_imports
from orbweaver.workload.models.catalog import Model
from orbweaver.workload.models.chance import Ints

ROWS_PER_TASK = 20_000
TASKS_MAX = 400
"""Most tasks: enough to keep a cluster busy, few enough for files of some megabytes."""

Batches = Iterator[pa.RecordBatch]


def subscriptions(spark: SparkSession, nodes: int, model: Model) -> DataFrame:
    return _by_row(spark, nodes, lambda rows: subscription_rows(model, rows), SUBSCRIPTIONS)


def rates(spark: SparkSession, topics: int, law: Rates) -> DataFrame:
    return _by_row(spark, topics, lambda rows: rate_rows(law, rows), RATES)


def churn(spark: SparkSession, nodes: int, model: OnOff) -> DataFrame:
    return _by_row(spark, nodes, lambda rows: churn_rows(model, rows), CHURN)


def subscription_rows(model: Model, rows: Ints) -> pa.RecordBatch:
    drawn = model.draw(rows)
    nodes = _names("", rows).take(pa.array(np.repeat(np.arange(len(rows)), drawn.counts)))
    return pa.RecordBatch.from_arrays([nodes, _names("t", drawn.items)], ["node", "topic"])


def rate_rows(law: Rates, rows: Ints) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [_names("t", rows), pa.array(law.of(rows))], ["topic", "rate"]
    )


def churn_rows(model: OnOff, rows: Ints) -> pa.RecordBatch:
    place, time_ms, leave = model.changes(rows)
    kinds = pa.array(["join", "leave"]).take(pa.array(leave))
    return pa.RecordBatch.from_arrays(
        [pa.array(time_ms), _names("", rows[place]), kinds], ["time_ms", "node", "kind"]
    )


def _by_row(
    spark: SparkSession, count: int, make: Callable[[Ints], pa.RecordBatch], schema: object
) -> DataFrame:
    def run(batches: Batches) -> Batches:
        freeze_imports()
        for batch in batches:
            yield make(batch.column(0).to_numpy())

    tasks = min(TASKS_MAX, -(-count // ROWS_PER_TASK))
    return spark.range(0, count, 1, tasks).mapInArrow(run, schema)  # type: ignore[arg-type]


def _names(prefix: str, numbers: Ints) -> pa.Array:
    text = pc.cast(pa.array(numbers), pa.string())
    return pc.binary_join_element_wise(prefix, text, "") if prefix else text
