"""What a node wants: subscriptions, publications, and what other nodes are told of them."""

from __future__ import annotations

import pytest

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.core.topics import NOTHING, TopicTable
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.interest import OwnInterest

TABLE = TopicTable("abc")
ME = NodeId(7)


def started(topics: str = "", now: int = 1000) -> OwnInterest:
    """Return the interest of a node that subscribed at 10 ms and started at `now`."""
    interest = OwnInterest(ME, TABLE)
    for topic in topics:
        interest.subscribe(topic, 10)
    interest.start(now)
    return interest


def test_before_the_start_a_node_is_said_to_want_nothing() -> None:
    interest = OwnInterest(ME, TABLE)
    interest.subscribe("a", 10)
    assert interest.topics == NOTHING
    assert interest.about == Descriptor(ME, NOTHING, 0)


def test_a_start_takes_up_all_topics_under_a_version_of_its_time() -> None:
    interest = started("ac", now=1000)
    assert interest.about == Descriptor(ME, TABLE.interest("ac"), 1000)
    assert interest.topics == TABLE.interest("ac")


@pytest.mark.parametrize(
    ("change", "topics", "subscribed"),
    [
        (lambda one: one.subscribe("b", 2000), "ab", {"a": 10, "b": 2000}),
        (lambda one: one.subscribe("a", 2000), "a", {"a": 10}),  # the first time counts
        (lambda one: one.publish("b"), "ab", {"a": 10}),
        (lambda one: one.unsubscribe("a"), "", {}),
        (lambda one: one.unsubscribe("c"), "a", {"a": 10}),
    ],
    ids=["subscribe", "subscribe again", "publish", "unsubscribe", "unsubscribe a stranger"],
)
def test_a_change_counts_from_the_next_renewal(change, topics, subscribed) -> None:  # type: ignore[no-untyped-def]
    interest = started("a", now=1000)
    change(interest)
    assert interest.about == Descriptor(ME, TABLE.interest("a"), 1000)
    interest.renew()
    assert interest.about == Descriptor(ME, TABLE.interest(topics), 1001)
    assert interest.topics == TABLE.interest(topics)
    assert interest.subscribed == subscribed


@pytest.mark.parametrize(
    ("subscribed", "publications", "new"),
    [("", "b", [True]), ("", "bb", [True, False]), ("", "bc", [True, True]), ("b", "b", [False])],
)
def test_the_first_publication_on_a_topic_is_news(
    subscribed: str, publications: str, new: list[bool]
) -> None:
    interest = started(subscribed)
    assert [interest.publish(topic) for topic in publications] == new


def test_a_node_that_unsubscribes_counts_as_a_publisher_no_longer() -> None:
    interest = started("b")
    interest.publish("b")
    interest.unsubscribe("b")
    interest.renew()
    assert interest.topics == NOTHING
    assert interest.publish("b"), "new again"


@pytest.mark.parametrize("topic", ["", "a//b", "a\n"])
def test_a_topic_needs_a_legal_name(topic: str) -> None:
    interest = started("a")
    with pytest.raises(UsageError, match="topic"):
        interest.subscribe(topic, 2000)
    with pytest.raises(UsageError, match="topic"):
        interest.publish(topic)
    interest.renew()
    assert interest.topics == TABLE.interest("a")
