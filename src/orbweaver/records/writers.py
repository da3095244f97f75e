"""Write records to files and read them: one file for each table, as Parquet, CSV or JSON lines."""

from __future__ import annotations

import csv
import json
from array import array
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

from orbweaver.core.errors import LAB, UsageError
from orbweaver.records.files import check_folder, whole_folder
from orbweaver.records.recorder import Records, RecordTable
from orbweaver.records.schema import TABLES

Format = Literal["parquet", "csv", "jsonl"]


def default_format() -> Format:
    """Return `parquet` if the lab install is there, else `csv`."""
    return "parquet" if find_spec("pyarrow") else "csv"


ABOUT = "about.jsonl"
"""Name of the file that describes the run."""


def write_records(
    records: Records, folder: Path, format: Format, about: Mapping[str, Any] | None = None
) -> None:
    """Write all tables into a folder. `about` describes the run, in plain values."""
    writer = {"parquet": _write_parquet, "csv": _write_csv, "jsonl": _write_jsonl}[format]
    if format == "parquet" and not find_spec("pyarrow"):
        raise UsageError(f"writing Parquet needs {LAB}")
    with whole_folder(folder, tables_to_replace(folder)) as target:
        for name, table in records.tables.items():
            writer(table, target / f"{name}.{format}")
        if about is not None:
            (target / ABOUT).write_text(json.dumps(about) + "\n", encoding="utf-8")


def has_records(folder: Path) -> bool:
    """Return whether `write_records` wrote this folder."""
    needed = (name for name, spec in TABLES.items() if not spec.optional)
    return all(any(folder.glob(f"{name}.*")) for name in needed)


def check_records_out(folder: Path) -> None:
    """Raise a `UsageError` if records cannot be written into a folder. They may replace the
    records of an earlier run, and nothing else."""
    check_folder(folder, tables_to_replace(folder))


def tables_to_replace(folder: Path) -> set[str]:
    """Return the names of what may be replaced: all tables of an earlier run. A single table may be
    a file of the user's own, and is kept."""
    if not has_records(folder):
        return set()
    ours = {f"{name}.{suffix}" for name in TABLES for suffix in get_args(Format)} | {ABOUT}
    # A table that Spark wrote is a folder with this file in it.
    found = (path for path in folder.glob("*") if path.is_file() or (path / "_SUCCESS").is_file())
    return {path.name for path in found} & ours


def read_about(folder: Path) -> dict[str, Any]:
    path = folder / ABOUT
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise UsageError(f"{path} is damaged: {error}") from None
    return found


def read_records(folder: Path) -> Records:
    """Read what `write_records` wrote, in any of its formats."""
    records = Records()
    for name, spec in TABLES.items():
        for suffix, reader in (("csv", _read_csv), ("jsonl", _read_jsonl), ("parquet", _read_pq)):
            path = folder / f"{name}.{suffix}"
            if path.exists():
                try:
                    reader(path, records[name])
                except (ValueError, KeyError, TypeError, OverflowError) as error:
                    raise UsageError(f"{path} is no table of records: {error}") from None
                break
        else:
            if spec.optional:
                continue
            raise UsageError(f"{folder} has no table '{name}'; name a folder of records")
    return records


def _write_csv(table: RecordTable, path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.spec.names)
        writer.writerows(table.rows())


def _write_jsonl(table: RecordTable, path: Path) -> None:
    names = table.spec.names
    with path.open("w", encoding="utf-8") as file:
        for row in table.rows():
            file.write(json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n")


def _write_parquet(table: RecordTable, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {"int": pa.int64(), "text": pa.string()}
    schema = pa.schema([(column.name, types[column.type]) for column in table.spec.columns])
    arrays = []
    for column in table.spec.columns:
        cells = table[column.name]
        if isinstance(cells, array):
            # The array's own memory is already what Arrow wants.
            arrays.append(
                pa.Array.from_buffers(pa.int64(), len(cells), [None, pa.py_buffer(cells)])
            )
        else:
            arrays.append(pa.array(cells, pa.string()))
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), path)


def _read_csv(path: Path, table: RecordTable) -> None:
    casts = [int if column.type == "int" else str for column in table.spec.columns]
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        if tuple(next(reader, ())) != tuple(table.spec.names):
            raise ValueError(f"its first line should be {','.join(table.spec.names)}")
        for row in reader:
            table.append(*(cast(cell) for cast, cell in zip(casts, row, strict=True)))


def _read_jsonl(path: Path, table: RecordTable) -> None:
    with path.open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            table.append(*(row[name] for name in table.spec.names))


def _read_pq(path: Path, table: RecordTable) -> None:
    import pyarrow.parquet as pq

    # Spark writes a folder of files, in the order of their names.
    for file in sorted(path.glob("*.parquet")) if path.is_dir() else [path]:
        columns = pq.read_table(file).to_pydict()
        if tuple(columns) != tuple(table.spec.names):
            raise ValueError(f"its columns should be {','.join(table.spec.names)}")
        for name, column in columns.items():
            table[name].extend(column)
