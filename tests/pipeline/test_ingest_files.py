"""Whatever way a trace lies in files, the tables are the same, whole, or not there."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import check_topic
from orbweaver.pipeline.dataset import read_manifest, whole_dataset
from orbweaver.pipeline.ingest import lines
from orbweaver.workload.churn import load_churn
from orbweaver.workload.subscriptions import load_subscriptions
from tests.pipeline.ingest_runs import counts, run


@pytest.fixture
def small_blocks(spark: SparkSession) -> Iterator[None]:
    """Files are read in blocks of a few lines, as large ones are in blocks of megabytes."""
    key = "spark.sql.files.maxPartitionBytes"
    before = spark.conf.get(key)
    spark.conf.set(key, "64")
    yield
    spark.conf.set(key, before)


def test_lines_keep_their_numbers_across_blocks(
    spark: SparkSession, tmp_path: Path, small_blocks: None
) -> None:
    file = tmp_path / "lists.txt"
    file.write_text("# a comment\n\n" + "".join(f"1 item{i}\n" for i in range(60)))
    assert lines.read_lines(spark, [str(file)]).rdd.getNumPartitions() > 5
    _, tables = run(spark, tmp_path, "lists", file)
    assert sorted(tables["subscriptions"]) == sorted((str(i), f"item{i}") for i in range(60))


def test_files_of_several_shapes_at_once(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in [1] 50% +"
    folder.mkdir()
    (folder / "a {1}.csv.gz").write_bytes(gzip.compress(b"user,item\r\n1,x\r\n2,y\r\nbad one\r\n"))
    (folder / "b+c%20*.csv").write_bytes(b"\xef\xbb\xbfname,topic\n1,x\n3,z\n\xff\xfe,z\n")
    (folder / "_SUCCESS").touch()
    report, tables = run(spark, tmp_path, "pairs", folder)
    assert tables["subscriptions"] == [("1", "x"), ("2", "y"), ("3", "z")]
    assert counts(report) == {"header": 2, "duplicate": 1, "too few fields": 1, "not UTF-8": 1}
    assert sorted(tables["rejected"]) == [
        ("a {1}.csv.gz", "bad one", "too few fields"),
        ("b+c%20*.csv", "\ufffd\ufffd,z", "not UTF-8"),
    ]
    assert report.files == ["a {1}.csv.gz", "b+c%20*.csv"]
    assert report.options["separator"] == "comma"


def test_header_and_comments_by_option(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "tags.txt"
    file.write_text("#one #two\n#three #four\n")
    report, tables = run(spark, tmp_path, "pairs", file, comments="", header="yes")
    assert tables["subscriptions"] == [("#three", "#four")]
    assert report.skipped == {"header": 1}
    file.write_text("user item\n")
    _, tables = run(spark, tmp_path, "pairs", file, header="no")
    assert tables["subscriptions"] == [("user", "item")]


def test_a_header_is_one_line_and_the_decision_is_told(
    spark: SparkSession, tmp_path: Path, small_blocks: None
) -> None:
    file = tmp_path / "msweb.csv"
    numbers = "".join(f"{10000 + i},{1000 + i}\n" for i in range(40))
    file.write_text("\nuser_id,vroot\n" + numbers + "user_id,vroot\n")
    report, tables = run(spark, tmp_path, "pairs", file)
    assert report.skipped == {"blank line": 1, "header": 1}
    assert ("user_id", "vroot") in tables["subscriptions"], "only the first line is a header"
    assert ("10000", "1000") in tables["subscriptions"]
    told = "is a header: 'user_id' stands above numbers: 'user_id,vroot' (else --header no)"
    assert report.first_lines == [f"the first line {told}"]
    (tmp_path / "b").mkdir()
    file.write_text("node1\tnode2\nnode1\tnode3\nnode4\tnode2\nnode1\tnode2\n")
    report, tables = run(spark, tmp_path / "b", "pairs", file)
    assert tables["subscriptions"] == [
        ("node1", "node2"), ("node1", "node3"), ("node4", "node2"),
    ]  # fmt: skip
    assert counts(report) == {"duplicate": 1}
    assert "is data: 'node1' is written as the values below it are" in report.first_lines[0]
    (tmp_path / "c").mkdir()
    report, tables = run(spark, tmp_path / "c", "pairs", file, header="yes")
    assert ("node1", "node2") in tables["subscriptions"], "it is there a second time"
    assert counts(report) == {"header": 1}


@pytest.mark.parametrize("columns", ["who,what", "2,4"])
def test_the_columns_that_are_named(spark: SparkSession, tmp_path: Path, columns: str) -> None:
    file = tmp_path / "log.csv"
    file.write_text('at;who;note;what\n1;ann;;"a; b"\n2;bob;"x";c\n3;cid;y\n4;;y;d\n')
    report, tables = run(spark, tmp_path, "pairs", file, columns=columns)
    assert tables["subscriptions"] == [("ann", "a; b"), ("bob", "c")]
    assert counts(report) == {"header": 1, "too few fields": 1, "empty field": 1}
    assert report.options["columns"] == "2,4"


def test_a_column_that_is_not_there(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("who,what\n1,2\n")
    with pytest.raises(UsageError, match="no column 'user'; line 1 has 'who', 'what': pass --col"):
        run(spark, tmp_path, "pairs", file, columns="user,what", header="yes")


def test_what_is_written_can_be_simulated(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "edges.txt"
    file.write_text("".join(f"{i} {(i * 7) % 50}\n" for i in range(1, 50)))
    run(spark, tmp_path, "undirected-edges", file)
    loaded = load_subscriptions(tmp_path / "out" / "subscriptions")
    assert list(loaded.labels) == sorted(loaded.labels)
    file.write_text("0 m 0\n5000 m 1\n".replace(" ", ","))
    (tmp_path / "churn").mkdir()
    run(spark, tmp_path / "churn", "machine-events", file)
    churn = load_churn(tmp_path / "churn" / "out" / "churn", ["n", "m"])
    assert churn == [(0, 1, "join"), (5, 1, "leave")]
    manifest = read_manifest(tmp_path / "out")
    assert manifest["kind"] == "undirected-edges"
    assert manifest["topics_are_nodes"] is True
    assert json.dumps(manifest)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("pairs", "", "has no data; a line of pairs looks like 'user item'"),
        ("pairs", "one\ntwo\n", "no line can be used: 2 x too few fields, as in 'one'"),
        ("latency-matrix", "0 1 2\n1 0 2\n", "2 x wrong number of cells"),
        ("latency-matrix", "0 1 2 3\n1 0 2 3\n", "2 x matrix that is not square"),
        ("coordinates", "<nodelist>\n", "looks like XML: use the kind coordinates-xml"),
        ("coordinates-xml", "a,1,2\n", "does not look like XML: use the kind coordinates"),
    ],
)
def test_nothing_usable(
    spark: SparkSession, tmp_path: Path, kind: str, text: str, message: str
) -> None:
    file = tmp_path / "trace.txt"
    file.write_text(text)
    with pytest.raises(UsageError, match=message):
        run(spark, tmp_path, kind, file)
    assert [p.name for p in tmp_path.iterdir()] == ["trace.txt"]


def test_a_file_that_breaks_in_the_middle(spark: SparkSession, tmp_path: Path) -> None:
    packed = gzip.compress(b"".join(b"%d %d\n" % (i, i * i) for i in range(400_000)))
    file = tmp_path / "cut short.gz"
    file.write_bytes(packed[: len(packed) * 3 // 4])
    with pytest.raises(UsageError, match=r"cut short\.gz cannot be read: Unexpected end of input"):
        run(spark, tmp_path, "undirected-edges", file)
    assert [p.name for p in tmp_path.iterdir()] == ["cut short.gz"]


def test_an_interrupted_run_leaves_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "churn").mkdir(parents=True)
    with pytest.raises(KeyboardInterrupt):
        _interrupted(out)
    assert [str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")] == ["out", "out/churn"]
    with whole_dataset(out, ("churn", "rejected")) as folder:
        (folder / "rejected").mkdir()
    assert [str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")] == ["out", "out/rejected"]


def _interrupted(out: Path) -> None:
    with whole_dataset(out, ("churn", "rejected")) as folder:
        (folder / "churn").mkdir()
        (folder / "churn" / "half").touch()
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("full", "holds other things, for example 'subscriptions'"),
        ("file", "is a file; name a folder"),
        ("no/out", "there is no folder"),
        ("hdfs://x/out", "is an address: tables are written to a folder"),
    ],
)
def test_bad_places_to_write_to(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "full" / "subscriptions").mkdir(parents=True)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=message), whole_dataset(tmp_path / name, ("churn",)):
        pass


def test_topics_are_those_the_core_takes(spark: SparkSession) -> None:
    names = ["a", "a b", "a/b", "/a", "a/", "a//b", "/", "tab\tx", "é", "\u00a0x", "\u200bx"]
    names += ["x" * 255, "x" * 256, "é" * 128, "\x7f", "日本", "a\u2028b"]
    rows = spark.createDataFrame([(name,) for name in names], "name string")
    found = {r[0]: r[1] for r in rows.select("name", lines.bad_topic(F.col("name"))).collect()}
    for name in names:
        try:
            check_topic(name)
            expected = False
        except UsageError:
            expected = True
        assert found[name] is expected, name
