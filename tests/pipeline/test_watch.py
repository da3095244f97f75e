"""A watch counts what files say: in batches, over stops and kills, and live.

Run as a script, this file is a watch that is killed in a batch.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from orbweaver.core.errors import UsageError
from orbweaver.metrics.averages import plain
from orbweaver.metrics.minutes import ALL, minutes
from orbweaver.metrics.traffic import sent_bytes
from orbweaver.pipeline.session import spark_session
from orbweaver.pipeline.watch import batches, kept, source
from orbweaver.pipeline.watch.batches import CountedBatch, close_minutes
from orbweaver.pipeline.watch.kept import State, WatchFolder
from orbweaver.pipeline.watch.run import watch
from orbweaver.pipeline.watch.source import FilePiece, pieces, shared_out, whole_lines
from orbweaver.records.following import MINUTE_MS
from orbweaver.records.gather import gather
from orbweaver.report.watched import read_watched
from tests.cli.commands import Command, until
from tests.records.course import Course

FILE = "node-0000000000000001.jsonl"
KILLED = -signal.SIGKILL
LIMIT_S = 600
"""For a whole process with Spark, on a machine with much else to do."""


def expected(records: Path) -> list[dict[str, Any]]:
    """The minutes with events, as they are found in the files by other means."""
    found, gathered = gather(records)
    return [plain(dataclasses.asdict(one)) for one in minutes(found, gathered.start_ms)]


def counted(out: WatchFolder) -> list[dict[str, Any]]:
    rows = [row for row in out.rows() if row["published"]]
    return [{name: row[name] for name in row if name != "control_bytes"} for row in rows]


def control_bytes(records: Path) -> int:
    return sum(n for what, n in sent_bytes(gather(records)[0]).items() if what != "data")


# -- the source


def test_an_offset_ends_at_the_end_of_a_line(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(source, "BLOCK_BYTES", 3)
    assert whole_lines(tmp_path, {}) == {}
    (tmp_path / FILE).write_bytes(b"first")
    (tmp_path / "other.jsonl").write_bytes(b"not of a node\n")
    assert whole_lines(tmp_path, {}) == {}
    (tmp_path / FILE).write_bytes(b"first\nsecond\nthi")
    (tmp_path / "host7").mkdir()
    (tmp_path / "host7" / FILE).write_bytes(b"\n")
    assert whole_lines(tmp_path, {}) == {FILE: 13, f"host7/{FILE}": 1}
    assert whole_lines(tmp_path, {FILE: 13}) == {FILE: 13, f"host7/{FILE}": 1}
    (tmp_path / FILE).unlink()
    assert whole_lines(tmp_path, {FILE: 13}) == {FILE: 13, f"host7/{FILE}": 1}, "never goes back"


def test_a_file_without_the_id_of_a_node(tmp_path: Path) -> None:
    (tmp_path / "node-mine.jsonl").write_bytes(b"\n")
    with pytest.raises(UsageError, match="is no file of a node"):
        whole_lines(tmp_path, {})


def test_large_files_are_cut_and_small_ones_put_together(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(source, "PIECE_BYTES", 10)
    (tmp_path / FILE).write_bytes(b"123456\n" * 5)
    found = pieces(tmp_path, {FILE: 7}, {FILE: 35, "small": 4})
    assert found == [FilePiece(FILE, 7, 21), FilePiece(FILE, 21, 35), FilePiece("small", 0, 4)]
    small = [FilePiece(name, 0, 4) for name in "abcd"]
    assert list(shared_out(small)) == [small[:3], small[3:]]
    assert list(shared_out([])) == []


def test_a_file_that_became_shorter(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b'{"what":"leave","at":1}\n')
    with pytest.raises(UsageError, match="is not what it was"):
        list(source.read_file(tmp_path, FilePiece(FILE, 0, 30)))


# -- the counting


def test_a_watch_goes_on_where_it_stopped(
    spark: SparkSession, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(source, "PIECE_BYTES", 2000)
    records, out = tmp_path / "records", WatchFolder(tmp_path / "out")
    told: list[CountedBatch] = []
    for _ in Course(records).parts():
        state = watch(spark, records, out, told.append, once=True)
        assert counted(out) == expected(records)
    assert len(told) > 3
    assert (state.lives.damaged, state.unknown, state.late, state.lives.up) == (1, 0, 0, 0)
    assert state.lives.lines == sum(batch.lines for batch in told)
    assert sum(row["control_bytes"] or 0 for row in out.rows()) == control_bytes(records)
    summary = read_watched(out.folder)
    assert [row["minute_ms"] for row in summary.minutes] == sorted(state.lives.control)
    assert {row["topic"] for row in summary.topics} == {"news", "sport"}
    assert ALL not in {row["topic"] for row in summary.topics}
    assert "By minute of publication" in out.page.read_text(encoding="utf-8")
    states = {path.name for path in out.state.iterdir() if path.suffix}
    assert states == {f"{state.batch}.json"}, "states of earlier batches are deleted"


def test_closed_minutes_stay_as_they_are(
    spark: SparkSession, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(batches, "RECENT_MS", 60_000)
    monkeypatch.setattr(kept, "TIDY_BATCHES", 1)
    records, out = tmp_path / "records", WatchFolder(tmp_path / "out")
    for _ in Course(records).parts():
        state = watch(spark, records, out, lambda _: None, once=True)
    rows = out.rows()
    assert rows[0]["minute_ms"] < state.horizon_ms < rows[-1]["minute_ms"]
    with (records / FILE).open("ab") as file:
        for at in (rows[0]["minute_ms"], state.now_ms):
            file.write(b'{"what":"publish","at":%d,"event":"1-99-%d-news"}\n' % (at, at))
    state = watch(spark, records, out, lambda _: None, once=True)
    assert state.late == 1
    assert out.rows()[:-3] == rows[:-3]
    assert out.rows()[-3]["published"] == rows[-3]["published"] + 1
    assert set(state.receipts) == {m for m in state.receipts if m >= state.horizon_ms} != set()


def test_when_minutes_are_closed(monkeypatch: Any) -> None:
    state = State("records", now_ms=100 * MINUTE_MS + 5)
    state.publications = {str(minute): minute * MINUTE_MS for minute in range(20, 101)}
    state.receipts = {minute * MINUTE_MS: [1] for minute in range(20, 101)}
    close_minutes(state)
    assert state.horizon_ms == 40 * MINUTE_MS == min(state.receipts)
    assert min(state.publications.values()) == state.horizon_ms
    monkeypatch.setattr(batches, "RECENT_EVENTS", 10)
    close_minutes(state)
    assert state.horizon_ms == 91 * MINUTE_MS, "the last ten events are of these minutes"
    state.now_ms = 0
    close_minutes(state)
    assert state.horizon_ms == 91 * MINUTE_MS, "it never goes back"


def test_deliveries_without_a_publication(
    spark: SparkSession, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(batches, "PATIENCE_MS", 1000)
    records, out = tmp_path / "records", WatchFolder(tmp_path / "out")
    course = Course(records)
    next(course.parts())
    with (records / FILE).open("ab") as file:
        at = course.nodes.clock.now
        file.write(b'{"what":"deliver","at":%d,"event":"99-7-0-news","hops":1}\n' % at)
    assert watch(spark, records, out, lambda _: None, once=True).unknown == 0
    course.pass_time(5000)
    course.flush()
    assert watch(spark, records, out, lambda _: None, once=True).unknown == 1
    course.pass_time(5000)
    course.flush()
    assert watch(spark, records, out, lambda _: None, once=True).unknown == 1


# -- stops


def test_killed_in_a_batch_nothing_is_lost_or_counted_twice(
    spark: SparkSession, tmp_path: Path
) -> None:
    records, out = tmp_path / "records", WatchFolder(tmp_path / "out")
    for number, _ in enumerate(Course(records).parts()):
        if number in (1, 2):
            moment = "before" if number == 1 else "after"
            done = subprocess.run(
                [sys.executable, __file__, str(records), str(out.folder), moment],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
            )
            assert done.returncode == KILLED, done.stderr
        else:
            watch(spark, records, out, lambda _: None, once=True)
            assert counted(out) == expected(records)
    assert sum(row["control_bytes"] or 0 for row in out.rows()) == control_bytes(records)
    lines = sum(
        bool(line.strip())
        for path in records.glob("node-*")
        for line in path.read_bytes().splitlines()
    )
    lives = out.load(records).lives
    assert lives.lines + lives.damaged == lines


def kill_at(moment: str) -> None:
    """Let this process end by SIGKILL when a batch is about to be committed, or has just been."""
    commit = WatchFolder.commit

    def killed(self: WatchFolder, state: State, rows: Any) -> None:
        if moment == "after":
            commit(self, state, rows)
        os.kill(os.getpid(), signal.SIGKILL)

    WatchFolder.commit = killed  # type: ignore[method-assign]


# -- the command


def test_a_swarm_is_followed_while_it_runs(tmp_path: Path) -> None:
    records, out = tmp_path / "records", WatchFolder(tmp_path / "out")
    records.mkdir()
    command = ["watch", str(records), "--out", str(out.folder), "--every", "1"]
    options = ["--conf", "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1"]
    with (
        Command(tmp_path, *command, *options) as watching,
        Command(tmp_path, "swarm", "10", "--set", f"records={records}") as swarm,
    ):
        swarm.says("10 nodes up")

        def seen_live() -> bool:
            assert watching.process.poll() is None, watching.err
            return any(row["delivered"] for row in summary_of(out)["minutes"])

        until("no delivery was seen while the swarm ran", seen_live, LIMIT_S)
        assert swarm.process.poll() is None
        assert summary_of(out)["nodes_up"] == 10
        swarm.process.send_signal(signal.SIGINT)
        assert swarm.process.wait(LIMIT_S) == 0
        size = sum(whole_lines(records, {}).values())
        until("the end was not read", lambda: offset_of(out) == size, LIMIT_S)
        until("the end was not counted", lambda: summary_of(out)["nodes_up"] == 0, LIMIT_S)
        watching.process.send_signal(signal.SIGINT)
        assert watching.process.wait(LIMIT_S) == 0, watching.err
    assert "nodes up" in watching.out
    assert counted(out) == expected(records)
    assert sum(row["control_bytes"] or 0 for row in out.rows()) == control_bytes(records)
    assert not watching.left_behind()


def summary_of(out: WatchFolder) -> dict[str, Any]:
    path = out.folder / "watch.json"
    return json.loads(path.read_text()) if path.exists() else {"minutes": [], "nodes_up": -1}


def offset_of(out: WatchFolder) -> int:
    """How many bytes Spark has planned to read."""
    found = sorted(
        (p for p in (out.checkpoint / "offsets").glob("[0-9]*")), key=lambda p: int(p.name)
    )
    lines = found[-1].read_text().splitlines() if found else []
    return sum(json.loads(lines[-1]).values()) if lines else 0


def test_what_is_wrong_is_said_before_spark_starts(tmp_path: Path) -> None:
    records = tmp_path / "records"

    def refused(*arguments: str) -> str:
        with Command(tmp_path, "watch", *arguments) as command:
            assert command.process.wait(LIMIT_S) == 2
            return command.err

    assert "no such folder" in refused(str(records))
    records.mkdir()
    assert "name another master" in refused(str(records), "--master", "sc://here")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").touch()
    assert "holds other things" in refused(str(records), "--out", str(tmp_path / "out"))


if __name__ == "__main__":
    kill_at(sys.argv[3])
    session = spark_session(
        "local[2]", settings={"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
    )
    watch(session, Path(sys.argv[1]), WatchFolder(Path(sys.argv[2])), lambda _: None, once=True)
