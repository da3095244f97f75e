"""What is wanted of an ingest, and a look at the files before the plan is made."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from orbweaver.core.errors import UsageError
from orbweaver.pipeline.dataset import check_output, input_path
from orbweaver.pipeline.ingest import peek
from orbweaver.pipeline.ingest.kinds import Kind, Options, build_options, find


@dataclasses.dataclass(frozen=True)
class Job:
    """What is wanted, checked as far as that goes without Spark."""

    kind: Kind
    files: tuple[str, ...]
    out: Path
    options: Options


def prepare(kind: str, names: Sequence[str], out: Path, given: Mapping[str, str | None]) -> Job:
    """Every mistake that can be found before Spark starts is found here."""
    wanted = find(kind)
    options = build_options(wanted, given)
    files = peek.expand(names)
    if wanted.one_file and len(files) != 1:
        raise UsageError(f"{kind} takes one file: what counts is the place of each line in it")
    check_output(out, tables_of(wanted))
    for name in files:
        if "://" not in name:
            _check_looks(wanted, name, peek.head(Path(name)))
    return Job(wanted, tuple(files), out, options)


def _check_looks(kind: Kind, name: str, head: Sequence[str]) -> None:
    is_xml = bool(head) and head[0].startswith("<")
    if kind.name == "coordinates" and is_xml:
        raise UsageError(f"{name} looks like XML: use the kind coordinates-xml")
    if kind.name == "coordinates-xml" and head and not is_xml:
        raise UsageError(f"{name} does not look like XML: use the kind coordinates")


def look(spark: SparkSession, job: Job) -> tuple[Options, set[str]]:
    """The options with the separator that was found, and the lines that are headers."""
    kind, options = job.kind, job.options
    if kind.whole:
        return options, set()
    heads = [peek.data_lines(_head(spark, name), options.comments) for name in job.files]
    regex = peek.ANY_SEPARATOR
    if "separator" in kind.options:
        if options.separator == "auto":
            every = [line for head in heads for line in head]
            separator = peek.find_separator(every, kind.cells)
            options = dataclasses.replace(options, separator=separator)
        regex = peek.SEPARATORS[options.separator]
    else:
        options = dataclasses.replace(options, separator="")
    if options.header == "no":
        return options, set()
    headers = {
        head[0]
        for head in heads
        if head
        and (options.header == "yes" or peek.is_header(head, regex, kind.cells, kind.numeric))
    }
    return options, headers


def _head(spark: SparkSession, name: str) -> list[str]:
    if "://" not in name:
        return peek.head(Path(name))
    first = spark.read.text(input_path(name)).limit(peek.HEAD_LINES).collect()
    return [row["value"].strip() for row in first if row["value"].strip()]


def tables_of(kind: Kind) -> tuple[str, ...]:
    return (*kind.yields, "rejected")
