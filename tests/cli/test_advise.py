"""`orbweaver advise`, as a user runs it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from orbweaver.cli.advise import (
    advise,
    read_churn_option,
    read_data,
    read_latency_option,
)
from orbweaver.cli.amounts import parse_bytes, parse_rate, parse_time_ms
from orbweaver.core.errors import UsageError
from orbweaver.study.advice.samples import Samples
from orbweaver.study.results import read_results
from orbweaver.workload.subscriptions import load_subscriptions
from tests.cli.commands import Command, until

app = typer.Typer()
app.command()(advise)
TWO = ["--overlay", "ring-per-topic", "--overlay", "random", "--workers", "1"]


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a table of 40 nodes, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"n{n};g{t}\n" for n in range(40) for t in (n % 8, 8 + n % 5))
    path = tmp_path / "mine.csv"
    path.write_text("user;group\n" + rows, encoding="utf-8")
    (tmp_path / "alone.csv").write_text("node,topic\na,x\na,y\nb,z\n", encoding="utf-8")
    return path


def test_the_verdict_and_what_it_rests_on(mine: Path) -> None:
    done = CliRunner().invoke(app, [str(mine), *TWO])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    last = [line for line in lines if line.startswith("Pick ring-per-topic: every event arrives")]
    assert last, done.stdout
    assert any(line.startswith("Not suitable: random (") for line in lines)
    (row,) = [line.split("│") for line in lines if line.startswith("│ ring-per-topic")]
    assert f"links a node and {row[6].strip()} at most" in last[0], "the table says the same"
    assert "node and topic are the columns 'user' and 'group'" in done.stderr
    assert "6 runs: ring-per-topic, random; 40 nodes" in done.stderr
    kept = Path("out/advise/results.jsonl").read_bytes()
    again = CliRunner().invoke(app, [str(mine), *TWO, "--json"])
    assert again.exit_code == 0, again.output
    assert "runs:" not in again.stderr
    assert Path("out/advise/results.jsonl").read_bytes() == kept, "nothing is run twice"
    told = json.loads(again.stdout.splitlines()[-1])
    assert (told["pick"], told["sure"]) == ("ring-per-topic", True)
    assert told["data"]["nodes"] == 40
    assert told["ran"]["runs"] == 6
    assert "Pick ring-per-topic: every event arrives" in Path(told["page"]).read_text("utf-8")


def test_the_exit_code_says_that_no_overlay_meets_the_constraints(mine: Path) -> None:
    done = CliRunner().invoke(app, [str(mine), *TWO, "--quick", "--max-links", "1", "--json"])
    assert done.exit_code == 1, done.output
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["pick"] is None
    assert {one["place"] for one in told["ratings"]} == {"out"}


def test_ctrl_c_keeps_everything_and_the_next_call_goes_on(mine: Path) -> None:
    arguments = ["advise", str(mine), *TWO, "--quick"]
    kept = Path("out/advise/results.jsonl")
    with Command(mine.parent, *arguments) as command:
        until("no run was kept", lambda: kept.exists() and kept.read_bytes().count(b"\n") > 0)
        command.process.send_signal(signal.SIGINT)
        code = command.ends()
    there = len(read_results(kept))
    assert 1 <= there <= 6
    if there < 6:
        assert code == 130
    line = [sys.executable, "-m", "orbweaver", *arguments, "--json"]
    again = subprocess.run(line, capture_output=True, text=True, check=True)
    assert json.loads(again.stdout.splitlines()[-1])["ran"]["runs"] == 6
    assert len(read_results(kept)) == 6


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["absent.csv"], "no such file"),
        (["--columns", "1,2"], "describe a table"),
        (["mine.csv", "--churn", "sessions:30"], "should look like 30m"),
        (["mine.csv", "--churn", "sessions:1ms"], "last a second"),
        (["mine.csv", "--churn", "nowhere.csv"], "or write sessions:30m"),
        (["mine.csv", "--latency", "lam"], "write lan or wan"),
        (["mine.csv", "--rate", "fast"], "should look like 10/s"),
        (["mine.csv", "--rate", "0/s"], "above 0"),
        (["mine.csv", "--rate", "10/fortnight"], "'10/fortnight' should look like 10/s"),
        (["mine.csv", "--payload", "1 furlong"], "units: B, KB, MB"),
        (["mine.csv", "--payload", "2MB"], "'2MB' should be at most 1,048,576 bytes"),
        (["alone.csv"], "each topic has one subscriber"),
        (["mine.csv", "--overlay", "spidercat"], "did you mean 'spidercast'"),
        (["mine.csv", "--scale", "1000"], "needs data of at least 60 nodes"),
    ],
)
@pytest.mark.usefixtures("mine")
def test_bad_input_is_told_before_anything_runs(arguments: list[str], complaint: str) -> None:
    done = CliRunner().invoke(app, arguments)
    assert isinstance(done.exception, UsageError), done.output
    assert complaint in str(done.exception)
    assert not Path("out").exists()


def test_amounts() -> None:
    assert parse_time_ms("x", "30m") == 1_800_000
    assert parse_time_ms("x", "1.5h") == 5_400_000
    sizes = [parse_bytes("x", text, 1 << 30) for text in ("1KB", "100", "2 mb")]
    assert sizes == [1000, 100, 2_000_000]
    assert [parse_rate("x", text) for text in ("10/s", "10", "600/m")] == [10, 10, 10]


def test_circumstances() -> None:
    spec, words = read_churn_option("sessions:30m")
    assert (spec.on_ms, spec.off_ms, spec.down) == (1_800_000, 450_000, "crash")
    assert "after 30m" in words
    assert read_churn_option(None) == (type(spec)(), "")
    assert read_latency_option("wan")[0] is None
    lan, _ = read_latency_option("lan")
    assert lan is not None
    assert (lan.model, lan.ms) == ("constant", 1)


def test_the_example_is_always_the_same() -> None:
    whole, _, topics_are_nodes = read_data(None, None, None)
    assert (len(whole.labels), len(whole.topics), topics_are_nodes) == (300, 60, False)
    assert read_data(None, None, None)[0] == whole


def test_tables_of_samples_fit_together(tmp_path: Path) -> None:
    whole, _, _ = read_data(None, None, None)
    samples = Samples(whole, False, tmp_path)
    part, drawn = load_subscriptions(samples.table(40, 1)), samples.draw(40, 1)
    assert (part.labels, part.of_node) == (drawn.labels, drawn.of_node)
    assert len(part.labels) == 40
    assert drawn != samples.draw(40, 2)
    places = dict(line.split(",", 1) for line in samples.places(40, 1).read_text().splitlines())
    assert list(places)[1:] == list(part.labels)
    others = dict(line.split(",", 1) for line in samples.places(300, 0).read_text().splitlines())
    assert all(others[label] == place for label, place in places.items())


def test_churn_of_nodes_outside_a_sample_is_left_out(tmp_path: Path) -> None:
    whole, _, _ = read_data(None, None, None)
    samples = Samples(whole, False, tmp_path)
    there = samples.draw(40, 1).labels
    away = next(label for label in whole.labels if label not in there)
    source = tmp_path / "churn.csv"
    source.write_text(f"time,node,kind\n5,{there[0]},crash\n7,{away},crash\n", encoding="utf-8")
    named = samples.churn(source, 40, 1)
    assert named is not None
    assert named.read_text(encoding="utf-8") == f"time,node,kind\n5.0,{there[0]},crash\n"
    source.write_text("time,node,kind\n5,machine,crash\n", encoding="utf-8")
    assert samples.churn(source, 40, 1) is None, "it plays other nodes, in order"
