"""What is drawn of an overlay, and of the way of an event."""

from __future__ import annotations

from typing import Any

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.gossip.plumtree.messages import Push
from orbweaver.metrics.missed import Stops
from orbweaver.metrics.trace import follow
from orbweaver.records.recorder import Recorder, event_name
from orbweaver.report.look import Picture
from orbweaver.report.webs import DRAWN_MAX, LINKS_MAX, way, web


def rows(picture: Picture, layer: int) -> list[dict[str, Any]]:
    name = picture["layer"][layer]["data"]["name"]
    found: list[dict[str, Any]] = picture["datasets"][name]
    return found


def test_a_small_overlay_is_drawn_whole() -> None:
    picture = web(frozenset({0, 1}), [(0, 1), (1, 2)], [3, 1, 2], ["a", "b", "c"])
    outside, inside, nodes = (rows(picture, layer) for layer in range(3))
    assert (len(outside), len(inside)) == (3, 3), "each thread has three points"
    assert [(n["node"], n["links"], n["topics"], n["in"]) for n in nodes] == [
        ("a", 1, 3, True), ("b", 2, 1, True), ("c", 1, 2, False),
    ]  # fmt: skip


def test_of_a_large_one_the_topic_and_its_neighbours_come_first() -> None:
    size = 4 * DRAWN_MAX
    links = [(a, b) for a in range(size) for b in range(a + 1, min(a + 40, size))]
    names = [str(node) for node in range(size)]
    picture = web(frozenset({size - 1}), [*links, (5, size - 1)], [1] * size, names)
    nodes = [row["node"] for row in rows(picture, 2)]
    assert len(nodes) == DRAWN_MAX
    assert set(nodes) >= {str(size - 1), "5", *map(str, range(size - 40, size))}
    assert len(rows(picture, 0)) == 3 * LINKS_MAX


def test_the_way_of_an_event_goes_from_sender_to_receiver() -> None:
    recorder, event = Recorder(copies=True), Event("a", NodeId(0), 0, 0)
    for node in range(5):
        recorder.node(0, NodeId(node), "join")
        recorder.interest(0, NodeId(node), "a", "subscribe")
    recorder.published(1000, event)
    for sender, receiver, time in ((0, 3, 1000), (3, 1, 1010), (0, 2, 1020)):
        push = Push(event, 1, 0)
        recorder.copy(time, NodeId(sender), NodeId(receiver), push, "sent")
        recorder.copy(time + 5, NodeId(receiver), NodeId(sender), push, "received")
        recorder.carried(time + 5, NodeId(receiver), push, True)
        recorder.delivered(time + 5, NodeId(receiver), event, 1)
    records = recorder.finish(2000)
    trace = follow(records, event_name(event))
    stops = Stops(records, trace)
    picture = way(trace, [stops.why(node) for node in trace.missed()], str)
    copies, dots, crosses = (rows(picture, layer) for layer in range(3))
    assert [(c["from"], c["to"], c["x"], c["x2"]) for c in copies] == [
        ("0", "3", 0, 5), ("3", "1", 10, 15), ("0", "2", 20, 25),
    ]  # fmt: skip
    assert [dot["node"] for dot in dots] == ["0", "3", "1", "2"], "a node stands below its sender"
    assert [(cross["node"], cross["y"]) for cross in crosses] == [("4", 4)]
