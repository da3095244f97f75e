"""Traces of a study, made into tables once."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from orbweaver.pipeline.dataset import MANIFEST
from orbweaver.pipeline.ingest.job import prepare
from orbweaver.pipeline.ingest.run import ingest
from orbweaver.pipeline.sample.methods import build_settings
from orbweaver.pipeline.sample.run import sample
from orbweaver.study.traces import Trace


def fetch(spark: SparkSession, source: Path, trace: Trace, work: Path) -> Path:
    """The tables of a trace whose file is in `source`; made unless `work` has them."""
    work.mkdir(parents=True, exist_ok=True)
    folder = trace.folder(work)
    # Samples of one trace are cut from the same tables.
    whole = work / f"{Path(trace.file).name.partition('.')[0]}-whole" if trace.method else folder
    if not (whole / MANIFEST).exists():
        ingest(spark, prepare(trace.kind, [str(source / trace.file)], whole, trace.options))
    if trace.method and not (folder / MANIFEST).exists():
        sample(spark, whole, folder, build_settings(trace.method, 0, trace.settings))
    return folder
