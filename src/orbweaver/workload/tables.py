"""Reading small tables: CSV (also .gz) with the standard library, Parquet with pyarrow."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from orbweaver.core.errors import LAB, UsageError

Row = tuple[int, tuple[str, ...]]
"""The line in the file, and the cells asked for."""


def read_table(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    """The named columns of every row; a `UsageError` names the file and the line."""
    if path.is_dir():
        files = sorted(path.glob("*.parquet"))
        if not files:
            raise UsageError(f"{path} is a folder without any .parquet file")
        for file in files:
            yield from _read_parquet(file, columns)
    elif not path.exists():
        raise UsageError(f"{path}: no such file")
    elif path.suffix == ".parquet":
        yield from _read_parquet(path, columns)
    else:
        yield from _read_csv(path, columns)


def table_in(path: Path, name: str) -> Path:
    """Where the table is: in a folder of several, as the pipeline writes them, or here."""
    return path / name if (path / name).is_dir() else path


def content_hash(path: Path) -> str:
    """Names a table by what is in it; a text by its bytes."""
    files = sorted(path.resolve().glob("*.parquet")) if path.is_dir() else [path.resolve()]
    for file in files:
        if not file.is_file():
            raise UsageError(f"{path}: no such file")
    if path.is_dir() or path.suffix == ".parquet":
        return _rows_hash(tuple((file, file.stat().st_mtime_ns) for file in files))
    return blake2b(path.read_bytes(), digest_size=16).hexdigest()


@lru_cache(maxsize=16)
def _rows_hash(files: tuple[tuple[Path, int], ...]) -> str:
    """By rows, since the bytes of Parquet also say which program wrote them, and in how many
    parts. It is asked for often and takes a while: hence the cache, by the times of the files."""
    hasher = blake2b(digest_size=16)
    for number, (path, _) in enumerate(files):
        file = _open_parquet(path)
        columns = sorted(file.schema_arrow.names)
        if not number:
            hasher.update(repr(columns).encode())
        for row in _rows(file, columns):
            hasher.update(repr(row).encode())
    return hasher.hexdigest()


def columns_of(path: Path) -> list[str]:
    """The header of a table, whatever its format."""
    parquet = sorted(path.glob("*.parquet"))[:1] if path.is_dir() else [path]
    if parquet and parquet[0].suffix == ".parquet":
        return list(_open_parquet(parquet[0]).schema_arrow.names)
    with reading(path), open_text(path) as file:
        return [cell.strip().lower() for cell in next(csv.reader(file), [])]


UTF8 = "utf-8-sig"
"""With or without the mark that spreadsheets put at the start."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turns what can be wrong with a text file into one clear sentence."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text: {error.reason}") from None
    except (csv.Error, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None


def open_text(path: Path) -> io.TextIOBase:
    """A text file, unpacked when its name ends in .gz."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    if path.suffix == ".gz":
        return io.TextIOWrapper(gzip.open(path), encoding=UTF8, newline="")
    return path.open(encoding=UTF8, newline="")


def _read_csv(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    wanted = ",".join(columns)
    with reading(path), open_text(path) as file:
        reader = csv.reader(file)
        header = [cell.strip().lower() for cell in next(reader, [])]
        if not header:
            raise UsageError(f"{path} is empty; it should start with the line '{wanted}'")
        missing = [column for column in columns if column not in header]
        if missing:
            raise UsageError(
                f"{path}, line 1: no column '{missing[0]}'; the header should be '{wanted}'"
            )
        places = [header.index(column) for column in columns]
        for cells in reader:
            if not cells:
                continue
            line = reader.line_num
            if len(cells) != len(header):
                raise UsageError(
                    f"{path}, line {line}: {len(cells)} cells where the header has {len(header)}"
                )
            row = tuple(cells[place].strip() for place in places)
            if not all(row):
                empty = columns[row.index("")]
                raise UsageError(f"{path}, line {line}: '{empty}' is empty")
            yield line, row


def _open_parquet(path: Path) -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError(f"{path}: reading Parquet needs {LAB}") from None
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise UsageError(f"{path} is not a Parquet file: {error}") from None


def _read_parquet(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    file = _open_parquet(path)
    for column in columns:
        if column not in file.schema_arrow.names:
            raise UsageError(f"{path}: no column '{column}'")
    for number, row in enumerate(_rows(file, columns), 1):
        texts = tuple("" if cell is None else str(cell).strip() for cell in row)
        if not all(texts):
            empty = columns[texts.index("")]
            raise UsageError(f"{path}, row {number}: '{empty}' is empty")
        yield number, texts


def _rows(parquet: Any, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    for batch in parquet.iter_batches(columns=list(columns)):
        cells = [batch.column(batch.schema.get_field_index(c)).to_pylist() for c in columns]
        yield from zip(*cells, strict=True)
