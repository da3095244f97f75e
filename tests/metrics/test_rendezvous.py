"""How many nodes it takes to get to a topic's place."""

from __future__ import annotations

import math

import pytest

from orbweaver.core.identifiers import PLACE_OF_NODE, PLACE_OF_TOPIC, distance
from orbweaver.metrics.rendezvous import lookup_hops, per_topic
from orbweaver.metrics.snapshot import Snapshot
from orbweaver.records import Records
from orbweaver.records.recorder import Recorder

TOPICS = ("a", "b")


def overlay(links: dict[int, list[int]]) -> Snapshot:
    return Snapshot(50, dict.fromkeys(links, frozenset(TOPICS)), links)


def records(*statuses: dict[str, int]) -> Records:
    recorder = Recorder()
    recorder.states(10, [{"relay_of": 99}])
    recorder.states(50, statuses)
    return recorder.finish(60)


def test_states_are_shared_out_among_the_topics_at_the_snapshot() -> None:
    found = records({"relay_of": 3}, {"relay_of": 0}, {"relay_of": 3, "gateway_of": 1})
    look = overlay({0: [1], 1: [0]})
    assert per_topic(found, look, "relay_of") == pytest.approx(6 / 2)
    assert per_topic(found, look, "gateway_of") == pytest.approx(1 / 2)
    assert math.isnan(per_topic(found, look, "other"))


def test_in_a_full_mesh_a_lookup_takes_a_hop_or_none() -> None:
    nodes = list(range(8))
    look = overlay({n: [m for m in nodes if m != n] for n in nodes})
    nearest = {
        t: min(nodes, key=lambda n: distance(PLACE_OF_NODE[n], PLACE_OF_TOPIC[t]))  # type: ignore[index]
        for t in TOPICS
    }
    hops = lookup_hops(records({"relay_of": 0}), look)
    assert len(set(nearest.values())) == 2
    assert hops == pytest.approx(1 - 1 / 8, abs=0.13), "none from the node itself"


def test_without_relays_there_are_no_lookups() -> None:
    assert math.isnan(lookup_hops(records({"table": 1}), overlay({0: []})))
