"""The store of a sweep is one Delta table, in a folder or at an address such as s3://bucket/runs.

Its partition `result` has a row for each run that succeeded. Its partition `look` has every node at
every snapshot of these runs, so that new questions can be asked of old runs. A commit adds runs
together with their snapshots, so no reader sees one without the other. Tasks write the files of
snapshots, and only the driver commits. Beside the table, `_failures.jsonl` has the failed runs of
the last sweep, with their tracebacks, and `_damaged` what was taken out of the table.
"""

from __future__ import annotations

import dataclasses
import shlex
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.fs import DeltaStorageHandler
from deltalake.transaction import AddAction, RemoveAction
from pyarrow import fs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from orbweaver.core.errors import UsageError
from orbweaver.metrics.snapshot import Snapshot
from orbweaver.records.files import check_folder
from orbweaver.study.results import Results, Stored
from orbweaver.study.run import Job, Run

FAILURES, DAMAGED = "_failures.jsonl", "_damaged"
"""Names with an underscore, which Delta leaves alone."""
LOG, LOOKS, RESULTS = "_delta_log", "kind=look", "kind=result"
BEFORE_DELTA = "results.jsonl"
"""A file in the stores of earlier versions."""

LOOK = StructType(
    [
        StructField("run", StringType(), False),
        StructField("time_ms", LongType(), False),
        StructField("node", LongType(), False),
        StructField("topics", ArrayType(StringType(), False), False),
        StructField("peers", ArrayType(LongType(), False), False),
    ]
)
"""Each row is a node at a snapshot of a run."""

RESULT_FILE = pa.schema(
    [("run", pa.string()), ("code", pa.string()), ("result", pa.string()),
     ("scenario", pa.string()), ("looks", pa.int64())]
)  # fmt: skip
"""A run: its result and scenario as JSON, and how many rows of snapshots it has."""
LOOK_FILE = pa.schema(
    [("run", pa.string()), ("code", pa.string()), ("time_ms", pa.int64()), ("node", pa.int64()),
     ("topics", pa.list_(pa.string())), ("peers", pa.list_(pa.int64()))]
)  # fmt: skip
TABLE = pa.unify_schemas([pa.schema([("kind", pa.string())]), RESULT_FILE, LOOK_FILE])

READ_BYTES = 64 << 20
"""Bytes of files that one task reads, where there are many."""

Key = tuple[str, str]
"""Run and code."""


class Failure(msgspec.Struct, frozen=True):
    name: str
    seed: int
    error: str
    """The traceback of the failure."""
    replay: str
    """The command that repeats the run."""


def failure(job: Job, error: str) -> Failure:
    scenario, seed = job
    text = msgspec.json.encode(scenario).decode()
    replay = shlex.join(["orbweaver", "replay", text, "--seed", str(seed)])
    return Failure(scenario.name, seed, error, replay)


class Made(msgspec.Struct, frozen=True):
    """A run that a task has made, and the file with its snapshots, which is not yet committed."""

    stored: Stored
    scenario: str
    file: str
    """Empty for a run without snapshots."""
    bytes: int
    looks: int

    @property
    def key(self) -> Key:
        return self.stored.result.run_id, self.stored.code


