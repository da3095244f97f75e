"""Links and profiles: when a peer is a neighbour, and what it is told (Algorithms 6 and 7)."""

from __future__ import annotations

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.gossip.descriptor import LIFE
from orbweaver.overlays.vitis.messages import Goodbye, Profile, Proposal
from orbweaver.overlays.vitis.table import CALLS, SILENT_MAX, WHOLE_EVERY
from tests.overlays.vitis.table_node import AGE_MAX_MS, TABLE, TableNode, entry, profile

PEER = NodeId(2)
STILL = Goodbye(leaving=False)
GONE = Goodbye(leaving=True)


# -- links come


@pytest.mark.parametrize(
    ("message", "linked", "answer"),
    [
        (profile(2, True), True, Profile(False, entry(5), ())),
        (profile(2, False), False, STILL),
        (profile(2, True, None), False, STILL),  # a heartbeat over a link that is not here
        (profile(2, False, None), False, STILL),
        (profile(3, True), False, None),  # no node introduces itself as another
        (profile(3, False), False, None),
    ],
)
def test_a_stranger_is_linked_when_it_chooses_this_node_and_says_what_it_wants(
    message: Profile, linked: bool, answer: Profile | Goodbye | None
) -> None:
    node = TableNode(5)
    node.receive(PEER, message)
    assert (PEER in node.table.peers) is linked
    assert node.outbox.take() == ([(PEER, answer)] if answer else [])
    assert node.changes == ([("linked", PEER)] if linked else [])
    assert node.outbox.links == ({PEER} if linked else set())


def test_a_caller_takes_no_place_in_the_table() -> None:
    node = TableNode(5)
    node.called_by(2, 3, 4)
    assert node.table.status() == {"table": 0, "in_links": 3}


def test_a_neighbour_is_not_accepted_twice() -> None:
    node = TableNode(5)
    node.called_by(2)
    assert node.table.accept_caller(PEER, profile(2, True)) is None
    assert node.changes == [("linked", PEER)]


# -- profiles are taken in


@pytest.mark.parametrize(
    ("version", "topics", "counts"),
    [(9, "a", False), (10, "a", False), (11, "a", True), (10 + LIFE, "a", True)],
)
def test_a_profile_counts_if_it_is_newer(version: int, topics: str, counts: bool) -> None:
    node = TableNode(5)
    node.receive(PEER, profile(2, True, "b", 10))
    node.receive(PEER, profile(2, True, topics, version))
    peer = node.table.peers[PEER]
    assert peer.about.interest == TABLE.interest(topics if counts else "b")
    assert node.table.hood.interested("a") == ([PEER] if counts else [])


def test_the_first_word_of_a_neighbour_itself_counts_whatever_others_said() -> None:
    node = TableNode(5)
    node.table.refresh([(entry(2, "c", 2**62), 0)])
    node.receive(PEER, profile(2, True, "a", 10 * LIFE))
    assert node.table.peers[PEER].about == entry(2, "a", 10 * LIFE)
    assert node.changes == [("linked", PEER)], "that is no restart"


def test_a_profile_of_another_node_says_nothing() -> None:
    node = TableNode(5)
    node.called_by(2)
    node.outbox.clock.now = 70
    assert node.table.on_profile(PEER, profile(3, False)) is None
    assert node.table.on_profile(NodeId(9), profile(9, True)) is None, "a stranger"
    peer = node.table.peers[PEER]
    assert (peer.heard_ms, peer.chooses) == (0, True)


def test_a_profile_is_a_sign_of_life_and_says_whether_the_link_is_chosen() -> None:
    node = TableNode(5)
    node.take_up(2)
    peer = node.table.peers[PEER]
    for chooses in (True, False):
        node.outbox.clock.now += 70
        assert node.table.on_profile(PEER, profile(2, chooses, None)) is peer
        assert (peer.heard_ms, peer.chooses) == (node.outbox.clock.now, chooses)


@pytest.mark.parametrize(("later", "restarted"), [(1, False), (LIFE - 1, False), (LIFE, True)])
def test_a_neighbour_that_was_restarted_has_forgotten_what_was_agreed(
    later: int, restarted: bool
) -> None:
    node = TableNode(5)
    node.receive(PEER, profile(2, True, "a", 100))
    assert node.table.peers[PEER].introduced
    node.receive(PEER, profile(2, True, "a", 100 + later))
    assert node.changes[1:] == ([("forgotten", PEER)] if restarted else [])
    assert node.table.peers[PEER].introduced is not restarted


# -- links end


def test_a_link_ends_when_neither_end_chooses_it() -> None:
    node = TableNode(5)
    node.called_by(2)
    node.outbox.take()
    node.receive(PEER, profile(2, False, None))
    assert node.table.peers == {}
    assert node.outbox.take() == [(PEER, STILL)], "it may take itself to be chosen"
    node.receive(PEER, profile(2, False, None))
    assert node.outbox.take() == [(PEER, STILL)], "so that it stops"
    node.receive(PEER, STILL)
    assert node.outbox.take() == []


@pytest.mark.parametrize(("chosen", "chooses"), [(True, True), (True, False), (False, True)])
def test_a_link_that_one_end_chooses_stays(chosen: bool, chooses: bool) -> None:
    node = TableNode(5)
    if chosen:
        node.take_up(2)
    else:
        node.called_by(2)
    node.receive(PEER, profile(2, chooses))
    assert PEER in node.table.peers
    assert node.sent(Goodbye) == []


