"""The events of each minute and topic, out of records."""

from __future__ import annotations

import math

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Carrier, Event
from orbweaver.metrics.delays import delay_metrics, delays
from orbweaver.metrics.deliveries import deliveries
from orbweaver.metrics.minutes import ALL, minutes
from orbweaver.records import Recorder, Records
from orbweaver.records.following import MINUTE_MS
from orbweaver.study.run import run_scenario
from orbweaver.workload.scenario import PublishSpec, RunSpec, Scenario, WorkloadSpec

START = 1000 * MINUTE_MS - 500
"""The records begin half a second before a minute does."""


def made() -> Records:
    """Nodes 1 to 3 want news, 3 and 4 sport. Node 2 leaves news 2 s after the second event."""
    recorder = Recorder()
    for node, topic in ((1, "news"), (2, "news"), (3, "news"), (3, "sport"), (4, "sport")):
        recorder.interest(0, NodeId(node), topic, "subscribe")
    first = Event("news", NodeId(1), 0, 0)
    second = Event("news", NodeId(1), 0, 1)
    third = Event("sport", NodeId(3), 0, 0)
    for at, event in ((100, first), (900, second), (1000, third)):
        recorder.published(at, event)
    recorder.interest(2900, NodeId(2), "news", "unsubscribe")
    for at, node, event in (
        (110, 2, first), (70_100, 3, first), (930, 2, second), (940, 3, second),
    ):  # fmt: skip
        for _ in range(2 if node == 3 else 1):
            recorder.carried(at, NodeId(node), Carrier(event, 1, 0), True)
        recorder.delivered(at, NodeId(node), event, 1)
    return recorder.finish(100_000)


def test_everything_counts_in_the_minute_of_the_publication() -> None:
    found = {(one.minute_ms, one.topic): one for one in minutes(made(), START)}
    before, after = 999 * MINUTE_MS, 1000 * MINUTE_MS
    assert list(found) == [
        (before, ALL), (before, "news"), (after, ALL), (after, "news"), (after, "sport"),
    ]  # fmt: skip
    first = found[before, "news"]
    # Node 2 left within five seconds of the first event, so that only node 3 is owed it.
    assert (first.published, first.delivered, first.duplicates) == (1, 2, 1)
    assert (first.owed, first.met, first.delivery_ratio) == (1, 1, 1.0)
    assert (first.delay_ms_p50, first.delay_ms_max) == (70_000, 70_000)
    assert found[after, "news"].delay_ms_p99 == 40
    sport = found[after, "sport"]
    assert (sport.published, sport.delivered, sport.owed, sport.delivery_ratio) == (1, 0, 1, 0.0)
    assert math.isnan(sport.delay_ms_p50)
    whole = found[after, ALL]
    assert (whole.published, whole.delivered, whole.duplicates) == (2, 2, 1)
    assert (whole.owed, whole.met, whole.delivery_ratio) == (2, 1, 0.5)


def test_nothing_published() -> None:
    assert minutes(Recorder().finish(0)) == []


@pytest.mark.parametrize("start_ms", [0, 59_500])
def test_all_minutes_together_are_what_the_metrics_of_a_run_say(start_ms: int) -> None:
    scenario = Scenario(
        overlay="random",
        workload=WorkloadSpec(nodes=30, topics=5, subscriptions_per_node="2"),
        publish=PublishSpec(per_topic=4),
        run=RunSpec(warmup_ms=2000, drain_ms=6000),
    )
    records = run_scenario(scenario, 0).outcome.records
    run = deliveries(records)
    for chosen in (lambda one: one.topic == ALL, lambda one: one.topic != ALL):
        rows = [one for one in minutes(records, start_ms) if chosen(one)]
        assert sum(one.published for one in rows) == run.publications > 0
        assert sum(one.delivered for one in rows) == run.deliveries > 0
        assert sum(one.owed for one in rows) == run.expected > 0
        assert sum(one.met for one in rows) / run.expected == run.hit_ratio
        duplicates = sum(one.duplicates for one in rows)
        assert duplicates / run.deliveries == pytest.approx(run.duplicates)
    if start_ms == 0:
        (whole,) = (one for one in minutes(records) if one.topic == ALL)
        owed = delay_metrics(delays(records))
        assert (whole.delay_ms_p50, whole.delay_ms_p95) == (
            owed["delay_ms_p50"], owed["delay_ms_p95"],
        )  # fmt: skip