@dataclasses.dataclass(frozen=True)
class RunStore:
    place: str
    """The absolute path of a folder, or an address."""
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """How Delta reaches an address: keys, an endpoint."""

    @property
    def folder(self) -> Path | None:
        return None if "://" in self.place else Path(self.place)

    @property
    def files(self) -> fs.FileSystem:
        """The file system of the store; paths in it are relative to the store."""
        if self.folder is not None:
            return fs.SubTreeFileSystem(self.place, fs.LocalFileSystem())
        return fs.PyFileSystem(DeltaStorageHandler(self.place, dict(self.options)))

    def check(self) -> None:
        """Raise `UsageError` if runs cannot be added; a store is a folder of its own."""
        if self.folder is None:
            return
        if (self.folder / BEFORE_DELTA).is_file():
            raise UsageError(
                f"{self.folder} is a store of an earlier version: 'orbweaver store convert "
                f"{self.folder} NEW' makes a new one of it"
            )
        if "%" in self.place:
            raise UsageError(f"{self.place}: Delta misreads a % in a name; choose another one")
        check_folder(self.folder, (LOG, LOOKS, RESULTS, FAILURES, DAMAGED))

    def exists(self) -> bool:
        try:
            return DeltaTable.is_deltatable(self.place, dict(self.options))
        except (DeltaError, OSError) as error:
            raise _unreachable(self.place, error) from None

    def open(self) -> DeltaTable:
        """Return the table as it is now. A table that something was written through is stale:
        what is done next begins with a new one."""
        try:
            return DeltaTable(self.place, storage_options=dict(self.options))
        except TableNotFoundError:
            raise UsageError(
                f"{self.place} is not a store of runs; 'orbweaver sweep' makes one"
            ) from None
        except (DeltaError, OSError) as error:
            raise _unreachable(self.place, error) from None

    def create(self) -> None:
        if not self.exists():
            DeltaTable.create(
                self.place, TABLE, "ignore", ["kind"], storage_options=dict(self.options)
            )

    # -- runs

    def results(self, runs: Collection[str] | None = None) -> Results:
        """Return all results, or those of some runs."""
        rows = self.rows(self.open(), RESULTS, ["code", "result"], runs)
        decode = msgspec.json.Decoder(Stored).decode
        return Results(
            decode(b'{"code":"%s","result":%s}' % (row["code"].encode(), row["result"].encode()))
            for row in rows.to_pylist()
        )

    def write_looks(self, one: Stored, run: Run) -> Made:
        """Write the snapshots of a run into a file of its own, which `add` commits."""
        rows = look_rows(one.result.run_id, run.looks)
        scenario = msgspec.json.encode(run.scenario).decode()
        return self.write_look_rows(
            one, scenario, pa.Table.from_pylist(rows, to_arrow_schema(LOOK))
        )

    def write_look_rows(self, one: Stored, scenario: str, rows: pa.Table) -> Made:
        """The same, of the rows of `LOOK`."""
        if not len(rows):
            return Made(one, scenario, "", 0, 0)
        table = rows.add_column(1, "code", pa.repeat(one.code, len(rows)))
        # Two sweeps may write the same run.
        file = f"{LOOKS}/{one.result.run_id}-{token_hex(4)}.parquet"
        return Made(one, scenario, file, self._write(file, table.cast(LOOK_FILE)), len(rows))

    def add(self, made: Sequence[Made]) -> None:
        """Commit runs. A run that another sweep has committed meanwhile is left out."""
        while made:
            table = self.open()
            keys = self.rows(table, RESULTS, ["run", "code"], [one.key[0] for one in made])
            there = {(row["run"], row["code"]) for row in keys.to_pylist()}
            new = [one for one in made if one.key not in there]
            if not new:
                return
            if lacking := self._lacking(new):
                raise UsageError(
                    f"{lacking} is at the machine that made it: {self.place} has to be an address, "
                    "or a folder that all machines share with this one"
                )
            rows = [
                {
                    "run": one.key[0],
                    "code": one.key[1],
                    "result": msgspec.json.encode(one.stored.result).decode(),
                    "scenario": one.scenario,
                    "looks": one.looks,
                }
                for one in new
            ]
            file = f"{RESULTS}/{token_hex(8)}.parquet"
            size = self._write(file, pa.Table.from_pylist(rows, RESULT_FILE))
            actions: list[AddAction | RemoveAction] = [
                _adding(one.file, one.bytes, one.looks) for one in new if one.file
            ]
            actions.append(_adding(file, size, len(new)))
            # Without a retry: after a conflict the runs are looked at again.
            told = CommitProperties({"runs": str(len(new))}, max_commit_retries=0)
            try:
                table.create_write_transaction(
                    actions, "append", table.schema(), ["kind"], commit_properties=told
                )
                return
            except CommitFailedError:
                self.files.delete_file(file)

    def write_failures(self, failures: Iterable[Failure]) -> None:
        self.put(FAILURES, b"".join(msgspec.json.encode(one) + b"\n" for one in failures))

    def read_looks(self, spark: SparkSession, stored: Sequence[Stored]) -> DataFrame:
        """Return the snapshots of runs."""
        files = sorted(self.listed(self.open(), LOOKS).items(), key=lambda item: -item[1])
        count = max(1, sum(size for _, size in files) // READ_BYTES, min(len(files), 16))
        parts = [[name for name, _ in files[part::count]] for part in range(count)]
        wanted = pa.array([one.result.run_id + one.code for one in stored])
        schema = to_arrow_schema(LOOK)

        def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for part in batch.column("id").to_pylist():
                    for name in parts[part]:
                        yield from self._read_file(name, wanted, schema)

        return spark.range(0, count, 1, count).mapInArrow(read, LOOK)

    # -- files

    def put(self, name: str, data: bytes) -> None:
        # Delta's streams take bytes only, which they get from a buffer that holds all of them.
        with self.files.open_output_stream(name, buffer_size=len(data) + 1) as file:
            file.write(data)

    def listed(self, table: DeltaTable, under: str = "") -> dict[str, int]:
        """Return the files of the table and their sizes in bytes."""
        found = pa.table(table.get_add_actions()).select(["path", "size_bytes"]).to_pylist()
        return {row["path"]: row["size_bytes"] for row in found if row["path"].startswith(under)}

    def rows(
        self,
        table: DeltaTable,
        under: str,
        columns: list[str],
        runs: Collection[str] | None = None,
    ) -> pa.Table:
        """Return columns of one partition, for all runs or for some."""
        names = list(self.listed(table, under))
        schema = LOOK_FILE if under == LOOKS else RESULT_FILE
        rows = ds.dataset(names, schema, format="parquet", filesystem=self.files)
        only = None if runs is None else pc.field("run").isin(pa.array(list(runs), pa.string()))
        try:
            return rows.to_table(columns=columns, filter=only)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).partition("\n")[0]
            raise UsageError(
                f"{self.place} cannot be read: {reason}; 'orbweaver store check --repair' mends it"
            ) from None

    # -- inside

    def _write(self, name: str, rows: pa.Table) -> int:
        """Write a file of the table and return its size in bytes."""
        sink = pa.BufferOutputStream()
        pq.write_table(rows, sink)
        data = sink.getvalue().to_pybytes()
        if self.folder is not None:
            self.files.create_dir(name.rpartition("/")[0])
        self.put(name, data)
        return len(data)

    def _lacking(self, made: Sequence[Made]) -> str:
        """Return a file that this machine cannot see, if there is any."""
        names = [one.file for one in made if one.file]
        found = self.files.get_file_info(names)
        return next((one.path for one in found if one.type != fs.FileType.File), "")

    def _read_file(
        self, name: str, wanted: pa.Array, schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        try:
            with self.files.open_input_file(name) as file:
                for batch in pq.ParquetFile(file).iter_batches(columns=LOOK_FILE.names):
                    key = pc.binary_join_element_wise(batch["run"], batch["code"], "")
                    good = batch.filter(pc.is_in(key, wanted))
                    yield good.select(schema.names).cast(schema)
        except (pa.ArrowException, OSError) as error:
            raise UsageError(
                f"{name} cannot be read: {error}; 'orbweaver store check --repair' mends the store"
            ) from None


def locate_store(place: str, options: Sequence[str] = ()) -> RunStore:
    """Return the store at a path or an address. Options look like NAME=VALUE."""
    given = {}
    for text in options:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--storage-option '{text}' should look like NAME=VALUE")
        given[name] = value
    if "://" not in place:
        place = str(Path(place).resolve())
        if given:
            raise UsageError(f"--storage-option is for an address; {place} is a folder")
    return RunStore(place, given)


def look_rows(run: str, looks: Iterable[Snapshot]) -> list[dict[str, Any]]:
    return [
        {
            "run": run,
            "time_ms": look.time_ms,
            "node": node,
            "topics": sorted(topics),
            "peers": look.links[node],
        }
        for look in looks
        for node, topics in look.interests.items()
    ]


def kind_of(name: str) -> str:
    return name.partition("/")[0].partition("=")[2]


def _adding(file: str, size: int, rows: int) -> AddAction:
    stats = msgspec.json.encode({"numRecords": rows}).decode()
    return AddAction(file, size, {"kind": kind_of(file)}, round(time.time() * 1000), True, stats)


def _unreachable(place: str, error: Exception) -> UsageError:
    reason = " ".join(str(error).split())[:300]
    return UsageError(f"{place} cannot be read: {reason}")
