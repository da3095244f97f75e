"""What `orbweaver compare` runs on, what it keeps, and what it says meanwhile."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
from msgspec.structs import replace
from typer.testing import CliRunner

from orbweaver.cli import compare_data
from orbweaver.cli.compare import compare
from orbweaver.cli.compare_data import take_sample
from orbweaver.cli.kept_runs import remaining_s, run_kept, told
from orbweaver.study.results import Stored, append_results, read_results
from orbweaver.study.run import Job, Result, run_scenario
from orbweaver.workload.scenario import (
    ChurnSpec,
    PublishSpec,
    RunSpec,
    Scenario,
    WorkloadSpec,
)
from orbweaver.workload.subscriptions import load_subscriptions

SMALL = Scenario(
    overlay="random",
    name="random, calm",
    workload=WorkloadSpec(nodes=20, topics=4, subscriptions_per_node="2"),
    publish=PublishSpec(per_topic=1),
    run=RunSpec(warmup_ms=1000, drain_ms=500),
)
JOBS: list[Job] = [(SMALL, 0), (replace(SMALL, name="random, churned"), 1), (SMALL, 2)]
app = typer.Typer()
app.command()(compare)


def timeless(results: list[Result]) -> list[Result]:
    return [replace(result, wall_seconds=0) for result in results]


def test_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    first, new = run_kept(JOBS[:2], path, 1)
    assert (len(first), new) == (2, 2)
    results, new = run_kept(JOBS, path, 1)
    assert new == 1
    assert results[:2] == first, "in the order of the jobs"
    assert timeless(results) == timeless(
        [replace(run_scenario(*job).result, name=job[0].name) for job in JOBS]
    )
    assert run_kept(JOBS, path, 1) == (results, 0)


def test_runs_of_other_code_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    wrong = replace(run_scenario(SMALL, 0).result, digest="another")
    append_results(path, [Stored("older code", wrong)])
    (result,), new = run_kept(JOBS[:1], path, 1)
    assert (new, result.digest != "another") == (1, True)
    assert len(read_results(path)) == 2


def test_an_interrupted_comparison_goes_on(tmp_path: Path) -> None:
    seeds = 12
    arguments = [
        "compare", "--nodes", "60", "--topics", "10", "--subscriptions-per-node", "3",
        "--overlay", "random", "--churn", "none", "--seeds", f"0-{seeds - 1}", "--workers", "2",
    ]  # fmt: skip
    command = [sys.executable, "-m", "orbweaver", *arguments]
    kept = tmp_path / "out" / "compare.jsonl"
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 120
        while not kept.exists() or not kept.read_bytes():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < until
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=120)[1]
    there = len(read_results(kept))
    assert 1 <= there <= seeds
    if there < seeds:
        assert process.returncode == 130, said
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert f"{seeds} runs, {seeds - there} of them new." in again.stdout
    assert len(read_results(kept)) == seeds


def test_how_long_it_takes_is_told_by_the_runs_that_are_most_alike() -> None:
    def result(name: str, overlay: str, seconds: float) -> Result:
        made = run_scenario(SMALL, 0).result
        return replace(made, name=name, overlay=overlay, wall_seconds=seconds)

    left = [(replace(SMALL, overlay="opt", name=name), 5) for name in ("opt, calm", "opt, churned")]
    assert remaining_s(left, [], 1) is None
    finished = [result("opt, calm", "opt", 4.0)]
    assert remaining_s(left, finished, 1) == 8
    finished += [result("opt, churned", "opt", 10.0), result("rvr, calm", "rvr", 90.0)]
    assert remaining_s(left, finished, 1) == 14
    assert remaining_s(left, finished, 2) == 7
    assert remaining_s(left, finished, 9) == 7, "two runs keep two processes busy"
    assert told(left, 300) == "opt, calm, seed 5; opt, churned, seed 5; about 5 min left"
    assert told(left * 2, None).endswith("opt, calm, seed 5 and 1 more")
    assert told(left[:1], 20) == "opt, calm, seed 5; about 20 s left"


def social(path: Path, nodes: int) -> Path:
    rows = [f"u{i},u{(i * k + k) % nodes}" for i in range(nodes) for k in range(2, 6)]
    path.write_text("\n".join(["node,topic", *rows]) + "\n", encoding="utf-8")
    return path


def test_a_small_table_is_taken_whole_and_so_is_one_with_names_in_other_files(
    tmp_path: Path,
) -> None:
    scenario = replace(SMALL, workload=WorkloadSpec(file=str(social(tmp_path / "x.csv", 400))))
    assert take_sample([scenario], tmp_path) == ([scenario], "")
    assert take_sample([SMALL], tmp_path) == ([SMALL], "")
    large = replace(SMALL, workload=WorkloadSpec(file=str(social(tmp_path / "x.csv", 900))))
    named = replace(large, churn=ChurnSpec(model="file", file="churn.csv"))
    assert take_sample([large, named], tmp_path) == ([large, named], "")


def test_a_large_table_is_sampled_the_same_each_time(tmp_path: Path) -> None:
    table = social(tmp_path / "friends.csv", 900)
    scenario = replace(SMALL, workload=WorkloadSpec(file=str(table)))
    prints = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (part,), about = take_sample([scenario], tmp_path / name)
        assert "a sample of 900 nodes and" in about
        assert "breadth-first" in about
        prints.append(part.fingerprint())
        found = load_subscriptions(Path(part.workload.file))
        assert 400 < len(found.labels) <= 500
        assert set(found.topics) <= set(load_subscriptions(table).labels)
    assert prints[0] == prints[1] != scenario.fingerprint()


def test_the_page_says_what_was_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare_data, "SAMPLE_NODES", 30)
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"n{n};g{g}\n" for n in range(60) for g in (n % 5, 5 + n % 7))
    Path("groups.csv").write_text("user;group\n" + rows)
    arguments = [
        "--subscriptions", "groups.csv", "--columns", "user,group", "--overlay", "random",
        "--churn", "none", "--seeds", "0", "--workers", "1",
    ]  # fmt: skip
    for options, said, nodes in (
        (
            [],
            "from groups.csv, a sample of 60 nodes and 12 topics: random nodes with all topics",
            30,
        ),
        (["--full"], "all 60 nodes, 12 topics from groups.csv", 60),
    ):
        done = CliRunner().invoke(app, [*arguments, *options, "--json"])
        assert done.exit_code == 0, done.output
        assert said in Path("compare.html").read_text(encoding="utf-8")
        found = json.loads(done.stdout.splitlines()[-1])
        assert found["calm"]["random"][0]["nodes"] == nodes
