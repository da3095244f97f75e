"""Folding records into the overlay at one moment."""

import pytest

from orbweaver.metrics.snapshot import snapshot
from orbweaver.records import Recorder, Records


def join(recorder: Recorder, time: int, node: int, *topics: str) -> None:
    for topic in topics:
        recorder.interest(time, node, topic, "subscribe")
    recorder.node(time, node, "join")


def leave(recorder: Recorder, time: int, node: int, *topics: str, kind: str = "leave") -> None:
    recorder.node(time, node, kind)
    for topic in topics:
        recorder.interest(time, node, topic, "unsubscribe")


def link(recorder: Recorder, time: int, a: int, b: int, kind: str = "up") -> None:
    recorder.link(time, a, b, kind)
    recorder.link(time, b, a, kind)


@pytest.fixture
def life() -> Records:
    """0 and 1 from the start, 2 later; 1 leaves and comes back with another interest."""
    r = Recorder()
    join(r, 0, 0, "a")
    join(r, 0, 1, "a", "b")
    link(r, 10, 0, 1)
    join(r, 20, 2, "b")
    r.link(30, 2, 0, "up")
    r.link(35, 0, 2, "up")
    link(r, 40, 0, 1, "down")
    leave(r, 40, 1, "a", "b")
    join(r, 50, 1, "c")
    link(r, 60, 1, 2)
    r.interest(70, 0, "c", "subscribe")
    r.interest(80, 0, "a", "unsubscribe")
    r.interest(90, 2, "z", "publish")
    return r.finish(100)


@pytest.mark.parametrize(
    ("time", "interests", "edges"),
    [
        (0, {0: {"a"}, 1: {"a", "b"}}, []),
        (9, {0: {"a"}, 1: {"a", "b"}}, []),
        (10, {0: {"a"}, 1: {"a", "b"}}, [(0, 1)]),
        (20, {0: {"a"}, 1: {"a", "b"}, 2: {"b"}}, [(0, 1)]),
        # 2 holds the link to 0, and 0 does not yet.
        (34, {0: {"a"}, 1: {"a", "b"}, 2: {"b"}}, [(0, 1)]),
        (35, {0: {"a"}, 1: {"a", "b"}, 2: {"b"}}, [(0, 1), (0, 2)]),
        (40, {0: {"a"}, 2: {"b"}}, [(0, 2)]),
        (50, {0: {"a"}, 1: {"c"}, 2: {"b"}}, [(0, 2)]),
        (60, {0: {"a"}, 1: {"c"}, 2: {"b"}}, [(0, 2), (1, 2)]),
        (75, {0: {"a", "c"}, 1: {"c"}, 2: {"b"}}, [(0, 2), (1, 2)]),
        (95, {0: {"c"}, 1: {"c"}, 2: {"b", "z"}}, [(0, 2), (1, 2)]),
    ],
)
def test_state_after_a_moment(
    life: Records, time: int, interests: dict[int, set[str]], edges: list[tuple[int, int]]
) -> None:
    found = snapshot(life, time)
    assert found.time_ms == time
    assert found.interests == interests
    assert found.edges() == edges


def test_links_are_listed_from_both_ends(life: Records) -> None:
    assert snapshot(life, 100).links == {0: [2], 1: [2], 2: [0, 1]}


@pytest.mark.parametrize(
    ("time", "young_ms", "nodes"),
    [
        (20, 0, [0, 1, 2]),
        (20, 1, [0, 1]),
        (29, 10, [0, 1]),
        (30, 10, [0, 1, 2]),
        # The new life counts, not the first one.
        (59, 10, [0, 2]),
        (60, 10, [0, 1, 2]),
    ],
)
def test_young_nodes_are_left_out(
    life: Records, time: int, young_ms: int, nodes: list[int]
) -> None:
    found = snapshot(life, time, young_ms)
    assert list(found.interests) == nodes
    assert list(found.links) == nodes


def test_links_to_young_nodes_are_left_out(life: Records) -> None:
    assert snapshot(life, 35).edges() == [(0, 1), (0, 2)]
    assert snapshot(life, 35, young_ms=16).edges() == [(0, 1)]


def test_links_to_a_crashed_node_do_not_count() -> None:
    r = Recorder()
    join(r, 0, 0, "a")
    join(r, 0, 1, "a")
    link(r, 5, 0, 1)
    leave(r, 9, 1, "a", kind="crash")
    records = r.finish(20)
    assert snapshot(records, 8).edges() == [(0, 1)]
    assert snapshot(records, 9).links == {0: []}


def test_topics_list_their_nodes_in_order(life: Records) -> None:
    assert snapshot(life, 35).on_topic() == {"a": [0, 1], "b": [1, 2]}
