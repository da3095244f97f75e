"""Which nodes may publish on a topic."""

import pytest

from orbweaver.core.errors import UsageError
from orbweaver.net.gate.publishers import Publishers
from orbweaver.net.keys.identity import Identity

NODES = A, B, C = [Identity(bytes([n]) * 32) for n in range(3)]
KEYS = {name: node.public_key.hex() for name, node in zip("abc", NODES, strict=True)}
FEED = f"feed@{A.node:016x}"


def listing(listed):
    """The list with the keys of the nodes in place of their names."""
    return Publishers({pattern: [KEYS[name] for name in names] for pattern, names in listed})


def allowed_on(publishers, topic):
    return [n for n in NODES if publishers.may_publish(n.node, n.public_key, topic)]


LISTED = {
    "#": "a",
    "news/#": "b",
    "news/sport/#": "c",
    "news/sport/live": "ac",
    "closed": "",
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
    publishers = listing((pattern, LISTED[pattern]) for pattern in order)
    assert allowed_on(publishers, topic) == allowed
    assert publishers.first_of(topic) == (allowed[0].node if allowed else None)


def test_without_an_entry_every_node_may_publish():
    for listed in ([], [("news/#", "a")]):
        publishers = listing(listed)
        assert allowed_on(publishers, "other") == NODES
        assert publishers.first_of("other") is None


@pytest.mark.parametrize(
    ("listed", "allowed"),
    [
        ([], [A]),
        ([(FEED, "b")], [A, B]),
        ([("#", "ab")], [A]),
        ([("#", "b")], []),
    ],
)
def test_a_feed_whose_name_carries_its_publisher(listed, allowed):
    publishers = listing(listed)
    assert allowed_on(publishers, FEED) == allowed
    assert publishers.first_of(FEED) == (allowed[0].node if allowed else None)


@pytest.mark.parametrize("listed", [[("news", "a")], [("#", "a")], [(FEED, "a")]])
def test_the_key_counts_and_not_the_id_alone(listed):
    publishers, topic = listing(listed), listed[0][0].replace("#", FEED)
    assert publishers.may_publish(A.node, A.public_key, topic)
    assert not publishers.may_publish(A.node, B.public_key, topic)
    assert publishers.may_publish(A.node, None, topic), "where nothing is signed, ids are believed"


@pytest.mark.parametrize(
    ("listed", "problem"),
    [
        ({"a/#/b": []}, "a/#/b"),
        ({"a#": []}, "end in '/#'"),
        ({"#/#": []}, "end in '/#'"),
        ({"a//b": []}, "empty level"),
        ({"a": ["xyz"]}, "keys show"),
        ({"a": [f"{A.node:016x}"]}, "an id is too short"),
    ],
)
def test_a_list_that_cannot_be_meant(listed, problem):
    with pytest.raises(UsageError, match=problem):
        Publishers(listed)
