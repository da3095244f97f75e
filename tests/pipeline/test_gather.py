"""Gathered by Spark, the records are those that are gathered without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from orbweaver.cli.main import make_app
from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.gossip.plumtree.messages import Push
from orbweaver.pipeline import gather as stage
from orbweaver.pipeline.dataset import explained_failures
from orbweaver.pipeline.measure import measure
from orbweaver.pipeline.store import locate_store
from orbweaver.records import gather as plain
from orbweaver.records.live import LiveRecorder
from orbweaver.records.schema import TABLES
from orbweaver.records.writers import read_about, read_records, write_records
from orbweaver.study.recorded import read_recorded
from tests.records.course import Course
from tests.records.node_records import Nodes

COLUMNS = {name: spec.names for name, spec in TABLES.items()}


def play(folder: Path) -> None:
    """Four nodes, and two more that do what the course has not: they relay, note each copy, drop
    messages, and have a clock that is behind."""
    course = Course(folder)
    for _ in course.parts():
        pass
    nodes = course.nodes
    nodes.at(1000)
    relay = LiveRecorder(folder, NodeId(5), "spidercast", copies=True, clock_ms=nodes.clock)
    relay.joined()
    known, unknown = Event("news", NodeId(1), 70, 8), Event("new-s", NodeId(9), 1, 1)
    for event in (known, unknown):
        relay.carried(Push(event, 3, 0), interested=False)
        relay.copy(NodeId(1), Push(event, 3, 0), "received")
        relay.delivered(event, 3)
    relay.link(NodeId(1), "up")
    relay.noticed(interested=True)
    relay.noticed(interested=False)
    relay.received(7)
    nodes.at(1000)
    relay.note({"table": 4, "gateway_of": 1}, {"unreachable": 7})
    nodes.at(2500)
    relay.link(NodeId(1), "down")
    relay.note({"table": 5}, {"unreachable": 9, "queue": 1})
    relay.close()
    behind = nodes.begin(6)
    behind.interest("with-a-dash", "publish")
    behind.published(Event("with-a-dash", NodeId(6), 2, 0))
    nodes.end(behind)


def same(folder: Path, out: Path) -> None:
    records, found = plain.gather(folder)
    written = read_records(out)
    for name in TABLES:
        assert list(written[name].rows()) == list(records[name].rows()), name
    assert written.digest() == records.digest()
    assert read_about(out) == msgspec.to_builtins(found)


def test_the_tables_of_many_tasks_are_those_of_one(
    spark: SparkSession, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(stage, "TASK_BYTES", 1)
    play(tmp_path / "records")
    out = tmp_path / "out"
    found = stage.gather(spark, tmp_path / "records", out)
    assert found == plain.gather(tmp_path / "records")[1]
    assert min(found.crashes, found.damaged, found.pulled, found.backwards) > 0
    assert found.unknown_events == 1
    same(tmp_path / "records", out)
    for name, columns in COLUMNS.items():
        rows = spark.read.parquet(str(out / f"{name}.parquet"))
        assert tuple(rows.columns) == columns
        assert rows.count() > 0, name
    assert not list(tmp_path.glob(".parts-*"))


def test_the_command_says_the_same_with_spark_and_without(
    spark: SparkSession, tmp_path: Path
) -> None:
    play(tmp_path / "records")
    told = []
    for options in ([], ["--master", "local[2]"]):
        out = tmp_path / "out"
        arguments = ["gather", str(tmp_path / "records"), "--out", str(out), "--json", *options]
        done = CliRunner().invoke(make_app("gather"), arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        told.append(json.loads(done.stdout.splitlines()[-1]))
        same(tmp_path / "records", out)
    assert told[0] == told[1]


def test_files_of_live_nodes_are_measured_as_their_tables_are(
    spark: SparkSession, tmp_path: Path
) -> None:
    play(tmp_path / "records")
    records, found = plain.gather(tmp_path / "records")
    (tmp_path / "tables").mkdir()
    write_records(records, tmp_path / "tables" / "records", "csv", msgspec.to_builtins(found))
    (run,) = read_recorded(tmp_path / "tables" / "records")
    values = []
    for folder in (tmp_path / "records", tmp_path / "tables" / "records"):
        out = tmp_path / f"measured{len(values)}"
        measure(spark, locate_store(str(folder)), out)
        rows = spark.read.parquet(str(out / "values")).drop("run").collect()
        values.append(sorted(tuple(row) for row in rows))
    assert values[0] == values[1]
    assert {metric: value for _, metric, value in values[0]} == {
        name: None if value is None else float(value) for name, value in run.result.metrics.items()
    }


def test_what_cannot_be_gathered(spark: SparkSession, tmp_path: Path) -> None:
    records, out = tmp_path / "records", tmp_path / "out"
    with pytest.raises(UsageError, match="has no records of nodes"):
        stage.gather(spark, records, out)
    nodes = Nodes(records)
    records.mkdir()
    (records / "node-1.jsonl").write_bytes(b'{"what":"jo')
    with pytest.raises(UsageError, match="the 1 files hold no 'join'"):
        stage.gather(spark, records, out)
    two = nodes.begin(2)
    nodes.at(1000)
    nodes.end(two)
    (records / "copy").mkdir()
    name = "node-0000000000000002.jsonl"
    (records / "copy" / name).write_bytes((records / name).read_bytes())
    with explained_failures(), pytest.raises(Exception, match="should be there only once"):
        stage.gather(spark, records, out)
    nodes.end(nodes.begin(4, overlay="vitis"))
    with pytest.raises(UsageError, match="several overlays, spidercast, vitis"):
        stage.gather(spark, records, out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["records"], "nothing is left"


@pytest.mark.parametrize("arguments", [["--format", "csv", "--master", "local[2]"],
                                       ["--conf", "spark.executor.memory=4g"]])  # fmt: skip
def test_options_that_do_not_go_together(tmp_path: Path, arguments: list[str]) -> None:
    with pytest.raises(UsageError, match="Spark"):
        CliRunner().invoke(
            make_app("gather"), ["gather", str(tmp_path), *arguments], catch_exceptions=False
        )
