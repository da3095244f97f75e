"""The files of several nodes become the tables that a simulation writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.gossip.plumtree.messages import Prune, Push
from orbweaver.metrics.deliveries import deliveries
from orbweaver.metrics.snapshot import snapshot
from orbweaver.metrics.traffic import sent
from orbweaver.records.gather import gather
from tests.records.node_records import BORN, EVENT, Nodes, rows

NAME = "1-70-2-news/sport"


@pytest.fixture
def nodes(tmp_path: Path) -> Nodes:
    return Nodes(tmp_path)


def test_three_nodes(nodes: Nodes) -> None:
    a, b, c = (nodes.begin(number, kg=2) for number in (1, 2, 3))
    for recorder in (a, b):
        recorder.interest("news/sport", "subscribe")
    nodes.at(100)
    a.link(NodeId(2), "up")
    b.link(NodeId(1), "up")
    nodes.at(6000)
    a.published(EVENT)
    nodes.at(6040)
    c.carried(Push(EVENT, 1, 0), interested=False)
    nodes.at(6070)
    for _ in range(2):
        b.carried(Push(EVENT, 2, 0), interested=True)
    b.delivered(EVENT, 2)
    b.noticed(interested=True)
    c.note({"table": 4}, {"unreachable": 7})
    b.note({"table": 4}, {"unreachable": 1})
    nodes.at(12_000)
    for recorder in (c, b, a):
        nodes.end(recorder)
    records, found = gather(nodes.folder, every_ms=10_000)
    assert rows(records, "nodes") == [
        *((0, node, "join") for node in (1, 2, 3)),
        *((12_000, node, "leave") for node in (1, 2, 3)),
    ]
    assert rows(records, "interests") == [
        (0, 1, "news/sport", "subscribe"),
        (0, 2, "news/sport", "subscribe"),
        (12_000, 1, "news/sport", "unsubscribe"),
        (12_000, 2, "news/sport", "unsubscribe"),
    ]
    assert rows(records, "links") == [(100, 1, 2, "up"), (100, 2, 1, "up")]
    assert rows(records, "publications") == [(6000, NAME, "news/sport", 1, 2, 1, 1, 2, 2, 70, 70)]
    assert rows(records, "deliveries") == [(6070, NAME, 2, 2, 70)]
    assert rows(records, "relays") == [(6040, NAME, 3, 1)]
    assert rows(records, "traffic") == [(2, 2, 0, 1, 0), (3, 0, 1, 0, 0)]
    assert rows(records, "drops") == [("unreachable", 8)]
    assert rows(records, "states") == [(10_000, "table", 4, 2)]
    assert (found.overlay, found.params, found.nodes, found.lives) == (
        "spidercast", {"kg": 2}, 3, 3,
    )  # fmt: skip
    assert (found.start_ms, found.end_ms, found.crashes, found.damaged) == (BORN, 12_000, 0, 0)
    assert snapshot(records, 5000).links == {1: [2], 2: [1], 3: []}
    assert deliveries(records).hit_ratio == 1.0


def test_sends_are_the_last_notes_of_all_and_of_all_lives(nodes: Nodes) -> None:
    push, prune = Push(EVENT, 1, 0), Prune("news")
    a, b = nodes.begin(1), nodes.begin(2)
    for time, recorder, message in (
        (900, a, push), (950, b, push), (1900, a, prune), (1950, b, push),
    ):  # fmt: skip
        nodes.at(time)
        recorder.sent(message, 100)
        recorder.note({}, {})
    nodes.end(a)
    nodes.at(2500)
    again = nodes.begin(1)
    again.sent(push, 10)
    nodes.at(2600)
    again.note({}, {})
    nodes.end(again)
    nodes.at(3400)
    nodes.end(b)
    records, _ = gather(nodes.folder)
    assert rows(records, "sends") == [
        (1000, "push", "data", 2, 200),
        (2000, "prune", "repair", 1, 100),
        (2000, "push", "data", 3, 300),
        (3000, "prune", "repair", 1, 100),
        (3000, "push", "data", 4, 310),
        (3400, "prune", "repair", 1, 100),
        (3400, "push", "data", 4, 310),
    ]
    assert sent(records, 1000, 3000) == {"data": 2, "repair": 1}


def test_loads_are_what_a_node_carried_in_all_its_lives(nodes: Nodes) -> None:
    push, prune = Push(EVENT, 1, 0), Prune("news")
    a, b = nodes.begin(1), nodes.begin(2)
    for _ in range(2):
        a.sent(push, 100)
        a.sent(prune, 10)
        a.received(3)
        a.note({}, {})
    b.received(4)
    b.note({}, {})
    nodes.end(a)
    again = nodes.begin(1)
    again.sent(push, 7)
    again.received(1)
    again.note({}, {})
    for recorder in (again, b):
        nodes.end(recorder)
    records, _ = gather(nodes.folder)
    assert rows(records, "loads") == [(1, 5, 7, 227), (2, 0, 4, 0)]


def test_a_killed_node_has_crashed_at_its_last_sign_of_life(nodes: Nodes) -> None:
    a, b = nodes.begin(1), nodes.begin(2)
    b.interest("news", "subscribe")
    nodes.at(2000)
    b.note({}, {})
    b.close()
    with b.path.open("ab") as file:
        file.write(b'{"what":"deliver","at":17000')
    nodes.at(9000)
    nodes.end(a)
    records, found = gather(nodes.folder)
    assert rows(records, "nodes")[2:] == [(2000, 2, "crash"), (9000, 1, "leave")]
    assert rows(records, "interests")[1:] == [(2000, 2, "news", "unsubscribe")]
    assert (found.crashes, found.damaged) == (1, 1)


def test_a_killed_node_that_comes_back(nodes: Nodes) -> None:
    a, b = nodes.begin(1), nodes.begin(2)
    nodes.at(10)
    for recorder, peer in ((a, 2), (b, 1)):
        recorder.link(NodeId(peer), "up")
    b.interest("old", "subscribe")
    nodes.at(2000)
    b.note({}, {})
    b.close()  # without a last word
    nodes.at(5000)
    b = nodes.begin(2)
    b.interest("new", "subscribe")
    nodes.at(6000)
    nodes.end(b)
    nodes.end(a)
    records, found = gather(nodes.folder)
    assert [row for row in rows(records, "nodes") if row[1] == 2] == [
        (0, 2, "join"), (2000, 2, "crash"), (5000, 2, "join"), (6000, 2, "leave"),
    ]  # fmt: skip
    assert (found.nodes, found.lives, found.crashes) == (2, 3, 1)
    look = snapshot(records, 5500)
    assert look.interests == {1: frozenset(), 2: {"new"}}
    assert look.links == {1: [], 2: []}, "the link was of another life"


def test_events_that_nobody_published_are_left_out_and_counted(nodes: Nodes) -> None:
    a = nodes.begin(1)
    other = Event("news", NodeId(9), 5, 0)
    a.delivered(other, 1)
    a.carried(Push(other, 1, 0), interested=True)
    a.carried(Push(Event("news", NodeId(9), 5, 1), 1, 0), interested=False)
    nodes.end(a)
    records, found = gather(nodes.folder)
    assert found.unknown_events == 2
    assert not len(records["publications"])
    assert not len(records["deliveries"])


def test_what_catching_up_brought_is_a_copy_too(nodes: Nodes) -> None:
    a, b = nodes.begin(1), nodes.begin(2)
    a.published(EVENT)
    nodes.at(8000)
    b.delivered(EVENT, 1, pulled=True)
    nodes.end(a)
    nodes.end(b)
    records, found = gather(nodes.folder)
    assert found.pulled == 1
    assert rows(records, "publications") == [(0, NAME, "news/sport", 1, 1, 0, 1, 1, 1, 8000, 8000)]
    assert rows(records, "traffic") == [(2, 1, 0, 0, 0)]


def test_clocks_that_do_not_agree_are_told(nodes: Nodes) -> None:
    a, b = nodes.begin(1), nodes.begin(2)
    nodes.at(50)
    b.delivered(EVENT, 1)
    nodes.end(b)
    nodes.at(60)
    a.published(EVENT)
    nodes.end(a)
    records, found = gather(nodes.folder)
    assert found.backwards == 1
    assert rows(records, "deliveries") == [(60, NAME, 2, 1, 0)]


def test_files_of_several_machines(nodes: Nodes) -> None:
    a = nodes.begin(1)
    nodes.end(a)
    (nodes.folder / "host7").mkdir()
    a.path.rename(nodes.folder / "host7" / a.path.name)
    nodes.end(nodes.begin(2))
    assert gather(nodes.folder)[1].nodes == 2


def test_a_file_that_is_there_twice_is_told(nodes: Nodes) -> None:
    a = nodes.begin(1)
    nodes.at(1000)
    nodes.end(a)
    (nodes.folder / "copy").mkdir()
    (nodes.folder / "copy" / a.path.name).write_bytes(a.path.read_bytes())
    with pytest.raises(UsageError, match="should be there only once"):
        gather(nodes.folder)


def test_the_start_can_be_given(nodes: Nodes) -> None:
    nodes.at(300)
    nodes.end(nodes.begin(1))
    assert rows(gather(nodes.folder, start_ms=BORN)[0], "nodes")[0] == (300, 1, "join")


def test_bad_folders(nodes: Nodes) -> None:
    with pytest.raises(UsageError, match="has no records of nodes"):
        gather(nodes.folder)
    (nodes.folder / "node-1.jsonl").write_bytes(b'{"what":"jo')
    with pytest.raises(UsageError, match="has begun to run"):
        gather(nodes.folder)
    nodes.end(nodes.begin(2))
    nodes.at(1_000_000_000_000)
    nodes.end(nodes.begin(3))
    with pytest.raises(UsageError, match="span 11574 days"):
        gather(nodes.folder)
    nodes.end(nodes.begin(4, overlay="vitis"))
    with pytest.raises(UsageError, match="several overlays, spidercast, vitis"):
        gather(nodes.folder)
