"""Runs an ingest, from the files to the folder of tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from orbweaver.core.errors import UsageError
from orbweaver.pipeline.cancel import cancelled_on_failure
from orbweaver.pipeline.dataset import (
    conform,
    count_rows,
    explained_failures,
    whole_dataset,
    write_manifest,
    write_table,
)
from orbweaver.pipeline.ingest import notes, table_facts
from orbweaver.pipeline.ingest.job import IngestJob, Look, look, tables_of
from orbweaver.pipeline.ingest.kinds import Kind, Options
from orbweaver.pipeline.ingest.lines import TracePlan, mark_lines, read_lines, read_whole
from orbweaver.pipeline.schemas import REJECTED

TEXT_MAX = 1000
"""Most characters of a rejected text; a line of a binary file may be as long as the file."""


@dataclasses.dataclass(frozen=True)
class IngestReport:
    kind: str
    files: list[str]
    out: str
    options: dict[str, str]
    entry: str
    entries: int
    used: int
    skipped: dict[str, int]
    dropped: dict[str, int]
    merged: dict[str, int]
    rejected: dict[str, int]
    tables: dict[str, int]
    facts: dict[str, Any]
    first_lines: list[str]
    """The decision about the first line of each file."""
    hints: list[str]


def ingest(spark: SparkSession, job: IngestJob) -> IngestReport:
    kind, files = job.kind, job.files
    with explained_failures():
        looked = look(spark, job)
        options = looked.options
        plan = make_plan(spark, job, looked, places=bool(looked.headers) or kind.one_file)
        counts, weight = count(plan.entries)
        if not weight:
            whole = make_plan(spark, job, looked, places=True)
            raise _nothing_usable(job, whole.entries, counts)
        with whole_dataset(job.out, tables_of(kind)) as folder, cancelled_on_failure(spark):
            written = {n: write_table(rows, folder, n) for n, rows in plan.tables.items()}
            bad = _rejected_counts(counts)
            unusable = spark.createDataFrame([], REJECTED)
            if bad:  # else there is no need to read the trace again
                unusable = rejected(make_plan(spark, job, looked, places=True).entries)
            written["rejected"] = write_table(unusable, folder, "rejected")
            sizes = {name: count_rows(folder, name) for name in written}
            found: table_facts.Facts = {}
            for name in kind.yields:
                found |= table_facts.OF_TABLE[name](written[name])
            report = IngestReport(
                kind=kind.name,
                files=[Path(name).name for name in files],
                out=str(job.out),
                options={n: v for n, v in dataclasses.asdict(options).items() if v},
                entry=kind.entry,
                entries=sum(counts.values()),
                used=counts.get(None, 0),
                skipped={n: counts[n] for n in notes.SKIPPED if n in counts},
                dropped={n: counts[n] for n in notes.DROPPED if n in counts},
                merged=_merged(plan, weight, sizes),
                rejected=bad,
                tables=sizes,
                facts=found,
                first_lines=list(looked.told),
                hints=table_facts.hints(kind, options, found),
            )
            write_manifest(folder, manifest(kind, report))
    return report


def manifest(kind: Kind, report: IngestReport) -> dict[str, Any]:
    plain = dataclasses.asdict(report)
    return {"made_by": "ingest", "topics_are_nodes": kind.topics_are_nodes} | plain


def make_plan(spark: SparkSession, job: IngestJob, looked: Look, places: bool) -> TracePlan:
    """Return the plan. Without `places`, no entry says where it comes from."""
    if job.kind.whole:
        lines = read_whole(spark, job.files)
    else:
        read = read_lines(spark, job.files, places)
        lines = mark_lines(read, looked.headers, looked.options.comments, looked.plain)
    return plan_of(job.kind)(lines, looked.options)


def plan_of(kind: Kind) -> Callable[[DataFrame, Options], TracePlan]:
    module, _, name = kind.code.partition(":")
    found: Callable[[DataFrame, Options], TracePlan] = getattr(
        import_module(f"orbweaver.pipeline.ingest.{module}"), name
    )
    return found


def count(entries: DataFrame) -> tuple[dict[str | None, int], int]:
    """Return how many entries have each note (None is used), and the weight of the used ones."""
    rows = entries.groupBy("note").agg(F.count("*").alias("n"), F.sum("weight").alias("w"))
    found = {row["note"]: (row["n"], row["w"]) for row in rows.collect()}
    return {note: n for note, (n, _) in found.items()}, found.get(None, (0, 0))[1]


def rejected(entries: DataFrame) -> DataFrame:
    """Return the table of rejected entries, as valid UTF-8 that every reader can read."""
    bad = F.col("note").isNotNull() & ~F.col("note").isin(*notes.SKIPPED, *notes.DROPPED)
    text = F.make_valid_utf8(F.substring("text", 1, TEXT_MAX))
    found = entries.filter(bad).select("source", text.alias("text"), F.col("note").alias("reason"))
    return conform(found, REJECTED)


def _merged(plan: TracePlan, weight: int, sizes: Mapping[str, int]) -> dict[str, int]:
    if plan.merged is None:
        return {}
    note, table, rows = plan.merged
    fell_together = weight - sizes[table] // rows
    return {note: fell_together} if fell_together else {}


def _rejected_counts(counts: Mapping[str | None, int]) -> dict[str, int]:
    apart = (*notes.SKIPPED, *notes.DROPPED)
    found = {note: n for note, n in counts.items() if note is not None and note not in apart}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _nothing_usable(
    job: IngestJob, entries: DataFrame, counts: Mapping[str | None, int]
) -> UsageError:
    where = job.files[0] if len(job.files) == 1 else f"these {len(job.files)} files"
    expected = f"a line of {job.kind.name} looks like '{job.kind.line}'"
    bad = _rejected_counts(counts)
    if not bad:
        return UsageError(f"{where} has no data; {expected}")
    reason, number = next(iter(bad.items()))
    example = rejected(entries).filter(F.col("reason") == reason).first()
    text = example["text"][:60] if example else ""
    return UsageError(
        f"{where}: no line can be used: {number:,} x {reason}, as in '{text}'; {expected}"
    )
