"""How long owed events take, by hand-made records with known answers."""

from __future__ import annotations

import math

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.metrics.delays import (
    Delay,
    delay_metrics,
    delays,
    percentile,
)
from orbweaver.records import Recorder


def record(rows: bool = True, left_ms: int = 4000) -> Recorder:
    """Nodes 0 to 2 want topic a from time 0, node 3 from 900; node 2 leaves at `left_ms`."""
    recorder = Recorder(rows)
    for node, since in ((0, 0), (1, 0), (2, 0), (3, 900)):
        recorder.interest(since, NodeId(node), "a", "subscribe")
    event = Event("a", NodeId(0), 0, 0)
    recorder.published(1000, event)
    for node, time in ((1, 1010), (2, 1020), (3, 1400), (0, 1000)):
        recorder.delivered(time, NodeId(node), event, 1)
    recorder.interest(left_ms, NodeId(2), "a", "unsubscribe")
    return recorder


def test_only_what_was_owed_has_a_delay() -> None:
    records = record().finish(100_000)
    assert delays(records) == [Delay(1000, 0, 1, 10), Delay(1000, 0, 3, 400)]
    assert delays(records, grace_ms=500) == [Delay(1000, 0, 1, 10)], "3 has only just joined"
    stayed = record(left_ms=6001).finish(100_000)
    assert Delay(1000, 0, 2, 20) in delays(stayed)


def test_counters_alone_tell_no_delay() -> None:
    found = delays(record(rows=False).finish(100_000))
    assert found == []
    assert all(math.isnan(value) for value in delay_metrics(found).values())


@pytest.mark.parametrize(("share", "value"), [(0.0, 1), (0.5, 2), (0.51, 3), (0.95, 4), (1.0, 4)])
def test_percentiles_are_values_that_occur(share: float, value: float) -> None:
    assert percentile([4, 1, 3, 2], share) == value


def test_a_stretch_is_the_delay_over_the_direct_way() -> None:
    found = [Delay(0, 0, node, 60) for node in (1, 2, 3)]
    direct = {1: 60.0, 2: 20.0, 3: 0.0}
    numbers = delay_metrics(found, lambda publisher, node: direct[node])
    assert (numbers["stretch_p50"], numbers["stretch_p95"]) == (3.0, 60.0)
    assert (numbers["delay_ms_p50"], numbers["delay_ms_p95"]) == (60.0, 60.0)
    assert math.isnan(delay_metrics(found)["stretch_p50"]), "the direct way is not known"


def test_the_largest_delay_and_the_share_within_a_second() -> None:
    numbers = delay_metrics([Delay(0, 0, 1, ms) for ms in (1, 1000, 1001, 45_000)])
    assert (numbers["delay_ms_max"], numbers["delay_prompt"]) == (45_000, 0.5)
