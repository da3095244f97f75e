"""`orbweaver compare`, as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orbweaver.cli.seeds import parse_seeds
from orbweaver.core.errors import UsageError

SMALL = ["--nodes", "40", "--topics", "10", "--subscriptions-per-node", "3"]


def orbweaver(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from orbweaver.cli.main import main; main()", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_table_and_page(tmp_path: Path) -> None:
    names = ("spidercast", "similarity", "random", "ring-per-topic")
    chosen = [part for name in names for part in ("--overlay", name)]
    run = orbweaver(
        "compare", *SMALL, *chosen, "--seeds", "0-1", "--out", "page.html", cwd=tmp_path
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    for name in (*names, "page.html"):
        assert name in run.stdout
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<figure>") == 4
    assert "With churn: nodes come and go" in page
    assert "Every expected delivery happened with churn: " in page
    assert sorted(f.name for f in tmp_path.iterdir()) == ["out", "page.html"]


@pytest.mark.parametrize("json_wanted", [False, True])
def test_without_altair_there_are_the_tables(tmp_path: Path, json_wanted: bool) -> None:
    code = "import sys; sys.modules['altair'] = None; from orbweaver.cli.main import main; main()"
    options = ["--overlay", "random", "--churn", "none", "--seeds", "0"]
    line = [sys.executable, "-c", code, "compare", *SMALL, *options, *["--json"] * json_wanted]
    run = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "no page will be written, since its plots need" in run.stderr
    assert [f.name for f in tmp_path.iterdir()] == ["out"], "what was run is kept"
    if json_wanted:
        assert json.loads(run.stdout.splitlines()[-1])["page"] is None
    else:
        assert "hit ratio" in run.stdout
        assert "The page" not in run.stdout


def test_own_data_and_json(tmp_path: Path) -> None:
    rows = [f"n{n},topic {t}" for n in range(12) for t in (n % 3, 3 + n % 2)]
    (tmp_path / "mine.csv").write_text("\n".join(["node,topic", *rows]) + "\n", encoding="utf-8")
    run = orbweaver(
        "compare", "--subscriptions", "mine.csv", "--overlay", "spidercast", "--seeds", "4",
        "--churn", "none", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout.splitlines()[-1])
    assert list(result) == ["calm", "page"]
    (only,) = result["calm"]["spidercast"]
    assert (only["nodes"], only["topics"], only["seed"]) == (12, 5, 4)
    assert only["metrics"]["hit_ratio"] == 1
    assert (tmp_path / result["page"]).exists()


def test_a_scenario_on_a_folder_of_tables_with_other_nodes_coming_and_going(tmp_path: Path) -> None:
    names = [f"n{n}" for n in range(12) for _ in range(2)]
    topics = [f"t{t}" for n in range(12) for t in (n % 3, 3)]
    (tmp_path / "data/subscriptions").mkdir(parents=True)
    table = pa.table({"node": names, "topic": topics})
    pq.write_table(table, tmp_path / "data/subscriptions/part-0.parquet")
    rows = ["0,m1,join", "0,m2,join", "9000000,m1,leave"]
    (tmp_path / "machines.csv").write_text("\n".join(["time,node,kind", *rows]) + "\n")
    (tmp_path / "mine.toml").write_text(
        'overlay = "random"\nworkload = { file = "data" }\n'
        'churn = { model = "file", file = "machines.csv", nodes = "in order", speed = 1000 }\n'
    )
    run = orbweaver(
        "compare", "mine.toml", "--overlay", "spidercast", "--seeds", "0", "--json", cwd=tmp_path
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    (only,) = found["churned"]["spidercast"]
    assert (only["nodes"], only["topics"]) == (12, 4)
    assert only["metrics"]["nodes_up"] == 11, "the second 9 of the trace is before the end"
    assert found["calm"]["spidercast"][0]["metrics"]["nodes_up"] == 12
    page = (tmp_path / "compare.html").read_text(encoding="utf-8")
    assert "12 nodes, 4 topics from data, churn from machines.csv" in page


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--overlay", "spidercat"], "did you mean 'spidercast'"),
        (["--seeds", "a-b"], "should look like"),
        (["--out", "nowhere/page.html"], "there is no folder"),
        (["--subscriptions", "absent.csv"], "leave out --nodes"),
        (["--workers", "-1"], "--workers"),
        (["--set", "kg=2"], "--set takes OVERLAY.NAME=VALUE"),
        (["--set", "spidercat.kg=2"], "did you mean 'spidercast'"),
        (["--set", "spidercast.kq=2"], "has no parameter 'kq'"),
        (["--set", "spidercast.kg=two"], "expected `int`, got 'two'"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], complaint: str, tmp_path: Path) -> None:
    run = orbweaver("compare", *SMALL, *arguments, cwd=tmp_path)
    assert run.returncode == 2
    assert complaint in run.stderr
    assert len(run.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_parameters_are_set_for_each_overlay_and_an_oracle_is_named(tmp_path: Path) -> None:
    both = ["--overlay", "spidercast", "--overlay", "random", "--churn", "none", "--seeds", "0"]
    told = "spidercast: of all nodes (membership=full)"
    run = orbweaver("compare", *SMALL, *both, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert told not in run.stdout + (tmp_path / "compare.html").read_text(encoding="utf-8")
    sets = ["--set", "spidercast.membership=full", "--set", "random.random=4", "--json"]
    run = orbweaver("compare", *SMALL, *both, *sets, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    calm = json.loads(run.stdout.splitlines()[-1])["calm"]
    params = {overlay: results[0]["params"] for overlay, results in calm.items()}
    assert params == {"spidercast": {"membership": "full"}, "random": {"random": 4}}
    page = (tmp_path / "compare.html").read_text(encoding="utf-8")
    assert told in page
    assert "spidercast membership=full; random random=4" in page


@pytest.mark.parametrize("command", ["compare", "simulate"])
def test_a_table_of_ones_own_shape(tmp_path: Path, command: str) -> None:
    rows = "".join(f"{n};n{n};t{t}\n" for n in range(12) for t in (n % 3, 3 + n % 2))
    (tmp_path / "mine.csv").write_text("at;user;group\n" + rows, encoding="utf-8")
    only = ["--churn", "none", "--seeds", "0"] if command == "compare" else []
    table = ["--subscriptions", "mine.csv", "--overlay", "spidercast", *only]
    run = orbweaver(command, *table, cwd=tmp_path)
    assert run.returncode == 2
    assert "no column 'node'; line 1 has 'at', 'user', 'group': pass --columns" in run.stderr
    run = orbweaver(command, *table, "--columns", "user,group", "--json", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "node and topic are the columns 'user' and 'group'" in run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    only_one = found["calm"]["spidercast"][0] if command == "compare" else found
    assert (only_one["nodes"], only_one["topics"]) == (12, 5)
    run = orbweaver(command, "--columns", "1,2", "--overlay", "spidercast", cwd=tmp_path)
    assert run.returncode == 2
    assert "columns describes a table of subscriptions" in run.stderr


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    run = orbweaver("compare", "--subscriptions", "absent.csv", cwd=tmp_path)
    assert run.returncode == 2
    assert "no such file" in run.stderr


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("0-2", [0, 1, 2]), ("7", [7]), ("1,5,9,1", [1, 5, 9]), ("0-1,4", [0, 1, 4])],
)
def test_seeds(text: str, seeds: list[int]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "a", "3-1", "-1", "1-", "0-99999"])
def test_bad_seeds(text: str) -> None:
    with pytest.raises(UsageError):
        parse_seeds(text)
