"""Which nodes may publish on a topic."""

import pytest

from orbweaver.core.errors import UsageError
from orbweaver.net.gate.publishers import Publishers

A, B, C = 0xA, 0xB, 0xC
LISTED = {
    "#": ["a"],
    "news/#": ["b"],
    "news/sport/#": ["c"],
    "news/sport/live": ["a", "c"],
    "closed": [],
}


@pytest.mark.parametrize("order", [list(LISTED), list(reversed(LISTED))])
@pytest.mark.parametrize(
    ("topic", "allowed"),
    [
        ("other", [A]),
        ("newspaper", [A]),
        ("news", [B]),
        ("news/local", [B]),
        ("news/sport", [C]),
        ("news/sport/ski", [C]),
        ("news/sport/ski/alpine", [C]),
        ("news/sport/live", [A, C]),
        ("news/sport/live/now", [C]),
        ("closed", []),
    ],
)
def test_the_longest_entry_counts_whatever_the_order_of_the_list(order, topic, allowed):
    publishers = Publishers({pattern: LISTED[pattern] for pattern in order})
    assert [node for node in (A, B, C) if publishers.may_publish(node, topic)] == allowed
    assert publishers.first_of(topic) == (allowed[0] if allowed else None)


def test_without_an_entry_every_node_may_publish():
    for listed in ({}, {"news/#": ["a"]}):
        publishers = Publishers(listed)
        assert publishers.may_publish(B, "other")
        assert publishers.first_of("other") is None


@pytest.mark.parametrize(
    ("listed", "allowed"),
    [
        ({}, [A]),
        ({"feed@000000000000000a": ["b"]}, [A, B]),
        ({"#": ["a", "b"]}, [A]),
        ({"#": ["b"]}, []),
    ],
)
def test_a_feed_whose_name_carries_its_publisher(listed, allowed):
    publishers = Publishers(listed)
    topic = "feed@000000000000000a"
    assert [node for node in (A, B, C) if publishers.may_publish(node, topic)] == allowed
    assert publishers.first_of(topic) == (allowed[0] if allowed else None)


@pytest.mark.parametrize(
    ("listed", "problem"),
    [
        ({"a/#/b": []}, "a/#/b"),
        ({"a#": []}, "end in '/#'"),
        ({"#/#": []}, "end in '/#'"),
        ({"a//b": []}, "empty level"),
        ({"a": ["xyz"]}, "keys show"),
    ],
)
def test_a_list_that_cannot_be_meant(listed, problem):
    with pytest.raises(UsageError, match=problem):
        Publishers(listed)
