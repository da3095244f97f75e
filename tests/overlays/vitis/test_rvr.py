"""RVR where it differs from Vitis: blind to interests, and a path for each subscriber."""

from __future__ import annotations

from orbweaver.core.identifiers import PLACE_OF_NODE, PLACE_OF_TOPIC, distance
from orbweaver.core.ids import NodeId
from orbweaver.gossip.messages import Beside, Relay, Unrelay
from orbweaver.overlays.vitis.messages import Goodbye, Profile
from orbweaver.overlays.vitis.rvr import Rvr
from tests.overlays.vitis.vitis_node import ahead, entry, node, profile, refresh

NEAR_A = min(range(1, 40), key=lambda n: distance(PLACE_OF_NODE[NodeId(n)], PLACE_OF_TOPIC["A"]))


def test_neighbours_are_chosen_by_place_alone() -> None:
    rvr, _ = node(Rvr, table_size=7)
    alike = {NodeId(n): entry(n, "AB") for n in range(1, 40)}
    others = {NodeId(n): entry(n, "GH") for n in range(1, 40)}
    choose = rvr.table.choice.choose
    assert list(choose(alike, ())) == list(choose(others, ()))
    assert len(choose(alike, ())) == 7


def test_a_path_is_asked_for_each_topic_of_the_node_itself() -> None:
    rvr, outbox = node(Rvr, "A")
    refresh(rvr, [entry(NEAR_A, "H")])
    outbox.take()
    rvr.wake(Rvr.TIMER)
    asked = [(to, m) for to, m in outbox.take() if isinstance(m, Relay)]
    assert set(asked) == {(NEAR_A, Relay(("A",)))}
    assert rvr.towards("A") == [NEAR_A]
    rvr.unsubscribe("A")
    assert outbox.take() == [(NEAR_A, Unrelay(("A",)))]
    assert rvr.towards("A") == []


def test_a_relay_is_counted_for_topics_of_others_only() -> None:
    rvr, _ = node(Rvr, "A")
    rvr.receive(NodeId(2), profile(2, True, "AB"))
    rvr.receive(NodeId(2), Relay(("A", "B")))
    assert rvr.status()["relay_of"] == 1


def test_a_node_that_asks_for_a_path_before_it_is_known_is_told_so() -> None:
    rvr, outbox = node(Rvr, "")
    rvr.receive(NodeId(2), Relay(("A",)))
    assert outbox.take() == [(2, Goodbye(leaving=False))]
    assert rvr.relays.branches == {}


def test_a_neighbour_that_lost_this_node_is_asked_for_relay_paths_again() -> None:
    """A relay that was restarted has no trees, and knows no node that asks for one until that
    node is introduced."""
    rvr, outbox = node(Rvr)
    refresh(rvr, [entry(NEAR_A, "H")])
    rvr.wake(Rvr.TIMER)
    outbox.clock.now += 1000
    rvr.receive(NodeId(NEAR_A), profile(NEAR_A, True, "H"))
    rvr.wake(Rvr.TIMER)
    outbox.take()
    outbox.clock.now += 1000
    rvr.receive(NodeId(NEAR_A), Goodbye(leaving=False))
    rvr.wake(Rvr.TIMER)
    told = [type(m) for to, m in outbox.take() if to == NEAR_A]
    assert Relay in told
    assert told.index(Profile) < told.index(Relay)


def test_a_nearer_ring_neighbour_that_calls_is_chosen_at_once() -> None:
    rvr, outbox = node(Rvr)
    successor, *others = sorted(range(1, 40), key=ahead)
    refresh(rvr, [entry(n, "AB") for n in others])
    outbox.take()
    rvr.receive(NodeId(successor), profile(successor, True, "H"))
    assert rvr.table.peers[NodeId(successor)].chosen
    assert (successor, Beside()) in outbox.take()
