"""What nodes say of themselves."""

from __future__ import annotations

import math

import pytest

from orbweaver.metrics.snapshot import Snapshot
from orbweaver.metrics.states import largest, per_topic
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


def test_the_largest_value_at_the_snapshot_is_found() -> None:
    found = records({"id_bits": 9}, {"id_bits": 31}, {"id_bits": 12, "relay_of": 40})
    look = overlay({0: [1], 1: [0]})
    assert largest(found, look, "id_bits") == 31
    assert largest(found, look, "relay_of") == 40, "and not the 99 of another moment"
    assert math.isnan(largest(found, look, "other"))
