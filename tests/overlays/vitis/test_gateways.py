"""Gateways: what a node proposes, what it tells of it, and when (Algorithm 5)."""

from __future__ import annotations

import pytest

from orbweaver.core.identifiers import PLACE_OF_NODE, PLACE_OF_TOPIC, distance
from orbweaver.core.ids import NodeId
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.neighborhood import Neighborhood
from orbweaver.overlays.vitis.gateways import MOVING, PATIENCE, PATIENCE_MOVED, Gateways
from orbweaver.overlays.vitis.messages import Proposal
from orbweaver.overlays.vitis.table import Peer

TABLE = TopicTable("ABC")
TABLE_SIZE = 15
HOPS_MAX = 5


def by_distance(count: int) -> list[NodeId]:
    """Return nodes, the nearest to A's place first."""
    place = PLACE_OF_TOPIC["A"]
    return sorted(
        (NodeId(n) for n in range(100, 100 + count)),
        key=lambda n: distance(PLACE_OF_NODE[n], place),
    )


NEAR, MIDDLE, FAR, FURTHER = by_distance(4)


def own(n: NodeId) -> Proposal:
    return Proposal("A", n, n, 0)


def entry(node: NodeId, topics: str) -> Descriptor:
    return Descriptor(node, TABLE.interest(topics), 0)


def gateways(
    me: NodeId, told: dict[NodeId, Proposal], topics: str = "A"
) -> tuple[Gateways, Neighborhood[Peer]]:
    """Return the gateways of a node whose table is at rest. Each neighbour wants A and has made
    one proposal."""
    hood: Neighborhood[Peer] = Neighborhood(TABLE)
    hood.follow(topics)
    for node, proposal in told.items():
        peer = Peer(entry(node, "A"), 0)
        peer.proposals["A"] = proposal
        hood.add(peer)
    made = Gateways(me, PLACE_OF_NODE, hood, HOPS_MAX, TABLE_SIZE)
    made.fresh_links = 0
    made.follow()
    return made, hood


def rested(
    me: NodeId, told: dict[NodeId, Proposal], topics: str = "A"
) -> tuple[Gateways, Neighborhood[Peer]]:
    """Return the same after all has been recomputed and told."""
    made, hood = gateways(me, told, topics)
    while made.step() is not None:
        pass
    made.news()
    return made, hood


def propose(me: NodeId, told: dict[NodeId, Proposal]) -> Proposal:
    made, _ = gateways(me, told)
    made.step()
    return made.proposals["A"]


# -- what is proposed


def test_alone_a_node_is_its_own_gateway() -> None:
    made, _ = gateways(FAR, {})
    made.step()
    assert made.proposals["A"] == own(FAR)
    assert list(made.ours) == ["A"]


@pytest.mark.parametrize(
    ("me", "told", "expected"),
    [
        # The node nearest to the place is the gateway.
        (FAR, {NEAR: own(NEAR), MIDDLE: own(MIDDLE)}, Proposal("A", NEAR, NEAR, 1)),
        (NEAR, {MIDDLE: own(MIDDLE)}, own(NEAR)),
        # A gateway may not be too far away.
        (FAR, {MIDDLE: Proposal("A", NEAR, NodeId(1), 4)}, Proposal("A", NEAR, MIDDLE, 5)),
        (FAR, {MIDDLE: Proposal("A", NEAR, NodeId(1), 5)}, own(FAR)),
        # The shorter way to the same gateway counts.
        (
            FAR,
            {MIDDLE: Proposal("A", NEAR, NodeId(1), 3), FURTHER: Proposal("A", NEAR, NodeId(2), 1)},
            Proposal("A", NEAR, FURTHER, 2),
        ),
        (
            FAR,
            {MIDDLE: Proposal("A", NEAR, NodeId(2), 1), FURTHER: Proposal("A", NEAR, NodeId(1), 3)},
            Proposal("A", NEAR, MIDDLE, 2),
        ),
        # What came from this node is no news,
        (FAR, {MIDDLE: Proposal("A", NEAR, FAR, 2)}, own(FAR)),
        # nor what came from another neighbour, which no longer says so.
        (FAR, {MIDDLE: Proposal("A", NEAR, FURTHER, 2), FURTHER: own(FURTHER)}, own(FAR)),
    ],
)
def test_the_proposal_follows_from_those_of_the_neighbours(
    me: NodeId, told: dict[NodeId, Proposal], expected: Proposal
) -> None:
    assert propose(me, told) == expected


