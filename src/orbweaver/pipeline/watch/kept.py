"""The folder of a watch: a Delta table of minutes, and what it takes to go on after a stop.

    minutes/      the Delta table, one row for each minute and topic
    watch.json    the last hour, small; `orbweaver status --watch` and the page have it
    index.html    the page
    checkpoint/   how far Spark has read
    state/        how far the counting is: N.json after batch N, and receipts of the last hour

A batch counts once. Its state is written first, under its number, and its rows are committed to the
table together with the number. Only the commit makes the state valid: after a stop the number in
the table says which state to go on from, and whether the batch that Spark repeats is in it.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from pyspark.sql.pandas.types import from_arrow_schema

from orbweaver.core.errors import UsageError
from orbweaver.metrics.averages import plain
from orbweaver.metrics.minutes import ALL, Minute
from orbweaver.records.files import check_folder, whole_file
from orbweaver.records.following import Lives
from orbweaver.report.watched import PAGE, SUMMARY, WatchSummary, over_topics, write_watched

TABLE, CHECKPOINT, STATE = "minutes", "checkpoint", "state"
APP = "orbweaver watch"
"""The name under which the table keeps the number of the last batch."""
SILENT_MS = 10_000
"""A node without a line for so long, while others write, is silent: nodes write one a second."""
TIDY_BATCHES = 500
"""Batches from one tidying of the table to the next."""

_TYPES = {"int": pa.int64(), "float": pa.float64(), "str": pa.string()}
COUNTED = pa.schema(
    [
        pa.field(field.name, _TYPES[str(field.type)], field.type == "float")
        for field in dataclasses.fields(Minute)
    ]
)
"""The columns of `Minute`."""
MINUTES = COUNTED.append(pa.field("control_bytes", pa.int64()))
"""The table. `control_bytes` are those of messages that carry no event; they belong to no topic, so
only rows of all topics have them."""
COUNTED_SPARK = from_arrow_schema(COUNTED)


class State(msgspec.Struct):
    """What is known after a batch, besides the table."""

    records: str
    """The folder that is watched."""
    batch: int = -1
    lives: Lives = msgspec.field(default_factory=Lives)
    publications: dict[str, int] = {}
    """The events of the last hour, and when they were published."""
    receipts: dict[int, list[int]] = {}
    """The batches in which events of a minute were received, for each minute of the last hour."""
    now_ms: int = 0
    """The time of the latest fact, or that of this machine if it is earlier."""
    horizon_ms: int = 0
    """Events before this moment are not counted any more."""
    late: int = 0
    """Publications read when their minute was closed already."""
    unknown: int = 0
    """Deliveries and copies of events whose publication was not found."""


class WatchFolder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.table = self.folder / TABLE
        self.page = self.folder / PAGE
        self.checkpoint = self.folder / CHECKPOINT
        self.state = self.folder / STATE

    def check(self, records: Path) -> None:
        """Raise `UsageError` if a watch of `records` cannot begin, or go on, in this folder."""
        if "%" in str(self.folder):
            raise UsageError(f"{self.folder}: Delta misreads a % in a name; choose another one")
        check_folder(self.folder, (TABLE, SUMMARY, PAGE, CHECKPOINT, STATE))
        state = self.load(records)
        if state.records != str(records.resolve()):
            raise UsageError(
                f"{self.folder} belongs to a watch of {state.records}; name a new folder with --out"
            )
        if state.batch >= 0 and not (self.checkpoint / "offsets").is_dir():
            raise UsageError(
                f"{self.folder} has counts, but no checkpoint to go on from; name a new folder "
                "with --out"
            )

    def has_open_batch(self) -> bool:
        """Return whether Spark planned a batch that it does not know to be done."""
        planned, done = (
            max((int(p.name) for p in (self.checkpoint / name).glob("[0-9]*")), default=-1)
            for name in ("offsets", "commits")
        )
        return planned > done

    def load(self, records: Path) -> State:
        """Return the state after the last batch that was committed, or that of a new watch."""
        last = self._last_batch()
        if last is None:
            return State(str(records.resolve()))
        path = self.state / f"{last}.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=State)
        except (OSError, msgspec.DecodeError) as error:
            raise UsageError(
                f"{path} cannot be read ({error}); name a new folder with --out, and everything "
                "is counted anew"
            ) from None

    def create(self) -> None:
        for folder in (self.folder, self.state):
            folder.mkdir(exist_ok=True)
        DeltaTable.create(
            str(self.table), MINUTES, "ignore",
            configuration={"delta.logRetentionDuration": "interval 1 hours"},
        )  # fmt: skip

    def receipts(self, batch: int) -> Path:
        """Return the folder of what a batch received, which has a folder for each minute."""
        return self.state / f"{batch}"

    def commit(self, state: State, rows: Sequence[Mapping[str, Any]]) -> None:
        """Make a batch count: replace the rows of its minutes."""
        with whole_file(self.state / f"{state.batch}.json") as path:
            path.write_bytes(msgspec.json.encode(state))
        told = CommitProperties(app_transactions=[Transaction(APP, state.batch)])
        table = pa.Table.from_pylist([plain(row) for row in rows], schema=MINUTES)
        touched = sorted({row["minute_ms"] for row in rows})
        if touched:
            write_deltalake(
                str(self.table), table, mode="overwrite", commit_properties=told,
                predicate=f"minute_ms IN ({', '.join(map(str, touched))})",
            )  # fmt: skip
        else:
            write_deltalake(str(self.table), table, mode="append", commit_properties=told)

    def tidy(self, state: State) -> None:
        """Delete what the state does not need any more."""
        needed = {str(batch) for batches in state.receipts.values() for batch in batches}
        needed |= {f"{state.batch}.json", str(state.batch)}
        for path in self.state.iterdir():
            if path.name not in needed:
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()
        if state.batch % TIDY_BATCHES == TIDY_BATCHES - 1:
            DeltaTable(str(self.table)).optimize.compact()
            # A new handle: one that something was written through is stale.
            DeltaTable(str(self.table)).vacuum(
                1, dry_run=False, enforce_retention_duration=False, full=True
            )

    def summarise(self, state: State) -> WatchSummary:
        """Write the summary and the page of the last hour, and return the summary."""
        lives = state.lives
        rows = self.rows(state.horizon_ms)
        found = WatchSummary(
            records=state.records,
            batch=state.batch,
            newest_ms=state.now_ms,
            nodes_up=lives.up,
            nodes_silent=lives.silent(state.now_ms - SILENT_MS),
            lines=lives.lines,
            damaged=lives.damaged,
            missing=lives.missing,
            late=state.late,
            unknown=state.unknown,
            minutes=[row for row in rows if row["topic"] == ALL],
            topics=over_topics(row for row in rows if row["topic"] != ALL),
        )
        with whole_file(self.folder / SUMMARY) as path:
            path.write_bytes(msgspec.json.encode(found))
        write_watched(self.page, found)
        return found

    def rows(self, from_ms: int = 0) -> list[dict[str, Any]]:
        """Return the rows of the table from a moment on, in the order of minutes and topics."""
        table = DeltaTable(str(self.table)).to_pyarrow_dataset()
        found: list[dict[str, Any]] = table.to_table(
            filter=ds.field("minute_ms") >= from_ms
        ).to_pylist()
        return sorted(found, key=lambda row: (row["minute_ms"], row["topic"]))

    def _last_batch(self) -> int | None:
        if not DeltaTable.is_deltatable(str(self.table)):
            return None
        return DeltaTable(str(self.table)).transaction_version(APP)
