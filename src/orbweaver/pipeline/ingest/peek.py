"""Finds the files of an ingest and reads the first lines of each."""

from __future__ import annotations

import bz2
import gzip
import io
import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

from orbweaver.core.errors import UsageError
from orbweaver.workload.dialect import HEAD_LINES

HEAD_BYTES = 1 << 20

REGEXES = {
    "tab": r" *\t *",
    "comma": r"\s*,\s*",
    "semicolon": r"\s*;\s*",
    "space": r"\s+",
    "colon": r"\s*:\s*",
}
"""What separates the cells of a line, for each of `workload.dialect.SEPARATORS`. An empty cell
between two tabs stays a cell."""
ANY_SEPARATOR = r"\s*[,;\s]\s*"
"""A separator for cells that have no white space, comma or semicolon in them."""

_UNREADABLE = {".zip", ".xz", ".7z", ".zst", ".tar", ".tgz", ".rar", ".parquet"}


def expand(names: Sequence[str]) -> list[str]:
    """Return the files that are meant. A folder stands for the files in it; an address
    (`hdfs://...`) is left to Spark."""
    found: list[str] = []
    for name in names:
        path = Path(name)
        if "://" in name:
            found.append(name)
        elif path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.is_file() and p.name[0] not in "._")
            if not inside:
                raise UsageError(f"{name} is a folder without files in it")
            found.extend(str(p) for p in inside)
        else:
            found.append(name)
    for name in found:
        if "://" not in name:
            _check(Path(name))
    return found


def _check(path: Path) -> None:
    if not path.exists():
        raise UsageError(f"{path}: no such file")
    if not os.access(path, os.R_OK):
        raise UsageError(f"{path} cannot be read: permission denied")
    if path.suffix in _UNREADABLE:
        raise UsageError(f"{path}: unpack it to text first (.gz and .bz2 are read as they are)")
    if path.name[0] in "._":
        raise UsageError(
            f"{path}: Spark ignores names that begin with '{path.name[0]}': rename the file"
        )


def head(path: Path) -> list[str]:
    """Return the first lines, stripped, without blank ones."""
    try:
        with _open(path) as file:
            start = file.read(HEAD_BYTES)
    except (gzip.BadGzipFile, EOFError, OSError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    text = start.decode("utf-8-sig", errors="replace")
    # The last line may be cut where the reading stopped.
    lines = text.splitlines()[: -1 if len(start) == HEAD_BYTES else None]
    return list(islice((line.strip() for line in lines if line.strip()), HEAD_LINES))


def _open(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        return cast(BinaryIO, gzip.open(path))
    if path.suffix == ".bz2":
        return cast(BinaryIO, bz2.open(path))
    return cast(BinaryIO, io.BufferedReader(io.FileIO(path)))


def data_lines(lines: Sequence[str], comments: str) -> list[str]:
    return [line for line in lines if not comments or line[0] not in comments]