def test_a_lost_neighbour_takes_its_proposal_along() -> None:
    made, hood = rested(FAR, {NEAR: own(NEAR), MIDDLE: own(MIDDLE)})
    lost = hood.peers[NEAR]
    hood.remove(lost)
    made.forget(lost)
    assert lost.proposals == {}
    made.step()
    assert made.proposals["A"] == Proposal("A", MIDDLE, MIDDLE, 1)


def test_a_restarted_neighbour_counts_again_when_it_proposes_again() -> None:
    made, hood = rested(FAR, {NEAR: own(NEAR)})
    peer = hood.peers[NEAR]
    made.forget(peer)
    made.step()
    assert made.proposals["A"] == own(FAR)
    made.heard(peer, [own(NEAR)])
    made.step()
    assert made.proposals["A"].gateway == NEAR


def test_only_what_can_be_better_is_recomputed() -> None:
    made, hood = rested(FAR, {MIDDLE: own(MIDDLE), FURTHER: own(FURTHER)})
    peer = hood.peers[FURTHER]
    made.heard(peer, [Proposal("A", FURTHER, NodeId(1), 1)])
    assert made.step() is None, "further from the place than what is proposed"
    made.heard(peer, [Proposal("A", NEAR, NodeId(1), 1)])
    assert made.step() is not None
    assert made.proposals["A"] == Proposal("A", NEAR, FURTHER, 2)
    made.heard(peer, [own(FURTHER)])
    assert made.step() is not None, "what the neighbour told before holds no longer"
    assert made.proposals["A"].gateway == MIDDLE


def test_a_shorter_way_to_the_gateway_is_recomputed() -> None:
    made, hood = rested(FAR, {MIDDLE: Proposal("A", NEAR, NodeId(1), 3), FURTHER: own(FURTHER)})
    for hops, expected in ((3, MIDDLE), (2, FURTHER)):
        made.heard(hood.peers[FURTHER], [Proposal("A", NEAR, NodeId(2), hops)])
        made.step()
        assert made.proposals["A"].parent == expected


def test_a_proposal_for_a_topic_of_others_is_not_kept() -> None:
    made, hood = rested(FAR, {NEAR: own(NEAR)})
    made.heard(hood.peers[NEAR], [Proposal("C", NEAR, NEAR, 0)])
    assert list(hood.peers[NEAR].proposals) == ["A"]
    assert made.step() is None


# -- what is told


def test_only_changes_are_told_and_all_proposals_to_a_newcomer() -> None:
    made, hood = gateways(FAR, {NEAR: own(NEAR)})
    told = (Proposal("A", NEAR, NEAR, 1),)
    made.step()
    assert made.news() == {NEAR: told}
    assert made.news() == {}
    assert made.introduction(hood.peers[NEAR]) == told


def test_an_introduction_is_no_news_afterwards() -> None:
    made, hood = gateways(FAR, {NEAR: own(NEAR), MIDDLE: own(MIDDLE)})
    made.step()
    told = made.introduction(hood.peers[NEAR])
    assert made.news() == {MIDDLE: told}


def test_only_neighbours_that_share_a_topic_are_told() -> None:
    made, hood = gateways(FAR, {NEAR: own(NEAR)})
    other = Peer(entry(MIDDLE, "C"), 0)
    hood.add(other)
    made.step()
    assert list(made.news()) == [NEAR]
    assert made.introduction(other) == ()


