"""Traces of a study: made into tables once, and cut from the same tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from orbweaver.pipeline.dataset import MANIFEST
from orbweaver.pipeline.ingest.kinds import build_options, find
from orbweaver.pipeline.sample.methods import build_settings
from orbweaver.pipeline.traces import fetch
from orbweaver.study.papers import PAPERS
from orbweaver.study.traces import Trace
from orbweaver.workload.tables import read_table, table_in


def ring(name: str, nodes: int) -> Trace:
    settings = {"nodes": nodes, "seeds": 1}
    return Trace(name, "ring.txt", "undirected-edges", method="bfs", settings=settings)


def test_a_trace_is_read_once_and_cut_as_often_as_asked(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "ring.txt").write_text("".join(f"{n} {(n + 1) % 30}\n" for n in range(30)))
    work = tmp_path / "work"
    small = fetch(spark, source, ring("a small one", 5), work)
    (source / "ring.txt").unlink()
    large = fetch(spark, source, ring("large", 12), work)
    assert sorted(f.name for f in work.iterdir() if f.is_dir()) == [
        "a-small-one", "large", "ring-whole",
    ]  # fmt: skip
    for folder, nodes in ((small, 5), (large, 12)):
        rows = read_table(table_in(folder, "nodes"), ("node",))
        assert len({node for _, (node,) in rows}) == nodes
    made = (large / MANIFEST).stat().st_mtime_ns
    assert fetch(spark, source, ring("large", 12), work) == large
    assert (large / MANIFEST).stat().st_mtime_ns == made, "nothing is left to do"
    (source / "ring.txt").write_text("".join(f"x{n} x{(n + 1) % 20}\n" for n in range(20)))
    fetch(spark, source, ring("large", 12), work)
    rows = read_table(table_in(large, "nodes"), ("node",))
    assert all(node.startswith("x") for _, (node,) in rows), "made of what the file is now"


def test_a_trace_is_made_again_when_it_is_to_be_another(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "ring.txt").write_text("".join(f"{n} {(n + 1) % 30}\n" for n in range(30)))
    work = tmp_path / "work"
    trace = ring("cut", 5)
    folder = fetch(spark, tmp_path, trace, work)
    fetch(spark, tmp_path, ring("cut", 12), work)
    assert len(list(read_table(table_in(folder, "nodes"), ("node",)))) == 12
    both = len(list(read_table(work / "ring-whole" / "subscriptions", ("node",))))
    options = {"direction": "follower-first"}
    fetch(spark, tmp_path, replace(trace, kind="directed-edges", options=options), work)
    one_way = len(list(read_table(work / "ring-whole" / "subscriptions", ("node",))))
    assert (both, one_way) == (60, 30)


def test_what_papers_ask_of_the_pipeline_exists() -> None:
    for trace in (t for paper in PAPERS.values() for ts in paper.traces.values() for t in ts):
        build_options(find(trace.kind), trace.options)
        if trace.method:
            build_settings(trace.method, 0, trace.settings)
