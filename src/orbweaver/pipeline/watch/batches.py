"""Counts what a batch of the stream brings.

Deliveries and copies are matched to recent publications as they come. A join of two streams would
give nothing of a minute before it is over. What was received stays, by the minute of the
publication, so that the rows of a minute are computed from all of it whenever there is more: by
`metrics.minutes`, which knows nothing of streams.
"""

from __future__ import annotations

import dataclasses
import math
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StructField, StructType

from orbweaver.metrics.deliveries import STAY_MS
from orbweaver.metrics.minutes import ALL, Minute, minutes
from orbweaver.pipeline.dataset import count_rows, input_path
from orbweaver.pipeline.watch.kept import COUNTED, COUNTED_SPARK, State, WatchFolder
from orbweaver.pipeline.watch.source import FACTS
from orbweaver.records.facts import event_of
from orbweaver.records.following import (
    MINUTE_MS,
    RECEIPTS,
    FactRow,
    Interval,
    minute_of,
    records_of,
)
from orbweaver.records.live import wall_clock_ms
from orbweaver.report.watched import WatchSummary

RECENT_MS = 60 * MINUTE_MS
"""How long after its publication an event is still counted."""
RECENT_EVENTS = 1_000_000
"""Most events that are waited for; with more of them, an hour is cut short."""
PATIENCE_MS = 2 * MINUTE_MS
"""How long a delivery waits for its publication, which may be in a file that comes later."""
PUBLISH = "publish"
WAITING, UNKNOWN = -1, -2
"""In place of a minute: the publication may come yet, or will not come."""

PART = "minute"
"""The column by which receipts are sorted into folders."""
MATCHED = StructType([*FACTS.fields, StructField("minute_ms", LongType(), False)])
"""Facts of events, with the minute of the publication."""


@dataclasses.dataclass(frozen=True)
class CountedBatch:
    """What a batch brought."""

    number: int
    lines: int
    seconds: float
    summary: WatchSummary


class Counting:
    """The function that the stream calls for each batch, and what it remembers."""

    def __init__(
        self, folder: WatchFolder, state: State, told: Callable[[CountedBatch], None]
    ) -> None:
        self.state = state
        self._folder = folder
        self._told = told
        self._busy = threading.Lock()
        self._closed = False

    @contextmanager
    def between_batches(self) -> Iterator[None]:
        """Wait until no batch is counted, and count none from then on."""
        with self._busy:
            self._closed = True
            yield

    def take(self, rows: DataFrame, number: int) -> None:
        """Count a batch. Spark repeats a batch that it does not know to be done."""
        with self._busy:
            if self._closed:  # Spark would take it for done if nothing was raised
                raise InterruptedError(f"batch {number} is left for the next watch")
            if number > self.state.batch:
                self._take(rows, number)

    # -- inside

    def _take(self, rows: DataFrame, number: int) -> None:
        state = self.state
        began = time.monotonic()
        lines, control = state.lives.lines, dict(state.lives.control)
        rows = rows.persist()
        try:
            few = rows.where(~F.col("what").isin(*RECEIPTS)).toArrow()
            changed_ms = self._learn(sorted(_rows(few), key=lambda row: (row.node, row.place)))
            touched = self._match(rows, number)
            touched |= {
                minute_of(at) for at in state.publications.values() if at >= changed_ms - STAY_MS
            }
            touched |= {m for m, n in state.lives.control.items() if n != control.get(m)}
            found = self._count(rows, {one for one in touched if one >= state.horizon_ms})
        finally:
            rows.unpersist()
        state.batch = number
        close_minutes(state)
        self._folder.commit(state, found)
        self._folder.tidy(state)
        read = state.lives.lines - lines
        self._told(
            CountedBatch(number, read, time.monotonic() - began, self._folder.summarise(state))
        )

    def _learn(self, rows: Sequence[FactRow]) -> int:
        """Take lives, subscriptions and publications. Return the time from which on something
        became known."""
        state = self.state
        for row in rows:
            if row.what == PUBLISH:
                if row.at_ms < state.horizon_ms:
                    state.late += 1
                else:
                    state.publications[row.name] = row.at_ms
        changed_ms = state.lives.take(rows)
        # A node whose clock is ahead must not close the minutes of all others.
        state.now_ms = min(state.lives.newest_ms, wall_clock_ms())
        return changed_ms

    def _match(self, rows: DataFrame, number: int) -> set[int]:
        """Write what was received to the folders of its minutes, and return these minutes."""
        spark, state, folder = rows.sparkSession, self.state, self._folder.receipts(number)
        received = rows.where(F.col("what").isin(*RECEIPTS))
        waiting = self._folder.receipts(state.batch) / f"{PART}={WAITING}"
        if waiting.is_dir():
            before = spark.read.schema(FACTS).parquet(input_path(str(waiting)))
            received = received.unionByName(before)
        known = spark.createDataFrame(_published(state.publications), MATCHED)
        patient = F.col("at_ms") >= state.now_ms - PATIENCE_MS
        minute = F.coalesce("minute_ms", F.when(patient, WAITING).otherwise(UNKNOWN))
        (
            received.join(F.broadcast(known.select("name", "minute_ms")), "name", "left")
            .withColumn("minute_ms", minute)
            .withColumn(PART, F.col("minute_ms"))
            .write.mode("overwrite")
            .partitionBy(PART)
            .parquet(f"file:{folder}")
        )
        state.unknown += count_rows(folder, f"{PART}={UNKNOWN}")
        found = {int(one.name.partition("=")[2]) for one in folder.glob(f"{PART}=*")}
        found -= {WAITING, UNKNOWN}
        for one in found:
            state.receipts.setdefault(one, []).append(number)
        return found

    def _count(self, rows: DataFrame, wanted: Collection[int]) -> list[dict[str, Any]]:
        """Return the rows of minutes."""
        spark, state = rows.sparkSession, self.state
        events = {n: at for n, at in state.publications.items() if minute_of(at) in wanted}
        counted: list[dict[str, Any]] = []
        if events:
            paths = [
                input_path(str(self._folder.receipts(batch) / f"{PART}={minute}"))
                for minute in sorted(wanted)
                for batch in state.receipts.get(minute, ())
            ]
            facts = spark.createDataFrame(_published(events), MATCHED)
            if paths:
                facts = facts.unionByName(spark.read.schema(MATCHED).parquet(*paths))
            intervals = state.lives.intervals(min(events.values()))
            found = facts.groupBy("minute_ms").applyInArrow(_counter(intervals), COUNTED_SPARK)
            counted = found.toArrow().to_pylist()
        for row in counted:
            whole = row["topic"] == ALL
            row["control_bytes"] = state.lives.control.get(row["minute_ms"], 0) if whole else None
        for minute in set(wanted) - {row["minute_ms"] for row in counted}:
            none = dataclasses.asdict(nothing(minute))
            counted.append(none | {"control_bytes": state.lives.control.get(minute, 0)})
        return counted


