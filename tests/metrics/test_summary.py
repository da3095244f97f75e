"""The flat table of all metrics of a run."""

import math
from typing import Any

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import PURPOSES, Event
from orbweaver.gossip.plumtree.messages import Push
from orbweaver.metrics.snapshot import from_graph, snapshot
from orbweaver.metrics.summary import MEANING, overlay_metrics, summarise
from orbweaver.overlays.spidercast.messages import Connect
from orbweaver.records import Recorder, Records


def story() -> Records:
    """Two subscribers that link up at 20, an event at 100, and a link that goes at 150."""
    recorder = Recorder()
    for node in (0, 1):
        recorder.interest(0, NodeId(node), "a", "subscribe")
        recorder.node(0, NodeId(node), "join")
    recorder.link(10, NodeId(0), NodeId(1), "up")
    recorder.link(20, NodeId(1), NodeId(0), "up")
    recorder.count = {Connect: 6, Push: 2}
    recorder.bytes = {Connect: 90, Push: 400}
    event = Event("a", NodeId(0), 0, 0)
    recorder.published(100, event)
    recorder.carried(103, NodeId(1), Push(event, 1, 0), interested=True)
    recorder.delivered(103, NodeId(1), event, 1)
    recorder.link(150, NodeId(0), NodeId(1), "down")
    return recorder.finish(1000)


def summary(records: Records, snapshot_ms: int) -> dict[str, Any]:
    return summarise(records, snapshot(records, snapshot_ms), 1000)


@pytest.mark.parametrize("records", [story(), Recorder().finish(0)], ids=["run", "nothing"])
def test_the_keys_are_those_explained_in_their_order(records: Records) -> None:
    assert list(summary(records, 100)) == list(MEANING)


def test_every_purpose_has_its_count() -> None:
    assert {f"{purpose}_messages" for purpose in PURPOSES} < set(MEANING)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("nodes_up", 2),
        ("links", 1),
        ("degree_mean", 1.0),
        ("degree_max", 1),
        ("topics", 1),
        ("components", 1),
        ("partitioned_topics", 0),
        ("diameter_max", 1),
        ("distance_mean", 1.0),
        ("converged_ms", 20),
        ("publications", 1),
        ("deliveries", 1),
        ("hit_ratio", 1.0),
        ("duplicates", 0.0),
        ("delay_hops_mean", 1.0),
        ("delay_ms_mean", 3.0),
        ("delay_ms_max", 3),
        ("traffic_overhead", 0.0),
        ("control_messages_per_join", 3.0),
        ("control_bytes_per_node_second", 45.0),
        ("build_messages", 6),
        ("data_messages", 2),
        ("repair_messages", 0),
    ],
)
def test_values_of_a_small_run(key: str, value: float) -> None:
    assert summary(story(), 100)[key] == pytest.approx(value)


def test_converged_looks_no_further_than_the_first_publication() -> None:
    """As its meaning says, also when the snapshot is taken later."""
    assert summary(story(), 1000)["converged_ms"] == 20


@pytest.mark.parametrize(("d", "percent"), [(0, None), (1, 100.0), (2, 50.0)])
def test_likeness_of_interests_on_demand(d: int, percent: float | None) -> None:
    records = story()
    assert summarise(records, snapshot(records, 100), 1000, tdi=d)["tdi"] == percent


def test_what_cannot_be_measured_is_none() -> None:
    found = summary(Recorder().finish(0), 0)
    assert found["hit_ratio"] is None
    assert found["distance_mean"] is None
    assert not any(isinstance(v, float) and math.isnan(v) for v in found.values())


def test_topics_that_fall_apart_are_counted() -> None:
    interests = {0: ["a", "b"], 1: ["a", "b"], 2: ["b"], 3: ["c"]}
    found = overlay_metrics(from_graph(interests, [(0, 1)]))
    assert (found["topics"], found["components"], found["partitioned_topics"]) == (3, 4, 1)


def test_distances_are_left_out_on_demand() -> None:
    found = overlay_metrics(from_graph({0: ["a"], 1: ["a"]}, [(0, 1)]), with_distances=False)
    assert "diameter_max" not in found
    assert found["components"] == 1


def test_stopping_a_cluster_is_not_churn() -> None:
    """Nodes of a live cluster all leave in the end: what building it took counts."""
    recorder = Recorder()
    for node in range(3):
        recorder.node(0, NodeId(node), "join")
    recorder.count[Connect] = 30
    recorder.snapshot_sends(500)
    for node in range(3):
        recorder.node(900, NodeId(node), "leave")
    records = recorder.finish(1000)
    look = snapshot(records, 800)
    assert summarise(records, look, 1000, whole_ms=800)["control_messages_per_join"] == 10
    assert summarise(records, look, 1000)["control_messages_per_join"] == 0, "three that left"
