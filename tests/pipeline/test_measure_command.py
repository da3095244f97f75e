"""sweep, measure and report, as a user runs them one after the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from orbweaver.cli.main import make_app
from orbweaver.cli.stores import checked_store
from orbweaver.core.errors import UsageError

SCENARIO = """
overlay = "spidercast"
name = "mine"
params = { membership = "full" }
workload = { nodes = 40, topics = 6, subscriptions_per_node = "3" }
publish = { per_topic = 1 }
run = { warmup_ms = 1500, drain_ms = 500 }
"""


def run(*arguments: str | Path) -> dict:
    done = CliRunner().invoke(make_app(), [*map(str, arguments), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout.splitlines()[-1])


def test_from_a_scenario_to_a_page(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(SCENARIO)
    store, measured, page = tmp_path / "store", tmp_path / "measured", tmp_path / "page.html"
    swept = run("sweep", tmp_path / "mine.toml", "--seeds", "0-1", "--store", store)
    assert (len(swept["results"]), swept["ran"], swept["failures"]) == (2, 2, [])
    told = run("measure", store, "--out", measured)
    assert (told["tables"]["runs"], told["tables"]["topics"]) == (2, 12)
    assert run("report", measured, "--out", page) == {"ledgers": [], "page": str(page)}
    text = page.read_text(encoding="utf-8")
    assert "2 runs of 1 settings" in text
    assert text.count("<figure>") == 2
    assert "<th>hit ratio</th>" in text
    degrees = [result["metrics"]["degree_mean"] for result in swept["results"]]
    assert f"<td>{sum(degrees) / 2:.2f} ±" in text


def test_results_that_are_kept_are_not_run_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, page = tmp_path / "results.jsonl", tmp_path / "page.html"
    asked = ("reproduce", "spidercast", "--claims", "S12", "--results", results, "--out", page)
    first = run(*asked, "--seeds", "0", "--store", tmp_path / "store")
    assert [v["claim"] for v in first["ledger"]["verdicts"]] == ["S12", "S12"]
    page.unlink()
    monkeypatch.setattr("orbweaver.cli.reproduce.run_sweep", None)
    assert run(*asked, "--seeds", "0", "--store", tmp_path / "none") == first
    assert page.exists()


def test_a_damaged_file_is_taken_out_and_its_runs_are_run_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text(SCENARIO)
    store, measured = tmp_path / "store", tmp_path / "measured"
    asked = ["sweep", str(tmp_path / "mine.toml"), "--seeds", "0-1", "--store", str(store)]
    first = run(*asked)
    cut, whole = sorted((store / "kind=look").glob("*.parquet"))
    cut.write_bytes(cut.read_bytes()[:-100])
    done = CliRunner().invoke(make_app(), ["measure", str(store), "--out", str(measured), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout.splitlines()[-1])["tables"]["runs"] == 1
    assert f"damaged: kind=look/{cut.name}: it has" in done.stderr
    assert (store / "_damaged" / cut.name).exists()
    whole.write_bytes(b"")
    done = CliRunner().invoke(make_app(), [*asked, "--json"])
    assert done.exit_code == 0, done.output
    assert f"damaged: kind=look/{whole.name}: it has 0 bytes" in done.stderr
    again = json.loads(done.stdout.splitlines()[-1])
    assert again["ran"] == 2
    digests = [[result["digest"] for result in one["results"]] for one in (first, again)]
    assert digests[0] == digests[1]
    # Damage that leaves a file as long as it was is told in one line.
    broken = min((store / "kind=look").glob("*.parquet"))
    text = bytearray(broken.read_bytes())
    text[4:100] = bytes(96)
    broken.write_bytes(text)
    done = CliRunner().invoke(make_app(), ["measure", str(store), "--out", str(measured)])
    assert isinstance(done.exception, UsageError), done.exception
    assert str(done.exception).startswith(f"kind=look/{broken.name} cannot be read: ")


def test_files_of_somebody_else_are_not_moved(tmp_path: Path) -> None:
    (tmp_path / "kind=look").mkdir()
    for name in ("nodes.parquet", "kind=look/links.parquet"):
        (tmp_path / name).write_bytes(b"PAR1 and no more")
    with pytest.raises(UsageError, match=r"holds other things, .*'nodes\.parquet'"):
        checked_store(str(tmp_path), None, "")
    assert len(list(tmp_path.rglob("*.parquet"))) == 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["report", "nowhere"], "has no table 'runs'"),
        (["report", "nowhere", "--out", "none/page.html"], "there is no folder"),
        (["reproduce", "spidercats"], "did you mean 'spidercast'"),
        (["reproduce", "spidercast", "--claims", "S99"], "has no claim 'S99'"),
        (["reproduce", "spidercast", "--scale", "fulll"], "did you mean 'full'"),
        (["reproduce", "vitis", "--claims", "V1,V9"], "V9 need real traces: --traces DIR"),
    ],
)
def test_bad_input(arguments: list[str], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        CliRunner().invoke(make_app(), arguments, catch_exceptions=False)
