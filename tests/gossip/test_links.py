"""Links of interested nodes, and all that is kept in step with them."""

from __future__ import annotations

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.links import Links
from orbweaver.gossip.plumtree.messages import IHave, Prune, Push
from tests.gossip.fake_outbox import FakeOutbox, make_context

TABLE = TopicTable("abc")
FAILURE_MS = 100
PEER = NodeId(2)


def made() -> tuple[Links, FakeOutbox]:
    """Return the links of node 0, which subscribes to a and b."""
    outbox = FakeOutbox()
    links = Links(make_context(0, outbox, TABLE), FAILURE_MS)
    links.plumtree.start()
    for topic in "ab":
        links.plumtree.subscribe(topic)
    return links, outbox


def pushed(links: Links, outbox: FakeOutbox, topic: str) -> list[NodeId]:
    """Return the neighbours to which an event on a topic is pushed."""
    outbox.take()
    links.plumtree.publish(topic, b"")
    return [to for to, message in outbox.take() if isinstance(message, Push)]


def test_a_link_is_told_to_the_host_once() -> None:
    links, outbox = made()
    for topics in ("a", "a", "ab"):
        links.set(PEER, TABLE.interest(topics))
    assert outbox.link_changes == [("up", PEER)]
    assert links.neighbors == {PEER: TABLE.interest("ab")}
    for _ in range(2):
        links.remove(PEER)
    assert outbox.link_changes == [("up", PEER), ("down", PEER)]
    assert links.neighbors == {}


def test_events_go_over_the_links_that_share_their_topic() -> None:
    links, outbox = made()
    links.set(PEER, TABLE.interest("a"))
    links.set(NodeId(3), TABLE.interest("bc"))
    assert [pushed(links, outbox, topic) for topic in "ab"] == [[PEER], [3]]
    links.set(PEER, TABLE.interest("b"))
    assert [pushed(links, outbox, topic) for topic in "ab"] == [[], [PEER, 3]]
    links.remove(PEER)
    assert [pushed(links, outbox, topic) for topic in "ab"] == [[], [3]]


@pytest.mark.parametrize(
    ("interest", "greeted"),
    [(None, True), ("c", True), ("a", False)],
    ids=["a new link", "another interest", "the same interest"],
)
def test_a_neighbour_is_told_of_past_events_when_its_interest_is_new(
    interest: str | None, greeted: bool
) -> None:
    links, outbox = made()
    if interest is not None:
        links.set(PEER, TABLE.interest(interest))
    links.plumtree.publish("a", b"")
    outbox.take()
    links.set(PEER, TABLE.interest("a"))
    assert any(isinstance(message, IHave) for _, message in outbox.take()) is greeted


def test_a_neighbour_is_suspected_when_it_has_been_silent_too_long() -> None:
    links, outbox = made()
    outbox.clock.now = 1000
    links.set(PEER, TABLE.interest("a"))
    links.set(NodeId(3), TABLE.interest("a"))
    outbox.clock.now = 1000 + FAILURE_MS
    assert links.silent() == [], "a new link counts as a word"
    links.heard(PEER)
    outbox.clock.now += 1
    assert links.silent() == [3]
    links.set(NodeId(3), TABLE.interest("ab"))
    assert links.silent() == [3], "the caller says which peer was heard"
    links.remove(NodeId(3))
    assert links.silent() == []


def test_a_link_that_comes_again_starts_with_a_clean_slate() -> None:
    links, outbox = made()
    links.set(PEER, TABLE.interest("a"))
    links.plumtree.receive(PEER, Prune("a"))
    assert pushed(links, outbox, "a") == [], "the link is lazy"
    links.remove(PEER)
    outbox.clock.now = 10 * FAILURE_MS
    assert links.heartbeats.suspects([PEER], outbox.clock.now) == []
    links.set(PEER, TABLE.interest("a"))
    assert links.silent() == []
    assert pushed(links, outbox, "a") == [PEER]
