"""Makes the tables of a study's traces, once."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from pyspark.sql import SparkSession

from orbweaver.pipeline.dataset import MANIFEST, read_manifest
from orbweaver.pipeline.ingest.job import prepare
from orbweaver.pipeline.ingest.run import ingest
from orbweaver.pipeline.sample.methods import build_settings
from orbweaver.pipeline.sample.run import sample
from orbweaver.study.traces import Trace


def fetch(spark: SparkSession, source: Path, trace: Trace, work: Path) -> Path:
    """Return the folder with the tables of a trace. Its file is in `source`. The tables are made
    unless `work` already has them of the same file."""
    work.mkdir(parents=True, exist_ok=True)
    folder = trace.folder(work)
    # Samples of one trace are cut from the same tables.
    whole = work / f"{Path(trace.file).name.partition('.')[0]}-whole" if trace.method else folder
    file, note = source / trace.file, whole.with_name(f"{whole.name}.source")
    if not (whole / MANIFEST).exists() or (file.exists() and _read(note) != _describe(file, trace)):
        ingest(spark, prepare(trace.kind, [str(file)], whole, trace.options))
        note.write_text(_describe(file, trace), encoding="utf-8")
    if trace.method:
        settings = build_settings(trace.method, 0, trace.settings)
        same = read_manifest(folder).get("settings") == dataclasses.asdict(settings)
        if not same or _made_ns(folder) < _made_ns(whole):
            sample(spark, whole, folder, settings)
    return folder


def _describe(file: Path, trace: Trace) -> str:
    found = file.stat()
    read_as = f"{trace.kind} {sorted(trace.options.items())}"
    return f"{file.resolve()}, {found.st_size} bytes, {found.st_mtime_ns}, {read_as}"


def _read(note: Path) -> str:
    return note.read_text(encoding="utf-8") if note.exists() else ""


def _made_ns(folder: Path) -> int:
    """Return the time at which the tables were made, in nanoseconds; 0 if they were not."""
    manifest = folder / MANIFEST
    return manifest.stat().st_mtime_ns if manifest.exists() else 0
