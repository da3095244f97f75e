"""Checks the options of an ingest and looks at its files before the plan is made."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from orbweaver.core.errors import UsageError
from orbweaver.pipeline.dataset import check_output, input_path
from orbweaver.pipeline.ingest import peek
from orbweaver.pipeline.ingest.kinds import Kind, Options, build_options, find
from orbweaver.pipeline.ingest.plain import find_plain
from orbweaver.workload.dialect import (
    HEAD_LINES,
    NAMED,
    find_places,
    find_separator,
    judge_header,
    parse_columns,
    said,
    split_line,
)

TOLD_MAX = 60
"""Most characters of a first line that are shown with the decision about it."""


@dataclasses.dataclass(frozen=True)
class IngestJob:
    """The options of an ingest, checked as far as possible without Spark."""

    kind: Kind
    files: tuple[str, ...]
    out: Path
    options: Options


def prepare(
    kind: str, names: Sequence[str], out: Path, given: Mapping[str, str | None]
) -> IngestJob:
    """Build the job. Raises `UsageError` for every mistake that can be found before Spark
    starts."""
    wanted = find(kind)
    options = build_options(wanted, given)
    files = peek.expand(names)
    if wanted.one_file and len(files) != 1:
        raise UsageError(f"{kind} takes one file: what counts is the place of each line in it")
    check_output(out, tables_of(wanted))
    for name in files:
        if "://" not in name:
            _check_looks(wanted, name, peek.head(Path(name)))
    return IngestJob(wanted, tuple(files), out, options)


def _check_looks(kind: Kind, name: str, head: Sequence[str]) -> None:
    is_xml = bool(head) and head[0].startswith("<")
    if kind.name == "coordinates" and is_xml:
        raise UsageError(f"{name} looks like XML: use the kind coordinates-xml")
    if kind.name == "coordinates-xml" and head and not is_xml:
        raise UsageError(f"{name} does not look like XML: use the kind coordinates")


@dataclasses.dataclass(frozen=True)
class Look:
    """What the first lines of each file have shown."""

    options: Options
    """The options, completed by the separator and the numbers of the columns that were found."""
    headers: frozenset[str]
    """The first lines that are headers."""
    plain: str = ""
    """What separates the names of a plain line; empty if no line is to be taken for one."""
    told: tuple[str, ...] = ()
    """The decision about the first line of each file, for people to check."""


def look(spark: SparkSession, job: IngestJob) -> Look:
    kind, options = job.kind, job.options
    if kind.whole:
        return Look(options, frozenset())
    heads = [peek.data_lines(_head(spark, name), options.comments) for name in job.files]
    asked = parse_columns(options.columns, 2, "pairs")
    numbers = [int(name) for name in asked if name.isdigit()]
    cells = max([kind.cells, *numbers])
    if "separator" in kind.options:
        if options.separator == "auto":
            separator = find_separator([line for head in heads for line in head], cells)
            options = dataclasses.replace(options, separator=separator)
    else:
        options = dataclasses.replace(options, separator="")
    wanted = [number - 1 for number in numbers] or list(range(kind.cells))
    headers: set[str] = set()
    told: dict[str, None] = {}
    places = tuple(wanted)
    for name, head in zip(job.files, heads, strict=True):
        if not head:
            continue
        rows = [_split(line, options.separator) for line in head]
        if options.header != "auto":
            header = said(options.header)
        elif not {cell.lower() for cell in rows[0]}.isdisjoint(map(str.lower, asked)):
            header = NAMED
        else:
            header = judge_header(rows, wanted, kind.numeric)
        if asked:
            places = find_places(("user", "item"), asked, rows[0], header, name)
        if header.there:
            headers.add(head[0])
        other = "no" if header.there else "yes"
        told[f"the first line {header.why}: '{head[0][:TOLD_MAX]}' (else --header {other})"] = None
    if asked:
        options = dataclasses.replace(options, columns=",".join(str(p + 1) for p in places))
    plain = ""
    if kind.two_names and options.columns in ("", "1,2"):
        plain = find_plain(
            (line for head in heads for line in head), options.separator, options.comments
        )
    return Look(options, frozenset(headers), plain, tuple(told))


def _split(line: str, separator: str) -> list[str]:
    if separator:
        return split_line(line, separator)
    return [cell.strip('" ') for cell in re.split(peek.ANY_SEPARATOR, line)]


def _head(spark: SparkSession, name: str) -> list[str]:
    if "://" not in name:
        return peek.head(Path(name))
    first = spark.read.text(input_path(name)).limit(HEAD_LINES).collect()
    return [row["value"].strip() for row in first if row["value"].strip()]


def tables_of(kind: Kind) -> tuple[str, ...]:
    return (*kind.yields, "rejected")
