"""What hosts report, and the rows it becomes."""

from typing import Any

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.gossip.plumtree.messages import Prune, Push
from orbweaver.overlays.spidercast.messages import Connect
from orbweaver.records import Recorder, Records
from orbweaver.records.recorder import RecordTable, event_name
from orbweaver.records.schema import TABLES

EVENT = Event("news/sport", NodeId(4), 70, 2, b"payload")


def rows(records: Records, table: str) -> list[tuple[Any, ...]]:
    return list(records[table].rows())


@pytest.fixture
def recorder() -> Recorder:
    made = Recorder()
    made.published(100, EVENT)
    return made


def test_an_event_is_named_by_its_four_parts() -> None:
    assert event_name(EVENT) == "4-70-2-news/sport"


@pytest.mark.parametrize(
    ("table", "report", "row"),
    [
        ("nodes", lambda r: r.node(5, NodeId(1), "join"), (5, 1, "join")),
        ("interests", lambda r: r.interest(5, NodeId(1), "a", "publish"), (5, 1, "a", "publish")),
        ("links", lambda r: r.link(5, NodeId(1), NodeId(2), "up"), (5, 1, 2, "up")),
        ("loads", lambda r: r.load(NodeId(1), 2, 3, 40), (1, 2, 3, 40)),
        ("drops", lambda r: r.dropped("loss"), ("loss", 1)),
    ],
)
def test_a_report_is_a_row(table: str, report: Any, row: tuple[Any, ...]) -> None:
    recorder = Recorder()
    report(recorder)
    assert rows(recorder.finish(9), table) == [row]


def test_totals_of_an_event(recorder: Recorder) -> None:
    for node, time, hops in ((1, 103, 1), (2, 110, 3), (5, 112, 2)):
        recorder.carried(time, NodeId(node), Push(EVENT, hops, 0), interested=True)
        recorder.delivered(time, NodeId(node), EVENT, hops)
    recorder.carried(112, NodeId(2), Push(EVENT, 4, 0), interested=True)
    recorder.carried(112, NodeId(3), Push(EVENT, 2, 0), interested=False)
    records = recorder.finish(200)
    name = event_name(EVENT)
    assert rows(records, "publications") == [(100, name, EVENT.topic, 4, 4, 1, 3, 6, 3, 25, 12)]
    assert rows(records, "deliveries") == [
        (103, name, 1, 1, 3),
        (110, name, 2, 3, 10),
        (112, name, 5, 2, 12),
    ]
    assert rows(records, "relays") == [(112, name, 3, 2)]
    assert rows(records, "traffic") == [
        (1, 1, 0, 0, 0),
        (2, 2, 0, 0, 0),
        (3, 0, 1, 0, 0),
        (5, 1, 0, 0, 0),
    ]


def test_counters_only_keep_the_totals_and_no_rows() -> None:
    recorder = Recorder(rows=False)
    recorder.published(100, EVENT)
    recorder.carried(101, NodeId(1), Push(EVENT, 1, 0), interested=True)
    recorder.carried(101, NodeId(2), Push(EVENT, 1, 0), interested=False)
    recorder.delivered(101, NodeId(1), EVENT, 1)
    records = recorder.finish(200)
    assert not len(records["deliveries"])
    assert not len(records["relays"])
    assert list(records["publications"]["deliveries"]) == [1]
    assert rows(records, "traffic") == [(1, 1, 0, 0, 0), (2, 0, 1, 0, 0)]


def test_loads_add_up_and_come_sorted() -> None:
    recorder = Recorder()
    for node, *load in ((7, 1, 0, 20), (2, 5, 5, 9), (7, 2, 4, 30)):
        recorder.load(NodeId(node), *load)
    assert rows(recorder.finish(9), "loads") == [(2, 5, 5, 9), (7, 3, 4, 50)]


def test_events_of_different_epochs_are_different() -> None:
    recorder = Recorder()
    again = Event(EVENT.topic, EVENT.publisher, 71, EVENT.seq)
    recorder.published(100, EVENT)
    recorder.published(200, again)
    recorder.delivered(203, NodeId(1), again, 1)
    assert list(recorder.finish(300)["publications"]["deliveries"]) == [0, 1]


def test_sends_are_noted_by_wire_name_in_order() -> None:
    recorder = Recorder()
    recorder.count = {Push: 3, Connect: 2, Prune: 1}
    recorder.bytes = {Push: 30, Connect: 20}
    recorder.snapshot_sends(10)
    recorder.snapshot_sends(10)
    recorder.count[Push] = 5
    assert rows(recorder.finish(20), "sends") == [
        (10, "connect", "build", 2, 20),
        (10, "prune", "repair", 1, 0),
        (10, "push", "data", 3, 30),
        (20, "connect", "build", 2, 20),
        (20, "prune", "repair", 1, 0),
        (20, "push", "data", 5, 30),
    ]


def test_states_are_counted_by_name_and_value() -> None:
    recorder = Recorder()
    recorder.states(10, [{"kr": 1, "target": 6}, {"kr": 0}, {"kr": 1}, {}])
    assert rows(recorder.finish(20), "states") == [
        (10, "kr", 0, 1),
        (10, "kr", 1, 2),
        (10, "target", 6, 1),
    ]


def test_drops_and_traffic_come_sorted(recorder: Recorder) -> None:
    for reason in ("partition", "loss", "partition", "down"):
        recorder.dropped(reason)
    for node in (9, 3, 5):
        recorder.carried(1, NodeId(node), Push(EVENT, 1, 0), interested=True)
    records = recorder.finish(2)
    assert rows(records, "drops") == [("down", 1), ("loss", 1), ("partition", 2)]
    assert list(records["traffic"]["node"]) == [3, 5, 9]


@pytest.mark.parametrize("cells", [(1,), (1, 2, "join", 4)])
def test_a_row_has_as_many_cells_as_columns(cells: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="argument"):
        RecordTable(TABLES["nodes"]).append(*cells)
