"""The store: each run once, whole or not at all, in a folder and at an address."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from orbweaver.cli.main import make_app
from orbweaver.core.errors import UsageError
from orbweaver.pipeline import store as stores
from orbweaver.pipeline import upkeep
from orbweaver.pipeline.measure import measure
from orbweaver.pipeline.store import LOOKS, RESULTS, Made, RunStore, locate_store, look_rows
from orbweaver.pipeline.sweep import sweep
from orbweaver.study.results import Stored, append_results
from orbweaver.study.run import Run, run_id, run_scenario
from orbweaver.workload.scenario import PublishSpec, RunSpec, Scenario, WorkloadSpec

SCENARIO = Scenario(
    overlay="spidercast",
    name="small",
    workload=WorkloadSpec(nodes=10, topics=4, subscriptions_per_node="2"),
    publish=PublishSpec(per_topic=0),
    run=RunSpec(warmup_ms=1000, drain_ms=0),
)
CODE = "c0de"


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return [run_scenario(SCENARIO, seed) for seed in range(3)]


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """An S3 server on loopback; yields the options to reach it. It is a process of its own, since
    Delta waits for it without letting other threads run."""
    for name in ("moto", "flask"):
        pytest.importorskip(name, reason="an S3 server is needed: pip install 'moto[server]'")
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    log = tmp_path_factory.mktemp("s3") / "log"
    with log.open("w") as output, subprocess.Popen(command, stderr=output) as server:
        while not (found := re.search(r"http://(\S+)", log.read_text())):
            assert server.poll() is None, log.read_text()
            time.sleep(0.05)
        place = found[1]
        with closing(http.client.HTTPConnection(place)) as connection:
            connection.request("PUT", "/runs")
            assert connection.getresponse().status == 200
        yield [
            f"AWS_ENDPOINT_URL=http://{place}",
            "AWS_ACCESS_KEY_ID=test",
            "AWS_SECRET_ACCESS_KEY=test",
            "AWS_REGION=us-east-1",
            "AWS_ALLOW_HTTP=true",
        ]
        server.kill()


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> RunStore:
    if request.param == "folder":
        made = locate_store(str(tmp_path / "store"))
    else:
        made = locate_store(f"s3://runs/{tmp_path.name}", request.getfixturevalue("bucket"))
    made.create()
    return made


def write(store: RunStore, runs: list[Run]) -> list[Made]:
    return [store.write_looks(Stored(CODE, run.result), run) for run in runs]


def look_count(store: RunStore) -> dict[str, int]:
    rows = store.rows(store.open(), LOOKS, ["run"]).column("run").to_pylist()
    return {run: rows.count(run) for run in rows}


def ids(runs: list[Run]) -> set[str]:
    return {run.result.run_id for run in runs}


def cut(store: RunStore, name: str, keep: int = -50) -> None:
    with store.files.open_input_file(name) as file:
        data = file.read()
    store.put(name, data[:keep] if keep < 0 else data[:keep] + bytes(30) + data[keep + 30 :])


def test_runs_come_with_their_snapshots(store: RunStore, runs: list[Run]) -> None:
    made = write(store, runs[:2])
    assert store.results().each() == [], "nothing is there before the commit"
    store.add(made)
    store.add(write(store, runs[2:]))
    assert sorted(one.result.seed for one in store.results().each()) == [0, 1, 2]
    found = {one.result.run_id: one.result for one in store.results().each()}
    assert found == {run.result.run_id: run.result for run in runs}
    assert look_count(store) == dict.fromkeys(ids(runs), 10)
    assert len(store.results([runs[1].result.run_id])) == 1
    commits = upkeep.history(store)
    assert [one["runs"] for one in commits] == [1, 2, 0]
    assert upkeep.damaged(store, thorough=True) == {}
    assert upkeep.incomplete(store) == set()


def test_a_run_is_stored_once_though_two_sweeps_make_it(
    store: RunStore, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second sweep commits between the look of the first one and its commit."""
    mine, theirs = write(store, runs[:2]), write(store, runs[1:])
    put = RunStore._write

    def interrupted(self: RunStore, *of: object) -> int:
        monkeypatch.setattr(RunStore, "_write", put)
        store.add(theirs)
        return put(self, *of)  # type: ignore[arg-type]

    monkeypatch.setattr(RunStore, "_write", interrupted)
    store.add(mine)
    assert look_count(store) == dict.fromkeys(ids(runs), 10)
    assert store.rows(store.open(), RESULTS, ["run"]).num_rows == 3
    store.add(mine)
    assert store.rows(store.open(), RESULTS, ["run"]).num_rows == 3


def test_a_damaged_file_is_taken_out_with_its_runs(store: RunStore, runs: list[Run]) -> None:
    store.add(write(store, runs[:1]))
    store.add(write(store, runs[1:]))
    looks = {name for name in store.listed(store.open(), LOOKS) if runs[1].result.run_id in name}
    cut(store, *looks)
    bad = upkeep.damaged(store)
    assert bad.keys() == looks
    assert upkeep.take_out(store, bad) == 1
    assert upkeep.damaged(store) == {}
    assert look_count(store).keys() == ids([runs[0], runs[2]])
    assert {one.result.run_id for one in store.results().each()} == ids([runs[0], runs[2]])
    # A file of results: the snapshots of its runs go too.
    cut(store, next(iter(store.listed(store.open(), RESULTS))))
    assert upkeep.take_out(store, upkeep.damaged(store)) >= 1
    left = {one.result.run_id for one in store.results().each()}
    assert look_count(store).keys() == left != ids([runs[0], runs[2]])
    store.add(write(store, runs))
    assert look_count(store) == dict.fromkeys(ids(runs), 10), "what was lost can come again"


