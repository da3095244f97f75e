"""Read small tables: text (also .gz) with the standard library, Parquet with pyarrow.

Text is CSV as people have it: commas, semicolons, tabs or spaces between the cells, with or
without a header, with further columns or without (see `workload.dialect`).
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

from orbweaver.core.errors import LAB, UsageError
from orbweaver.workload.dialect import (
    HEAD_LINES,
    NAMED,
    SEPARATORS,
    Layout,
    Reading,
    find_places,
    find_separator,
    lay_out,
    parse_columns,
    split_line,
)

Row = tuple[int, tuple[str, ...]]
"""(number of the line in the file, the wanted cells)"""

AS_FOUND = Reading()
"""The reading that leaves everything to be found out."""


def read_table(path: Path, columns: Sequence[str], read: Reading = AS_FOUND) -> Iterator[Row]:
    """Yield the named columns of every row. A `UsageError` names the file, the line and the
    fix."""
    if path.is_dir():
        files = sorted(path.glob("*.parquet"))
        if not files:
            raise UsageError(f"{path} is a folder without any .parquet file")
        for file in files:
            yield from _read_parquet(file, columns, read)
    elif not path.exists():
        raise UsageError(f"{path}: no such file")
    elif path.suffix == ".parquet":
        yield from _read_parquet(path, columns, read)
    else:
        yield from _read_csv(path, columns, read)


def table_in(path: Path, name: str) -> Path:
    """Return the path of a table: inside `path` if that is a folder of several tables, as the
    pipeline writes them, else `path` itself."""
    return path / name if (path / name).is_dir() else path


def content_hash(path: Path) -> str:
    """Return a hash of a table's rows, or of the bytes of a text."""
    files = sorted(path.resolve().glob("*.parquet")) if path.is_dir() else [path.resolve()]
    for file in files:
        if not file.is_file():
            raise UsageError(f"{path}: no such file")
    if path.is_dir() or path.suffix == ".parquet":
        return _rows_hash(tuple((file, file.stat().st_mtime_ns) for file in files))
    return blake2b(path.read_bytes(), digest_size=16).hexdigest()


@lru_cache(maxsize=16)
def _rows_hash(files: tuple[tuple[Path, int], ...]) -> str:
    """Hash Parquet files by their rows, since their bytes also depend on the program that wrote
    them and on the number of files.

    The hash is needed often and takes a while; the cache is keyed by the times of the files.
    """
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
    """Return the names of a table's columns, whatever its format."""
    parquet = sorted(path.glob("*.parquet"))[:1] if path.is_dir() else [path]
    if parquet and parquet[0].suffix == ".parquet":
        return list(_open_parquet(parquet[0]).schema_arrow.names)
    head = first_lines(path)
    return [cell.lower() for cell in split_line(head[0], find_separator(head, 2))] if head else []


UTF8 = "utf-8-sig"
"""UTF-8 with or without the byte order mark that spreadsheets put at the start."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what can be wrong with a text file into a `UsageError`."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text: {error.reason}") from None
    except (csv.Error, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None


def open_text(path: Path) -> io.TextIOBase:
    """Open a text file; if its name ends in .gz, unpack it."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    if path.suffix == ".gz":
        return io.TextIOWrapper(gzip.open(path), encoding=UTF8, newline="")
    return path.open(encoding=UTF8, newline="")


def first_lines(path: Path) -> list[str]:
    """Return the lines that decide how a text is read."""
    with reading(path), open_text(path) as file:
        return list(islice((line.strip("\r\n") for line in file if line.strip()), HEAD_LINES))


def layout_of(path: Path, columns: Sequence[str], read: Reading = AS_FOUND) -> Layout:
    """Find out how a text is read: its separator, its header and the places of the columns."""
    head = first_lines(path)
    if not head:
        raise UsageError(f"{path} is empty; it should start with the line '{','.join(columns)}'")
    return lay_out(head, columns, read, path)


def told_layout(path: Path, columns: Sequence[str], read: Reading = AS_FOUND) -> str:
    """Describe what was decided about a text, or return nothing if its header and its commas leave
    no choice."""
    if path.is_dir() or path.suffix == ".parquet":
        return ""
    layout = layout_of(path, columns, read)
    named = layout.header.there and [layout.first[p].lower() for p in layout.places]
    if layout.separator == "comma" and named == list(columns):
        return ""
    return f"{path}: {layout.told(columns)}"


def _read_csv(path: Path, columns: Sequence[str], read: Reading) -> Iterator[Row]:
    layout = layout_of(path, columns, read)
    width = len(layout.first)
    header = layout.header.there
    with reading(path), open_text(path) as file:
        for line, cells in _cells(path, file, layout.separator):
            if header:
                header = False
                continue
            if len(cells) != width:
                than = "the header" if layout.header.there else "the first line"
                raise UsageError(
                    f"{path}, line {line}: {len(cells)} cells where {than} has {width}, with "
                    f"{layout.separator} between the cells"
                )
            row = tuple(cells[place].strip() for place in layout.places)
            if not all(row):
                empty = columns[row.index("")]
                raise UsageError(f"{path}, line {line}: '{empty}' is empty")
            yield line, row


def _cells(path: Path, file: Iterable[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line that is not blank.

    A cell ends with its line, so that an open quote is reported in its own line rather than at
    the end of the file.
    """
    if separator == "space":
        yield from ((n, line.split()) for n, line in enumerate(file, 1) if line.strip())
        return
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        if line.count('"') % 2:
            raise UsageError(f"{path}, line {number}: a quote that is not closed: {line.strip()!r}")
        delimiter = SEPARATORS[separator]
        yield number, next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))


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


def _read_parquet(path: Path, columns: Sequence[str], read: Reading) -> Iterator[Row]:
    file = _open_parquet(path)
    names = file.schema_arrow.names
    asked = parse_columns(read.columns, len(columns), path)
    places = find_places(columns, asked, names, NAMED, path)
    for number, row in enumerate(_rows(file, [names[place] for place in places]), 1):
        texts = tuple("" if cell is None else str(cell).strip() for cell in row)
        if not all(texts):
            empty = columns[texts.index("")]
            raise UsageError(f"{path}, row {number}: '{empty}' is empty")
        yield number, texts


def _rows(parquet: Any, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    for batch in parquet.iter_batches(columns=list(columns)):
        cells = [batch.column(batch.schema.get_field_index(c)).to_pylist() for c in columns]
        yield from zip(*cells, strict=True)
