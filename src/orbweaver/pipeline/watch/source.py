"""The files of nodes as a source of a stream: each batch has the lines that are new.

Spark's own file source takes a file once, when it appears. Here the offset is how many bytes of
each file have been read, up to the end of a line. Files that grow, new files and files in new
folders are all found; half a line waits for its other half.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, MutableMapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from orbweaver.core.errors import UsageError
from orbweaver.records.following import FactRow, node_of, read_piece
from orbweaver.records.node_files import PATTERN

FACTS = StructType(
    [
        StructField("node", LongType(), False),
        StructField("place", LongType(), False),
        StructField("at_ms", LongType(), False),
        StructField("what", StringType(), False),
        StructField("name", StringType(), False),
        StructField("number", LongType(), False),
    ]
)
"""The columns of `FactRow`."""

FOLDER = "folder"
"""Name of the option that says where the files are."""
PIECE_BYTES = 8 << 20
"""Most bytes of one file that a task reads in one go, and about how many it reads in all."""
BLOCK_BYTES = 1 << 16
"""Bytes that are read at once in search of the end of a line."""
BATCH_ROWS = 20_000
"""Rows that go to Spark at once."""


@dataclasses.dataclass(frozen=True)
class FilePiece:
    file: str
    """Path within the folder."""
    start: int
    end: int


class Pieces(InputPartition):
    """What one task reads."""

    def __init__(self, pieces: Sequence[FilePiece]) -> None:
        self.pieces = tuple(pieces)


class LiveRecords(DataSource):
    @classmethod
    def name(cls) -> str:
        return "orbweaver-records"

    def schema(self) -> StructType:
        return FACTS

    def streamReader(self, schema: StructType) -> LiveRecordsReader:
        return LiveRecordsReader(self.options)


class LiveRecordsReader(DataSourceStreamReader):
    def __init__(self, options: MutableMapping[str, str]) -> None:
        self._folder = Path(options[FOLDER])

    def initialOffset(self) -> dict[str, int]:
        return {}

    # With the defaults, Spark before 4.2 can call it too.
    def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, int]:
        return whole_lines(self._folder, start or {})

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [Pieces(some) for some in shared_out(pieces(self._folder, start, end))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Pieces)
        rows: list[FactRow] = []
        for piece in partition.pieces:
            for row in read_file(self._folder, piece):
                rows.append(row)
                if len(rows) == BATCH_ROWS:
                    yield _batch(rows)
                    rows = []
        if rows:
            yield _batch(rows)


def whole_lines(folder: Path, start: dict[str, int]) -> dict[str, int]:
    """Return, for each file of a node, how many bytes there are in whole lines. `start` is an
    earlier answer, below which nothing is looked at."""
    found = dict(start)
    for path in sorted(folder.rglob(PATTERN)):
        name = str(path.relative_to(folder))
        before = start.get(name, 0)
        if (end := _line_end(path, before)) > before:
            node_of(name)
            found[name] = end
    return found


def pieces(folder: Path, start: dict[str, int], end: dict[str, int]) -> list[FilePiece]:
    """Return what is between two offsets, in pieces of whole lines."""
    found = []
    for name, last in end.items():
        first = start.get(name, 0)
        while first < last:
            middle = last
            if last - first > PIECE_BYTES:
                with (folder / name).open("rb") as file:
                    file.seek(first + PIECE_BYTES)
                    file.readline()
                    middle = min(last, file.tell())
            found.append(FilePiece(name, first, middle))
            first = middle
    return found


def shared_out(found: Sequence[FilePiece]) -> Iterator[list[FilePiece]]:
    """Yield lists of pieces, each of about `PIECE_BYTES`."""
    some: list[FilePiece] = []
    size = 0
    for piece in found:
        some.append(piece)
        size += piece.end - piece.start
        if size >= PIECE_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


def read_file(folder: Path, piece: FilePiece) -> Iterator[FactRow]:
    path = folder / piece.file
    with path.open("rb") as file:
        file.seek(piece.start)
        lines = _lines(file, piece, path)
        yield from read_piece(node_of(piece.file), piece.start, lines)


def _lines(file: Any, piece: FilePiece, path: Path) -> Iterator[bytes]:
    here = piece.start
    while here < piece.end:
        line = file.readline()
        here += len(line)
        if not line or here > piece.end:
            raise UsageError(
                f"{path} is not what it was: nodes append to their files, and nothing else may "
                "change them while they are watched"
            )
        yield line


def _line_end(path: Path, start: int) -> int:
    """Return where the last whole line ends, or `start` if there is none behind it."""
    try:
        with path.open("rb") as file:
            end = file.seek(0, 2)
            while end > start:
                first = max(start, end - BLOCK_BYTES)
                file.seek(first)
                if (at := file.read(end - first).rfind(b"\n")) >= 0:
                    return first + at + 1
                end = first
    except FileNotFoundError:
        return start
    return start


def _batch(rows: Sequence[FactRow]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array(column, field.type)
            for column, field in zip(zip(*rows, strict=True), to_arrow_schema(FACTS), strict=True)
        ],
        schema=to_arrow_schema(FACTS),
    )