def test_damage_that_keeps_the_size_is_found_by_a_thorough_check(
    store: RunStore, runs: list[Run]
) -> None:
    store.add(write(store, runs[:1]))
    (name,) = store.listed(store.open(), LOOKS)
    cut(store, name, 4)
    assert upkeep.damaged(store) == {}
    assert upkeep.damaged(store, thorough=True).keys() == {name}


def test_many_files_become_few_and_nothing_of_the_table_is_deleted(
    tmp_path: Path, runs: list[Run]
) -> None:
    store = locate_store(str(tmp_path / "store"))
    store.create()
    for run in runs[:2]:
        store.add(write(store, [run]))
    uncommitted = write(store, runs[2:])
    forgotten = tmp_path / "store" / LOOKS / "of-a-task-that-was-killed.parquet"
    forgotten.write_bytes(b"PAR1")
    old = time.time() - 8 * 86_400
    os.utime(forgotten, (old, old))
    found = upkeep.compact(store, 168)
    assert found == {"files_before": 4, "files_after": 2, "deleted": 1}
    assert not forgotten.exists()
    assert len(store.listed(store.open())) == 2
    store.add(uncommitted)
    assert look_count(store) == dict.fromkeys(ids(runs), 10)
    assert upkeep.damaged(store, thorough=True) == {}


def test_a_store_of_an_earlier_version_is_converted(tmp_path: Path, runs: list[Run]) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    (old / "looks").mkdir(parents=True)
    append_results(old / "results.jsonl", [Stored(CODE, run.result) for run in runs])
    schema = stores.to_arrow_schema(stores.LOOK).with_metadata(
        {"scenario": msgspec.json.encode(SCENARIO)}
    )
    for run in runs[:2]:  # the file of the third one was moved away, since it was damaged
        rows = stores.pa.Table.from_pylist(look_rows(run.result.run_id, run.looks), schema)
        pq.write_table(rows, old / "looks" / f"{run.result.run_id}-{CODE}.parquet")
    with pytest.raises(UsageError, match="'orbweaver store convert"):
        locate_store(str(old)).check()
    assert command("convert", old, new) == (0, {"runs": 2})
    store = locate_store(str(new))
    assert look_count(store) == dict.fromkeys(ids(runs[:2]), 10)
    (scenario, _) = store.rows(store.open(), RESULTS, ["scenario"]).column(0).to_pylist()
    assert msgspec.json.decode(scenario, type=Scenario) == SCENARIO
    assert command("convert", old, new) == (0, {"runs": 2}), "once more changes nothing"
    assert len(store.results()) == 2
    with pytest.raises(UsageError, match=r"has no results\.jsonl"):
        upkeep.convert(new, store)


def test_the_commands(tmp_path: Path, runs: list[Run]) -> None:
    store = locate_store(str(tmp_path / "store"))
    store.create()
    store.add(write(store, runs))
    assert command("check", store.place)[0] == 0
    name = next(iter(store.listed(store.open(), LOOKS)))
    cut(store, name)
    code, found = command("check", store.place)
    assert (code, list(found["damaged"]), found["runs_taken_out"]) == (1, [name], 0)
    code, found = command("check", store.place, "--repair")
    assert (code, list(found["damaged"]), found["runs_taken_out"]) == (1, [name], 1)
    assert command("check", store.place)[0] == 0
    assert command("compact", store.place)[1]["files_before"] == 2
    assert command("history", store.place)[1][-1]["operation"] == "CREATE TABLE"
    printed = CliRunner().invoke(make_app(), ["store", "history", store.place])
    assert "OPTIMIZE" in printed.stdout


def test_a_sweep_into_an_address(spark: SparkSession, bucket: list[str], tmp_path: Path) -> None:
    """Workers write snapshots there, and a second sweep takes up the runs that it finds."""
    store = locate_store(f"s3://runs/{tmp_path.name}", bucket)
    jobs = [(SCENARIO, seed) for seed in range(3)]
    assert sweep(spark, jobs[:2], store).ran == 2
    again = sweep(spark, jobs, store)
    assert (again.ran, [result.seed for result in again.results]) == (1, [0, 1, 2])
    assert measure(spark, store, tmp_path / "measured").tables["runs"] == 3
    assert look_count(store) == dict.fromkeys((run_id(*job) for job in jobs), 10)


@pytest.mark.parametrize(
    ("place", "options", "complaint"),
    [
        ("s3://x/y", ["AWS_REGION"], "'AWS_REGION' should look like NAME=VALUE"),
        ("x", ["A=B"], "is for an address"),
        ("a%20b", [], "misreads a % in a name"),
    ],
)
def test_bad_places(place: str, options: list[str], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        locate_store(place, options).check()


def test_no_store(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a store of runs; 'orbweaver sweep' makes one"):
        locate_store(str(tmp_path)).results()


def command(*arguments: str | Path) -> tuple[int, dict]:
    given = ["store", *map(str, arguments), "--json"]
    done = CliRunner().invoke(make_app(), given)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, json.loads(done.stdout.splitlines()[-1])