def test_a_neighbour_that_wants_more_is_told_what_it_lacks() -> None:
    made, hood = rested(FAR, {NEAR: own(NEAR)}, "AB")
    peer = hood.peers[NEAR]
    before = peer.shared
    hood.update(peer, entry(NEAR, "AB"))
    made.reindexed(peer, before)
    made.step()
    assert made.proposals["A"].gateway == NEAR, "what it said of A holds still"
    assert made.news() == {NEAR: (Proposal("A", NEAR, NEAR, 1), Proposal("B", FAR, FAR, 0))}


def test_a_neighbour_that_wants_less_takes_its_proposal_along() -> None:
    made, hood = rested(FAR, {NEAR: own(NEAR)})
    peer = hood.peers[NEAR]
    before = peer.shared
    hood.update(peer, entry(NEAR, "B"))
    made.reindexed(peer, before)
    assert peer.proposals == {}
    made.step()
    assert made.proposals["A"] == own(FAR)
    assert not made.news().get(NEAR), "nothing is shared with it"


# -- when


def test_a_path_is_asked_for_by_a_gateway_that_is_one_twice_in_a_row() -> None:
    made, hood = gateways(FAR, {NEAR: own(FURTHER)}, "AB")
    assert made.step() == [], "it has just become a gateway"
    assert made.step() == ["A", "B"]
    assert made.step() is None, "the same as before"
    made.heard(hood.peers[NEAR], [own(NEAR)])
    assert made.step() == ["B"], "a path that is no longer needed is left at once"
    assert made.step() == ["B"]
    assert made.step() is None


def test_topics_come_and_go() -> None:
    made, hood = rested(FAR, {}, "AB")
    assert list(made.ours) == ["A", "B"]
    hood.follow("B")
    made.follow()
    assert made.step() == ["B"], "a topic less is a change"
    assert list(made.ours) == list(made.proposals) == ["B"]
    assert made.step() == ["B"]
    assert made.step() is None


def test_proposals_for_a_topic_given_up_are_dropped_with_it() -> None:
    made, hood = rested(FAR, {NEAR: own(NEAR)}, "AB")
    hood.follow("B")
    made.follow()
    assert hood.peers[NEAR].proposals == {}
    hood.follow("AB")
    made.follow()
    made.step()
    assert made.proposals["A"] == own(FAR), "the neighbour has to say so again"


ENOUGH = TABLE_SIZE // MOVING + 1
"""Links that have to come in one cycle for a table to move."""


@pytest.mark.parametrize(("fresh", "waits"), [(0, 0), (ENOUGH - 1, 0), (ENOUGH, PATIENCE)])
def test_gateways_are_left_alone_while_the_table_moves(fresh: int, waits: int) -> None:
    """Though not for ever."""
    made, _ = gateways(FAR, {})
    cycles = 0
    while not made.proposals:
        made.fresh_links = fresh
        cycles += 1
        assert (made.step() is None) == (cycles <= waits)
    assert cycles == waits + 1


def test_at_the_start_links_are_about_to_come() -> None:
    made = Gateways(FAR, PLACE_OF_NODE, Neighborhood(TABLE), HOPS_MAX, TABLE_SIZE)
    assert made.step() is None
    assert made.fresh_links == 0
    assert made.step() is None, "there are no topics"


def test_gateways_that_have_just_changed_are_looked_at_sooner() -> None:
    made, _ = gateways(FAR, {})
    made.step()
    cycles = 0
    topics = None
    while topics is None:
        made.fresh_links = ENOUGH
        topics = made.step()
        cycles += 1
    assert (cycles, topics) == (PATIENCE_MOVED + 1, ["A"])


def test_what_is_not_told_while_the_table_moves_is_told_later() -> None:
    made, hood = rested(FAR, {NEAR: own(NEAR)})
    told = (Proposal("A", NEAR, NEAR, 1),)
    made.fresh_links = ENOUGH
    made.step()
    assert made.introduction(hood.peers[NEAR]) == ()
    assert made.news() == {}
    made.step()
    assert made.news() == {NEAR: told}