@pytest.mark.parametrize(
    ("chosen", "message", "change"),
    [
        (True, STILL, "forgotten"),
        (False, STILL, "unlinked"),
        (True, GONE, "unlinked"),
        (False, GONE, "unlinked"),
    ],
)
def test_a_goodbye_ends_what_the_peer_had_chosen(
    chosen: bool, message: Goodbye, change: str
) -> None:
    node = TableNode(5)
    node.called_by(2)
    if chosen:
        node.table.refresh()
    node.receive(PEER, message)
    assert node.changes[1:] == [(change, PEER)]
    assert (PEER in node.table.peers) is (change == "forgotten")
    for peer in node.table.peers.values():
        assert not peer.chooses
        assert not peer.introduced, "it is told everything again"
    assert node.sampling.forgotten == ([PEER] if message.leaving else [])
    node.table.call_silent()
    assert node.sampling.met == [], "it did not go without a word"


def test_leaving_is_told() -> None:
    node = TableNode(5)
    node.take_up(4)
    node.called_by(2)
    node.outbox.take()
    node.table.leave()
    assert node.outbox.take() == [(4, GONE), (2, GONE)]
    assert node.outbox.links == set()
    assert node.changes[2:] == [("unlinked", 4), ("unlinked", 2)]


# -- silence


@pytest.mark.parametrize(("silent_ms", "stays"), [(AGE_MAX_MS, True), (AGE_MAX_MS + 1, False)])
def test_a_silent_neighbour_is_let_go(silent_ms: int, stays: bool) -> None:
    node = TableNode(5)
    node.called_by(2, 3)
    node.outbox.clock.now = silent_ms
    node.receive(3, profile(3, True, None))
    node.table.drop_silent()
    assert list(node.table.peers) == ([2, 3] if stays else [3])
    assert node.sampling.forgotten == ([] if stays else [2])


def calls(node: TableNode, cycles: int) -> list[int]:
    node.sampling.met.clear()
    for _ in range(cycles):
        node.table.call_silent()
    return list(node.sampling.met)


def test_lost_neighbours_are_called_in_turn_and_not_for_ever() -> None:
    node = TableNode(5)
    node.called_by(2, 3)
    for n in (2, 3, 9):
        node.table.lost(NodeId(n))
    assert calls(node, 3 * CALLS) == [2, 3] * CALLS, "9 was no neighbour"


def test_the_neighbours_lost_last_are_called() -> None:
    node = TableNode(500)
    for n in range(SILENT_MAX + 5):
        node.called_by(n)
        node.table.lost(NodeId(n))
    assert calls(node, SILENT_MAX) == list(range(5, SILENT_MAX + 5))


def test_a_lost_neighbour_that_is_linked_again_is_not_called() -> None:
    node = TableNode(5)
    node.called_by(2)
    node.table.lost(PEER)
    node.called_by(2)
    assert calls(node, 3) == []


# -- profiles are sent


def introductions(node: TableNode, cycles: int) -> list[list[int]]:
    """Return the peers that this node is introduced to, in each cycle."""
    told = []
    for _ in range(cycles):
        peers = node.table.unintroduced()
        node.introduce(peers)
        told.append([int(peer.node) for peer in peers])
    return told


def test_each_neighbour_is_told_everything_again_after_a_while() -> None:
    node = TableNode(50)
    node.called_by(2, 3, 13)
    told = introductions(node, 2 * WHOLE_EVERY)
    assert [told.count(peers) for peers in ([2], [3, 13], [])] == [2, 2, 2 * WHOLE_EVERY - 4]
    assert told[:WHOLE_EVERY] == told[WHOLE_EVERY:]


def test_a_change_of_interest_is_told_to_every_neighbour() -> None:
    node = TableNode(50)
    node.called_by(2, 3)
    introductions(node, WHOLE_EVERY)
    node.interest.unsubscribe("a")
    node.interest.renew()
    node.table.interest_changed()
    assert node.table.hood.sharing.keys() == {"b"}
    node.outbox.take()
    assert introductions(node, 2) == [[2, 3], []]
    assert node.sent(Profile) == [(n, Profile(False, entry(50, "b", 1), ())) for n in (2, 3)]


def test_a_profile_says_whether_the_receiver_is_chosen() -> None:
    node = TableNode(5, size=1)
    node.take_up(6)
    node.called_by(2)
    node.outbox.take()
    node.table.exchange_profiles({})
    assert node.outbox.take() == [(2, profile(5, False, None)), (6, profile(5, True, None))]


def test_proposals_go_to_the_neighbour_that_they_are_new_to() -> None:
    node = TableNode(5, size=1)
    node.take_up(6)
    node.called_by(2, 3)
    node.outbox.take()
    new = (Proposal("a", NodeId(9), NodeId(9), 1),)
    node.table.exchange_profiles({NodeId(n): new for n in (6, 2, 77)})
    assert node.outbox.take() == [
        (6, Profile(True, None, new)), (2, Profile(False, None, new)), (3, profile(5, False, None)),
    ]  # fmt: skip
    node.table.introduce(node.table.peers[PEER], new)
    assert node.outbox.take() == [(2, Profile(False, entry(5), new))]
