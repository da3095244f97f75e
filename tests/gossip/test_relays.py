"""Relay paths: trees that grow towards a place, and lapse."""

from __future__ import annotations

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.topics import TopicTable
from orbweaver.gossip import relays as module
from orbweaver.gossip.messages import Relay, Unrelay
from orbweaver.gossip.relays import PERIODS_MAX, Relays
from tests.gossip.fake_outbox import FakeOutbox, make_context

PERIOD = 1000


class Hop:
    """Everything goes the same way, which can change."""

    def __init__(self, node: int | None) -> None:
        self.node = node

    def __call__(self, place: int) -> NodeId | None:
        return None if self.node is None else NodeId(self.node)


def part(hop: Hop) -> tuple[Relays, FakeOutbox]:
    outbox = FakeOutbox()
    return Relays(make_context(0, outbox, TopicTable()), hop, PERIOD), outbox


def test_what_is_wanted_is_asked_for_at_once_in_one_message() -> None:
    relays, outbox = part(Hop(5))
    relays.want(["a", "b"])
    assert outbox.take() == [(5, Relay(("a", "b")))]
    assert relays.peers("a") == [5]
    relays.want(["a", "b"])
    assert outbox.take() == [], "asked already"


def test_a_request_is_passed_on_once_and_both_ends_are_neighbours() -> None:
    relays, outbox = part(Hop(5))
    relays.on_relay(NodeId(3), Relay(("a",)))
    assert outbox.take() == [(5, Relay(("a",)))]
    relays.on_relay(NodeId(4), Relay(("a",)))
    assert outbox.take() == [], "on the tree already"
    assert relays.peers("a") == [3, 4, 5]
    assert relays.peers("b") == []


def test_the_node_at_the_place_is_the_root() -> None:
    relays, outbox = part(Hop(None))
    relays.on_relay(NodeId(3), Relay(("a",)))
    assert outbox.take() == []
    assert relays.peers("a") == [3]


def test_requests_lapse_unless_they_are_repeated() -> None:
    relays, outbox = part(Hop(5))
    relays.on_relay(NodeId(3), Relay(("a",)))
    relays.on_relay(NodeId(4), Relay(("a",)))
    for period in range(1, PERIODS_MAX + 1):
        outbox.clock.now = period * PERIOD
        relays.on_relay(NodeId(4), Relay(("a",)))
        outbox.take()
        relays.step()
        assert outbox.take() == [(5, Relay(("a",)))], "asked for again in each period"
    assert relays.peers("a") == [4, 5]
    outbox.clock.now = 2 * PERIODS_MAX * PERIOD
    relays.step()
    assert relays.branches == {}
    assert outbox.take() == [(5, Unrelay(("a",)))]


def test_between_periods_a_step_does_nothing() -> None:
    relays, outbox = part(Hop(5))
    relays.want(["a"])
    relays.step()
    outbox.take()
    outbox.clock.now = PERIOD - 1
    relays.step()
    assert outbox.take() == []


def test_a_lost_parent_is_replaced_in_the_next_cycle() -> None:
    hop = Hop(5)
    relays, outbox = part(hop)
    relays.want(["a", "b"])
    relays.step()
    outbox.take()
    hop.node = 6
    relays.lost(NodeId(9))
    relays.step()
    assert outbox.take() == [], "it was no parent"
    relays.lost(NodeId(5))
    relays.step()
    assert outbox.take() == [(6, Relay(("a", "b")))]
    assert relays.peers("a") == [6]


def test_a_lost_child_takes_its_requests_along() -> None:
    relays, outbox = part(Hop(5))
    relays.on_relay(NodeId(3), Relay(("a", "b")))
    relays.on_relay(NodeId(4), Relay(("b",)))
    outbox.take()
    relays.lost(NodeId(3))
    assert outbox.take() == [(5, Unrelay(("a",)))], "another child still needs b"
    assert relays.peers("b") == [4, 5]
    relays.on_unrelay(NodeId(3), Unrelay(("b",)))
    assert relays.peers("b") == [4, 5], "a late word of one that has gone"


def test_what_is_no_longer_wanted_is_left() -> None:
    relays, outbox = part(Hop(5))
    relays.want(["a", "b", "c"])
    relays.on_relay(NodeId(3), Relay(("c",)))
    outbox.take()
    relays.want(["b"])
    assert outbox.take() == [(5, Unrelay(("a",)))]
    assert list(relays.branches) == ["b", "c"], "a child still needs c"
    relays.on_unrelay(NodeId(3), Unrelay(("c", "b", "x")))
    assert outbox.take() == [(5, Unrelay(("c",)))]
    assert list(relays.branches) == ["b"]


def test_a_tree_that_moves_leaves_its_old_parent() -> None:
    hop = Hop(5)
    relays, outbox = part(hop)
    relays.want(["a"])
    outbox.take()
    relays.step()
    outbox.take()
    hop.node = 6
    relays.step()
    assert outbox.take() == [], "no neighbour has said that there is another way"
    relays.reroute()
    relays.step()
    assert outbox.take() == [(6, Relay(("a",))), (5, Unrelay(("a",)))]


def test_one_child_puts_a_node_on_a_bounded_number_of_trees(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "BRANCHES_OF_CHILD", 2)
    relays, outbox = part(Hop(5))
    for _ in range(2):
        relays.on_relay(NodeId(3), Relay(("a", "b", "c", "d")))
    assert list(relays.branches) == ["a", "b"]
    outbox.clock.now = PERIODS_MAX * PERIOD - 1
    relays.on_relay(NodeId(3), Relay(("a", "b", "c")))
    outbox.clock.now += 2
    relays.step()
    assert list(relays.branches) == ["a", "b"], "requests of known trees are still renewed"
    relays.on_relay(NodeId(4), Relay(("c",)))
    assert relays.peers("c") == [4, 5], "another child has its own share"


def test_all_children_put_a_node_on_a_bounded_number_of_trees(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "BRANCHES_MAX", 3)
    relays, _ = part(Hop(5))
    for child in range(10, 20):
        relays.on_relay(NodeId(child), Relay((f"topic {child}", "a")))
    assert len(relays.branches) == 3
    assert len(relays.peers("a")) == 11, "trees that are there take all children"
