"""`orbweaver advise --master`: the runs of an advice as Spark tasks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from orbweaver.cli.advise import advise

app = typer.Typer()
app.command()(advise)


def test_runs_on_a_cluster_are_those_of_this_machine(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"n{n},g{t}\n" for n in range(20) for t in (n % 3, 3 + n % 2))
    Path("mine.csv").write_text("node,topic\n" + rows, encoding="utf-8")
    asked = ["mine.csv", "--overlay", "random", "--quick", "--json"]
    told = []
    for where in (["--workers", "1"], ["--master", "local[2]"]):
        done = CliRunner().invoke(app, [*asked, *where])
        assert done.exit_code == 0, done.output
        told.append(json.loads(done.stdout.splitlines()[-1]))
    assert told[0]["ratings"] == told[1]["ratings"]
    assert told[1]["ran"]["runs"] == 3