def close_minutes(state: State) -> None:
    """Close the minutes that are over for long, and forget what only they needed."""
    horizon = minute_of(state.now_ms - RECENT_MS)
    if (many := len(state.publications) - RECENT_EVENTS) > 0:
        latest = sorted(state.publications.values())[many - 1]
        horizon = max(horizon, minute_of(latest) + MINUTE_MS)
    before = state.horizon_ms = max(state.horizon_ms, horizon)
    state.publications = {n: at for n, at in state.publications.items() if at >= before}
    state.receipts = {m: some for m, some in state.receipts.items() if m >= before}
    state.lives.forget(before - STAY_MS)


def nothing(minute_ms: int) -> Minute:
    """Return the row of a minute without an event."""
    return Minute(minute_ms, ALL, 0, 0, 0, 0, 0, *[math.nan] * 5)


def _counter(intervals: Sequence[Interval]) -> Callable[[pa.Table], pa.Table]:
    """Return a function that counts the events of a minute."""

    def count(facts: pa.Table) -> pa.Table:
        rows = _rows(facts)
        events = {row.name: (row.at_ms, event_of(row.name)) for row in rows if row.what == PUBLISH}
        receipts = (row for row in rows if row.what != PUBLISH)
        found = minutes(records_of(events, receipts, intervals))
        return pa.Table.from_pylist([dataclasses.asdict(one) for one in found], schema=COUNTED)

    return count


def _rows(table: pa.Table) -> list[FactRow]:
    columns = (table.column(name).to_pylist() for name in FactRow._fields)
    return [FactRow(*cells) for cells in zip(*columns, strict=True)]


def _published(events: dict[str, int]) -> pa.Table:
    rows = [(0, 0, at, PUBLISH, name, 1, minute_of(at)) for name, at in events.items()]
    columns = zip(*rows, strict=True) if rows else [[]] * len(MATCHED)
    schema = to_arrow_schema(MATCHED)
    return pa.table(
        [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema
    )
