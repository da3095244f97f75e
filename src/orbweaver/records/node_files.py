"""Read the files of live nodes; lines that a killed node left unfinished are skipped."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from orbweaver.core.errors import ProtocolError, UsageError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.records.facts import (
    FILE_PREFIX,
    FILE_SUFFIX,
    AnyFact,
    Copy,
    Delivered,
    Joined,
    Left,
    Published,
    Relayed,
    decode_fact,
    event_of,
)

PATTERN = f"{FILE_PREFIX}*{FILE_SUFFIX}"
"""The names of files of nodes."""


@dataclasses.dataclass
class Survey:
    """What the first reading of all files finds."""

    publications: dict[str, tuple[int, Event]] = dataclasses.field(default_factory=dict)
    files: int = 0
    start_ms: int | None = None
    """When the first node joined; None if there is no such line."""
    end_ms: int = 0
    overlays: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    damaged: int = 0


Line = tuple[int, NodeId, AnyFact | None]
"""(time, node, fact); the fact is None at the end of a life that has no `leave`."""


def has_files(folder: Path) -> bool:
    return next(folder.rglob(PATTERN), None) is not None


def find_files(folder: Path) -> list[Path]:
    """Return the files of nodes in a folder and in the folders below it, such as one for each
    machine, in the order of the nodes."""
    files = sorted(folder.rglob(PATTERN), key=lambda path: (path.name, path))
    if not files:
        raise UsageError(
            f"{folder} has no records of nodes ({PATTERN}); a node writes them "
            "into the folder that its setting 'records' names"
        )
    return files


def survey(files: Sequence[Path]) -> Survey:
    """Read all files once, for what has to be known before their facts are merged."""
    found = Survey(files=len(files))
    published: list[tuple[int, str]] = []
    starts = []

    def damaged() -> None:
        found.damaged += 1

    for path in files:
        at = 0
        for at, _, fact in lines(path, damaged):
            if isinstance(fact, Joined):
                starts.append(at)
                found.overlays[fact.overlay] = fact.params
            elif isinstance(fact, Published):
                published.append((at, fact.event))
        found.end_ms = max(found.end_ms, at)
    found.start_ms = min(starts, default=None)
    found.publications = {name: (at, event_of(name)) for at, name in sorted(published)}
    return found


def lines(path: Path, damaged: Callable[[], None] = lambda: None) -> Iterator[Line]:
    """Yield the facts of one node in order; each life has an end."""
    node: NodeId | None = None
    last = 0
    with path.open("rb") as file:
        for line in file:
            if line.isspace():
                continue
            try:
                fact = read_line(line)
            except (msgspec.DecodeError, ProtocolError):
                damaged()
                continue
            at = max(last, fact.at)
            if isinstance(fact, Joined):
                if node is not None:
                    yield last, node, None
                node = fact.node
            if node is not None:
                yield at, node, fact
            if isinstance(fact, Left):
                node = None  # facts after a `leave` do not count
            last = at
    if node is not None:
        yield last, node, None


def read_line(line: bytes) -> AnyFact:
    """Return the fact of a line. Raises `msgspec.DecodeError` or `ProtocolError`."""
    fact: AnyFact = decode_fact(line)
    if isinstance(fact, Published | Delivered | Relayed | Copy):
        event_of(fact.event)
    return fact
