"""A look at the head of a file: is there a header, and what stands between the cells?

Plain Python on a few lines: the answers must be known before the plan is made.
"""

from __future__ import annotations

import bz2
import gzip
import io
import os
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

from orbweaver.core.errors import UsageError

HEAD_LINES = 50
HEAD_BYTES = 1 << 20

SEPARATORS = {
    "tab": r"\t",
    "comma": ",",
    "semicolon": ";",
    "space": r"\s+",
    # Last, because times and addresses have colons inside them.
    "colon": ":",
}
ANY_SEPARATOR = r"\s*[,;\s]\s*"
"""For cells that have no white space, comma or semicolon in them."""

# Words that name a column and hardly ever a user or a topic.
_COLUMN = re.compile(
    r"(count|dest|destination|dst|end|event|followe[dre]|follower|from|genre|group|id|item|join|"
    r"leave|machine|name|node|page|peer|relationship|repo|source|src|start|state|target|time|"
    r"timestamp|to|topic|trg|user|weight)([ _-]?(id|name|node|nodeid|time|ts|us|\d))?",
    re.IGNORECASE,
)
MISSING_WORDS = ("", "-", "?", "na", "n/a", "nan", "none", "null", "inf")
"""How sources write a number that was not measured."""

_UNREADABLE = {".zip", ".xz", ".7z", ".zst", ".tar", ".tgz", ".rar", ".parquet"}


def expand(names: Sequence[str]) -> list[str]:
    """The files that are meant: a folder stands for the files in it, an address
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
        raise UsageError(f"{path}: Spark passes over names that begin with '{path.name[0]}'")


def head(path: Path) -> list[str]:
    """The first lines, stripped, without the blank ones."""
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


def find_separator(lines: Sequence[str], cells: int) -> str:
    """The one that splits the most lines into enough cells; the first of several."""

    def score(name: str) -> int:
        split = (re.split(SEPARATORS[name], line) for line in lines)
        return sum(len(parts) >= cells and all(parts[:cells]) for parts in split)

    return max(SEPARATORS, key=score) if lines else "space"


def is_header(lines: Sequence[str], separator: str, cells: int, numeric: Sequence[int]) -> bool:
    """Is the first of these data lines a header? It is if its cells are words that name
    columns, or if it has a word where the other lines have numbers."""
    if not lines:
        return False
    first, *rest = ([c.strip('" ') for c in re.split(separator, line)] for line in lines)
    if len(first) < cells:
        return False
    wanted = first[:cells]
    if all(_COLUMN.fullmatch(cell) for cell in wanted):
        return True
    if numeric:
        return all(_is_word(first[i]) for i in numeric)
    return (
        bool(rest)
        and all(_is_word(cell) for cell in wanted)
        and all(cell.isdigit() for row in rest for cell in row[:cells])
    )


def _is_word(cell: str) -> bool:
    return (
        re.fullmatch(r"[A-Za-z][A-Za-z _.-]*", cell) is not None
        and cell.lower() not in MISSING_WORDS
    )
