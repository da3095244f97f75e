"""Fairness: what nodes carry, against what they subscribe to."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweaver.core.ids import NodeId
from orbweaver.metrics.load import (
    bytes_sent,
    load_correlation,
    load_per_subscription,
    load_share_top1,
    messages_carried,
    per_second,
)
from orbweaver.metrics.snapshot import snapshot
from orbweaver.records import Recorder, Records


def recorded(subscriptions: Sequence[int], loads: Sequence[tuple[int, int, int]]) -> Records:
    """Record nodes that subscribe to so many topics and carry (sent, received, bytes sent)."""
    recorder = Recorder()
    for node, count in enumerate(subscriptions):
        for topic in range(count):
            recorder.interest(0, NodeId(node), f"t{topic}", "subscribe")
        recorder.node(0, NodeId(node), "join")
    for node, load in enumerate(loads):
        recorder.load(NodeId(node), *load)
    return recorder.finish(100)


def correlation(records: Records, at_ms: int = 50) -> float:
    return load_correlation(messages_carried(records), records, snapshot(records, at_ms))


@pytest.mark.parametrize(
    ("subscriptions", "loads", "expected"),
    [
        ([1, 2, 3], [(5, 5, 0), (10, 10, 0), (15, 15, 0)], 1.0),
        ([1, 2, 3], [(30, 0, 0), (0, 20, 0), (5, 5, 0)], -1.0),
        ([1, 2, 3], [(1, 1, 0), (3, 3, 0), (1, 1, 0)], 0.0),
        ([0, 2, 4, 6], [(1, 0, 0), (1, 2, 0), (2, 0, 0), (3, 1, 0)], 0.8),
    ],
)
def test_correlation_of_messages(
    subscriptions: list[int], loads: list[tuple[int, int, int]], expected: float
) -> None:
    assert correlation(recorded(subscriptions, loads)) == pytest.approx(expected, abs=1e-12)


def test_correlation_of_bytes_looks_at_what_was_sent() -> None:
    records = recorded([1, 2, 3], [(9, 9, 10), (5, 5, 20), (1, 1, 30)])
    found = load_correlation(bytes_sent(records), records, snapshot(records, 50))
    assert found == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("subscriptions", "loads"),
    [
        ([], []),
        ([3], [(1, 1, 0)]),
        ([2, 2], [(1, 1, 0), (5, 5, 0)]),
        ([1, 2], [(4, 0, 0), (0, 4, 0)]),
        ([1, 2], []),
    ],
    ids=["no nodes", "one node", "equal subscriptions", "equal loads", "no traffic"],
)
def test_without_differences_there_is_no_correlation(
    subscriptions: list[int], loads: list[tuple[int, int, int]]
) -> None:
    assert math.isnan(correlation(recorded(subscriptions, loads)))


def test_subscriptions_are_those_at_the_snapshot_and_publishing_is_none() -> None:
    recorder = Recorder()
    for node in range(3):
        recorder.node(0, NodeId(node), "join")
        recorder.load(NodeId(node), 10 * node, 0, 0)
    for time, node, topic, kind in (
        (0, 1, "a", "subscribe"), (0, 2, "a", "subscribe"), (0, 2, "b", "subscribe"),
        (0, 0, "a", "publish"), (60, 0, "a", "subscribe"), (60, 2, "a", "unsubscribe"),
    ):  # fmt: skip
        recorder.interest(time, NodeId(node), topic, kind)
    records = recorder.finish(100)
    assert correlation(records, 50) == pytest.approx(1.0)
    assert math.isnan(correlation(records, 70)), "all have one subscription"


def test_nodes_that_are_down_at_the_snapshot_are_left_out() -> None:
    recorder = Recorder()
    for node, load in enumerate((10, 20, 900)):
        for topic in range(node):
            recorder.interest(0, NodeId(node), f"t{topic}", "subscribe")
        recorder.node(0, NodeId(node), "join")
        recorder.load(NodeId(node), load, 0, 0)
    recorder.node(40, NodeId(2), "crash")
    for topic in range(2):
        recorder.interest(40, NodeId(2), f"t{topic}", "unsubscribe")
    records = recorder.finish(100)
    assert correlation(records, 30) < 0.9
    assert correlation(records, 50) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("loads", "expected"),
    [
        ([(3, 1, 0), (1, 3, 0)], 0.5),
        ([(6, 0, 0), (1, 1, 0)], 0.75),
        ([(7, 3, 0), *[(1, 0, 0)] * 90, *[(0, 0, 0)] * 108], 0.10),
        ([(0, 10, 0), *[(0, 1, 0)] * 90, *[(0, 0, 0)] * 109], 0.11),
    ],
    ids=["even", "two nodes", "one of 199 nodes", "two of 200 nodes"],
)
def test_share_of_the_busiest(loads: list[tuple[int, int, int]], expected: float) -> None:
    assert load_share_top1(recorded([0] * len(loads), loads)) == pytest.approx(expected)


def test_nodes_without_load_count_as_nodes() -> None:
    assert load_share_top1(recorded([0] * 200, [(5, 0, 0), (3, 0, 0), (2, 0, 0)])) == 0.8


def test_without_traffic_no_node_has_a_share() -> None:
    assert math.isnan(load_share_top1(recorded([], [])))
    assert math.isnan(load_share_top1(recorded([1, 1], [(0, 0, 0), (0, 0, 0)])))


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 50), st.integers(0, 50)),
        min_size=2,
        max_size=12,
    )
)
def test_correlation_is_what_its_definition_gives(nodes: list[tuple[int, int, int]]) -> None:
    records = recorded([count for count, *_ in nodes], [(s, r, 0) for _, s, r in nodes])
    pairs = [(count, s + r) for count, s, r in nodes]
    x_mean, y_mean = (sum(pair[i] for pair in pairs) / len(pairs) for i in (0, 1))
    both = sum((x - x_mean) * (y - y_mean) for x, y in pairs)
    spread = [sum((pair[i] - m) ** 2 for pair in pairs) for i, m in ((0, x_mean), (1, y_mean))]
    found = correlation(records)
    if len({x for x, _ in pairs}) == 1 or len({y for _, y in pairs}) == 1:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(both / math.sqrt(spread[0] * spread[1]), abs=1e-9)


def test_a_rate_is_over_the_time_that_a_node_is_up() -> None:
    recorder = Recorder()
    recorder.node(0, NodeId(1), "join")
    recorder.node(0, NodeId(2), "join")
    recorder.node(1000, NodeId(2), "crash")
    recorder.node(3000, NodeId(2), "join")
    recorder.load(NodeId(1), 6, 2, 0)
    recorder.load(NodeId(2), 1, 3, 0)
    assert per_second(recorder.finish(4000), 4000) == {1: 2.0, 2: 2.0}


def test_the_load_of_each_further_subscription_is_a_slope() -> None:
    records = recorded([1, 2, 4], [(1, 1, 0), (2, 2, 0), (3, 5, 0)])
    look = snapshot(records, 50)
    rates = per_second(records, 1000)
    assert load_per_subscription(rates, records, look) == pytest.approx(2.0)
    flat = recorded([2, 2], [(1, 1, 0), (5, 5, 0)])
    found = load_per_subscription(per_second(flat, 1000), flat, snapshot(flat, 50))
    assert math.isnan(found), "there is no line"
