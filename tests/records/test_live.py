"""What a live node writes, and what is left of it when the node is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.gossip.plumtree.messages import Prune, Push
from orbweaver.records.facts import (
    Copied,
    Delivered,
    Joined,
    Left,
    LostLines,
    Noted,
    Published,
    Sent,
    decode_fact,
)
from orbweaver.records.live import BUFFER_LINES, LiveRecorder
from tests.records.node_records import BORN, EVENT, Nodes

NAME = "1-70-2-news/sport"


@pytest.fixture
def nodes(tmp_path: Path) -> Nodes:
    return Nodes(tmp_path / "records")


def facts(recorder: LiveRecorder) -> list:
    return [decode_fact(line) for line in recorder.path.read_bytes().splitlines()]


def test_facts_are_written_when_flushed_and_at_the_end(nodes: Nodes) -> None:
    recorder = nodes.begin(1, kg=3)
    nodes.at(5)
    recorder.published(EVENT)
    assert recorder.path.name == "node-0000000000000001.jsonl"
    assert facts(recorder) == []
    recorder.flush()
    assert facts(recorder) == [
        Joined(BORN, NodeId(1), "spidercast", {"kg": 3}),
        Published(BORN + 5, NAME),
    ]
    recorder.delivered(EVENT, 2)
    nodes.end(recorder)
    assert facts(recorder)[2:] == [Delivered(BORN + 5, NAME, 2), Left(BORN + 5)]


def test_a_busy_node_does_not_keep_lines_back(nodes: Nodes) -> None:
    recorder = nodes.begin(1)
    for _ in range(BUFFER_LINES):
        recorder.delivered(EVENT, 1)
    assert len(facts(recorder)) == BUFFER_LINES
    recorder.close()


def test_copies_are_counted_and_written_together(nodes: Nodes) -> None:
    recorder = nodes.begin(1)
    for _ in range(3):
        recorder.carried(Push(EVENT, 1, 0), interested=True)
    recorder.flush()
    recorder.carried(Push(EVENT, 1, 0), interested=True)
    recorder.close()
    assert facts(recorder)[1:] == [Copied(BORN, {NAME: 3}), Copied(BORN, {NAME: 1})]


def test_a_note_has_what_has_changed(nodes: Nodes) -> None:
    recorder = nodes.begin(1)
    push, prune = Push(EVENT, 1, 0), Prune("news")
    recorder.sent(push, 50)
    recorder.sent(prune, 10)
    recorder.noticed(interested=False)
    recorder.received(1)
    recorder.received(4)
    recorder.note({"table": 3, "kr": 1}, {"queue": 0})
    recorder.sent(push, 60)
    recorder.note({"table": 4, "kr": 1}, {"queue": 2})
    recorder.note({"table": 4, "kr": 1}, {"queue": 2})
    recorder.close()
    assert facts(recorder)[1:] == [
        Noted(
            BORN,
            {"push": Sent("data", 1, 50), "prune": Sent("repair", 1, 10)},
            (0, 1),
            {},
            {"table": 3, "kr": 1},
            5,
        ),
        Noted(BORN, {"push": Sent("data", 2, 110)}, None, {"queue": 2}, {"table": 4}),
        Noted(BORN),
    ]


def test_time_never_goes_back(nodes: Nodes) -> None:
    recorder = nodes.begin(1)
    nodes.at(-5000)
    recorder.published(EVENT)
    recorder.close()
    assert [fact.at for fact in facts(recorder)] == [BORN, BORN]


def test_a_second_life_mends_the_line_that_the_first_tore(nodes: Nodes) -> None:
    first = nodes.begin(1)
    first.published(EVENT)
    first.close()
    with first.path.open("ab") as file:
        file.write(b'{"what":"deliver","at":17')
    second = nodes.begin(1)
    nodes.end(second)
    written = second.path.read_bytes().splitlines()
    assert written[2] == b'{"what":"deliver","at":17'
    assert [type(decode_fact(line)) for line in written[3:]] == [Joined, Left]


def test_a_full_disk_costs_lines_and_not_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    recorder = LiveRecorder(tmp_path, NodeId(1), clock_ms=lambda: BORN, trouble=told.append)
    recorder.joined()
    recorder.flush()
    written = os.write

    def full(handle: int, data: bytes) -> int:
        if len(data) <= 10:
            raise OSError(28, "No space left on device")
        return written(handle, data[:10])  # what still fits

    monkeypatch.setattr(os, "write", full)
    recorder.published(EVENT)  # all of it but the last bytes finds room
    recorder.flush()
    monkeypatch.setattr(os, "write", lambda *_: full(0, b""))
    for _ in range(3):
        recorder.published(EVENT)
    recorder.flush()
    monkeypatch.undo()
    recorder.delivered(EVENT, 1)
    recorder.close()
    good = [line for line in recorder.path.read_bytes().splitlines() if line.endswith(b"}")]
    assert [decode_fact(line) for line in good] == [
        Joined(BORN, NodeId(1)),
        LostLines(BORN, 4),
        Delivered(BORN, NAME, 1),
    ]
    assert told == ["No space left on device"]


def test_what_is_said_after_the_end_is_lost_in_silence(nodes: Nodes) -> None:
    recorder = nodes.begin(1)
    nodes.end(recorder)
    recorder.link(NodeId(2), "down")
    recorder.flush()
    recorder.close()
    assert len(facts(recorder)) == 2


def test_a_folder_that_cannot_be_written_to_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UsageError, match="records: cannot write"):
        LiveRecorder(tmp_path / "file", NodeId(1))


KILLED = """
import os, signal, sys
from pathlib import Path
from orbweaver.core.messages import Event
from orbweaver.records.live import LiveRecorder
recorder = LiveRecorder(Path(sys.argv[1]), 1)
recorder.joined()
for seq in range(100):
    recorder.published(Event("news", 1, 70, seq))
recorder.flush()
recorder.published(Event("news", 1, 70, 100))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_loses_what_it_had_not_flushed(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], timeout=60)
    assert done.returncode == -signal.SIGKILL
    lines = (tmp_path / "node-0000000000000001.jsonl").read_bytes().splitlines()
    assert [decode_fact(line).event for line in lines[1:]] == [
        f"1-70-{seq}-news" for seq in range(100)
    ]
