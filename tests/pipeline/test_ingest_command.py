"""`orbweaver ingest` and `orbweaver sample` as a person or a script calls them.

In this process, with the session there is: Spark takes longer to start than all of these.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from pyspark.sql import SparkSession

from orbweaver.cli.ingest import ingest
from orbweaver.cli.sample import sample
from orbweaver.core.errors import UsageError
from orbweaver.pipeline.ingest.kinds import CHOICES, KINDS
from orbweaver.pipeline.sample.methods import METHODS
from orbweaver.workload.subscriptions import load_subscriptions

app = typer.Typer(rich_markup_mode="markdown")
app.command("ingest")(ingest)
app.command("sample")(sample)

EDGES = "# from to\n" + "".join(f"{i} {i * i % 97}\n" for i in range(1, 97)) + "\nbroken\n"


def call(*args: str) -> None:
    app(args, standalone_mode=False)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("edges.txt").write_text(EDGES)
    return tmp_path


def test_ingest_and_sample(
    spark: SparkSession, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    follow = ("--direction", "follower-first")
    call("ingest", "directed-edges", "edges.txt", "--out", "all", *follow)
    shown = capsys.readouterr().out
    for words in ("blank line", "comment", "self-loop", "too few fields", "subscriptions/"):
        assert words in shown
    call("ingest", "directed-edges", "edges.txt", "--out", "all", *follow, "--json")
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert report["skipped"] == {"blank line": 1, "comment": 1}
    assert report["rejected"] == {"too few fields": 1}
    assert report["entries"] == 99
    call("sample", "bfs", "all", "--out", "part", "--nodes", "20", "--seeds", "2", "--seed", "7")
    shown = capsys.readouterr().out
    assert "bfs of all, seed 7, to part" in shown
    assert "topics, source" in shown
    call("sample", "uniform", "all", "--out", "some", "--nodes", "20", "--json")
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert report["tables"]["nodes"] == 20
    assert report["ccdf"][0]["degree"] == 1
    assert sorted(p.name for p in here.iterdir()) == ["all", "edges.txt", "part", "some"]


def test_a_file_is_sampled(
    spark: SparkSession, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{i};u{i % 40};g{i % 7}\n" for i in range(200))
    Path("mine.csv").write_text("at;user;group\n" + rows)
    args = ("--columns", "user,group", "--nodes", "10", "--out", "part", "--json")
    for method in ("uniform", "bfs"):
        call("sample", method, "mine.csv", *args)
        report = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert report["nodes"] == 10
        assert report["topics_are_nodes"] is False
        assert report["tables"]["subscriptions"] >= 10
    assert load_subscriptions(Path("part/subscriptions")).labels[0].startswith("u")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("ingest pear edges.txt --out x", "unknown kind 'pear': did you mean 'pairs'"),
        ("ingest pairs none.txt --out x", "none.txt: no such file"),
        ("ingest pairs edges.txt --out no/x", "there is no folder no"),
        ("ingest directed-edges edges.txt --out x", "needs --direction"),
        ("ingest lists edges.txt edges.txt --out x", "lists takes one file"),
        ("ingest pairs edges.txt --unit s --out x", "--unit has no meaning for pairs"),
        ("sample bsf all --out x", "unknown method 'bsf': did you mean 'bfs'"),
        ("sample bfs none --nodes 3 --seeds 1 --out x", "none: no such folder or file"),
        ("sample machines edges.txt --nodes 3 --out x", "from a folder with a table 'churn'"),
        ("sample uniform edges.txt --columns a,b --nodes 3 --out x", "no column 'a'"),
        ("sample bfs . --nodes 3 --seeds 1 --out x", "has no table 'subscriptions'"),
    ],
)
def test_mistakes_are_found_before_spark_starts(here: Path, args: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call(*args.split())
    assert [p.name for p in here.iterdir()] == ["edges.txt"]


def test_help_lists_everything_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    call("ingest", "--help")
    shown = capsys.readouterr().out
    for name in (*KINDS, *(f"--{option}" for option in CHOICES)):
        assert name in shown
    call("sample", "--help")
    shown = capsys.readouterr().out
    for name in METHODS:
        assert name in shown


def test_the_commands_do_not_load_spark() -> None:
    """Until they run: `orbweaver --help` is to be quick."""
    code = (
        "import sys, orbweaver.cli.ingest, orbweaver.cli.sample; "
        "assert not {'pyspark', 'pyarrow', 'pandas'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
