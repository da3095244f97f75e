"""Files of nodes that still run, read in pieces: each time as if they ended there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.metrics.minutes import minutes
from orbweaver.metrics.traffic import sent_bytes
from orbweaver.records.facts import event_of
from orbweaver.records.following import (
    NEVER,
    RECEIPTS,
    FactRow,
    Lives,
    minute_of,
    node_of,
    read_piece,
    records_of,
)
from orbweaver.records.gather import gather
from tests.records.course import Course
from tests.records.node_records import BORN, Nodes

LINES_AT_ONCE = (1, 2, 7, 10_000)


class Reader:
    """Reads what is new in a folder, some lines of a file at a time."""

    def __init__(self, folder: Path, lines: int) -> None:
        self.folder = folder
        self.lines = lines
        self.places: dict[Path, int] = {}

    def new(self) -> Iterator[FactRow]:
        for path in sorted(self.folder.glob("node-*")):
            with path.open("rb") as file:
                file.seek(self.places.get(path, 0))
                found = [line for line in file if line.endswith(b"\n")]
            while found:
                piece, found = found[: self.lines], found[self.lines :]
                place = self.places.get(path, 0)
                yield from read_piece(node_of(path.name), place, piece)
                self.places[path] = place + sum(map(len, piece))


@pytest.mark.parametrize("lines", LINES_AT_ONCE)
def test_after_each_part_it_is_as_if_all_was_gathered(tmp_path: Path, lines: int) -> None:
    course, reader, lives = Course(tmp_path), Reader(tmp_path, lines), Lives()
    publications: dict[str, tuple[int, Event]] = {}
    receipts: list[FactRow] = []
    for _ in course.parts():
        rows = list(reader.new())
        lives.take([row for row in rows if row.what not in RECEIPTS])
        receipts += [row for row in rows if row.what in RECEIPTS]
        found = (row for row in rows if row.what == "publish")
        publications |= {row.name: (row.at_ms, event_of(row.name)) for row in found}
        records, gathered = gather(tmp_path)
        mine = minutes(records_of(publications, receipts, lives.intervals(0)))
        assert mine == minutes(records, gathered.start_ms)
        assert lives.newest_ms == gathered.start_ms + gathered.end_ms
        control = sum(n for what, n in sent_bytes(records).items() if what != "data")
        assert sum(lives.control.values()) == control > 0
    assert (lives.damaged, gathered.damaged, lives.up) == (1, 1, 0)
    assert sum(one.owed - one.met for one in mine) > 0, "some deliveries have to be missing"
    assert gathered.crashes == 2


@pytest.mark.parametrize("lines", LINES_AT_ONCE)
def test_bytes_count_in_the_minute_of_their_note(tmp_path: Path, lines: int) -> None:
    lives = Lives()
    for _ in Course(tmp_path).parts():
        pass
    lives.take([row for row in Reader(tmp_path, lines).new() if row.what not in RECEIPTS])
    records, gathered = gather(tmp_path, every_ms=1000)
    for minute in lives.control:
        start = minute - gathered.start_ms - 1
        grown = sent_bytes(records, max(0, start), start + 60_000)
        # Notes and rows of `sends` are at different moments, at most a second apart.
        assert lives.control[minute] == pytest.approx(sum(grown.values()) - grown["data"], abs=400)
    assert len(lives.control) > 2


def test_from_when_on_something_is_new(tmp_path: Path) -> None:
    nodes, reader, lives = Nodes(tmp_path), Reader(tmp_path, 10_000), Lives()

    def changed() -> int:
        found = lives.take(list(reader.new()))
        return found if found == NEVER else found - BORN

    assert changed() == NEVER
    a, b = nodes.begin(1), nodes.begin(2)
    nodes.at(3000)
    for recorder in (a, b):
        recorder.note({}, {})
        recorder.flush()
    assert changed() == 0, "both joined then"
    nodes.at(9000)
    a.note({}, {})
    a.flush()
    assert changed() == 3000, "that the first is up since its last sign of life"
    nodes.at(70_000)
    b.close()
    b = nodes.begin(2)
    b.flush()
    assert changed() == 70_000, "the life before has ended at 3000 all the same"
    nodes.end(a)
    assert changed() == 9000
    assert lives.up == 1


def test_what_is_over_is_forgotten(tmp_path: Path) -> None:
    nodes, lives = Nodes(tmp_path), Lives()
    a, b = nodes.begin(1), nodes.begin(2)
    for recorder in (a, b):
        recorder.interest("news", "subscribe")
    nodes.at(1000)
    nodes.end(a)
    nodes.at(200_000)
    b.note({}, {})
    b.flush()
    lives.take(list(Reader(tmp_path, 10_000).new()))
    assert [one.node for one in lives.intervals(0)] == [1, 2]
    assert lives.silent(BORN + 1000) == 0
    lives.forget(BORN + 100_000)
    assert [one.node for one in lives.intervals(0)] == [2]
    assert list(lives.nodes) == [2]


def test_a_node_that_says_nothing_is_silent(tmp_path: Path) -> None:
    nodes, lives = Nodes(tmp_path), Lives()
    a, b = nodes.begin(1), nodes.begin(2)
    nodes.at(9000)
    b.note({}, {})
    for recorder in (a, b):
        recorder.flush()
    lives.take(list(Reader(tmp_path, 10_000).new()))
    assert (lives.up, lives.silent(BORN), lives.silent(BORN + 1)) == (2, 0, 1)


def test_minutes_and_names() -> None:
    assert minute_of(119_999) == 60_000
    assert node_of("host7/node-00000000000000ff.jsonl") == NodeId(255)
    with pytest.raises(UsageError, match=r"node-x\.jsonl is no file of a node"):
        node_of("node-x.jsonl")
