"""The routing table: exchanges of candidates, and the choice among them (Algorithms 2 to 4)."""

from __future__ import annotations

from random import Random

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.messages import Exchange, ExchangeReply
from orbweaver.overlays.vitis.messages import Goodbye, Profile
from tests.gossip.fake_outbox import Clock, Pump
from tests.overlays.vitis.table_node import AGE_MAX_MS, TableNode, aged, entry, profile, told


def test_a_row_forms_out_of_chance() -> None:
    pump = Pump(Clock())
    nodes = {n: TableNode(n, clock=pump.clock) for n in range(30)}
    for n, node in nodes.items():
        pump.nodes[n] = (node.outbox, node.receive, lambda timer: None)
        node.take_up((n + 11) % 30)
    pump.settle()
    chance = Random(2)
    for _ in range(15):
        for node in nodes.values():
            sample = aged(*((entry(n), 0) for n in chance.sample(range(30), 3)))
            node.introduce(node.table.consider(*sample))
            node.table.exchange_rt(sample)
            pump.settle()
    for n in range(1, 29):
        assert nodes[n].chosen() == {n - 1, n + 1}
        assert nodes[n].outbox.links == set(nodes[n].table.peers)
        assert all(n in nodes[peer].table.peers for peer in nodes[n].table.peers), "both ways"


# -- the active and the passive thread


def test_what_is_sent_is_the_node_its_table_and_the_sample() -> None:
    node = TableNode(5)
    node.take_up(1, 2)
    node.outbox.take()
    node.outbox.clock.now = 70
    node.table.exchange_rt(
        aged((entry(2, version=7), 9), (entry(3), 9), (entry(4), AGE_MAX_MS + 1))
    )
    ((to, sent),) = node.outbox.take()
    assert to in (1, 2)
    assert sent == told(Exchange, (entry(5), 0), (entry(2), 70), (entry(1), 70), (entry(3), 9))


def test_the_partner_is_drawn_by_chance() -> None:
    node = TableNode(5)
    node.take_up(1, 2)
    node.outbox.take()
    for _ in range(30):
        node.table.exchange_rt(([], []))
    assert {to for to, _ in node.outbox.take()} == {1, 2}


def test_with_an_empty_table_a_node_of_the_view_is_asked() -> None:
    node = TableNode(5)
    node.table.exchange_rt(([], []))
    assert node.outbox.take() == []
    node.sampling.view = aged((entry(8), 0))
    node.table.exchange_rt(([], []))
    assert node.outbox.take() == [(8, told(Exchange, (entry(5), 0)))]


def test_the_passive_side_answers_with_what_it_had() -> None:
    node = TableNode(5)
    node.take_up(1)
    node.outbox.take()
    node.sampling.view = aged((entry(3), 9))
    new = node.table.on_exchange_rt(NodeId(9), told(Exchange, (entry(9), 0), (entry(6), 0)))
    assert node.outbox.take()[0] == (
        9, told(ExchangeReply, (entry(5), 0), (entry(1), 0), (entry(3), 9)),
    )  # fmt: skip
    assert node.chosen() == {6, 1}, "1 is as near as 9, and was there before"
    assert [peer.node for peer in new] == [6], "to be introduced to"


@pytest.mark.parametrize(
    ("callers_max", "named"), [(0, [2, 1]), (1, [2, 1, 8]), (2, [2, 1, 7, 8]), (9, [2, 1, 6, 7, 8])]
)
def test_the_latest_callers_are_named_beside_the_table(callers_max: int, named: list[int]) -> None:
    node = TableNode(3, callers_max=callers_max)
    node.take_up(2, 1)
    node.called_by(6, 7, 8)
    node.outbox.take()
    node.table.exchange_rt(([], []))
    ((_, sent),) = node.outbox.take()
    assert [e.node for e in sent.entries] == [3, *named]


def test_a_caller_may_be_the_partner_where_callers_are_named() -> None:
    node = TableNode(5, callers_max=1)
    node.called_by(8)
    node.outbox.take()
    node.table.exchange_rt(([], []))
    assert [to for to, _ in node.outbox.take()] == [8]


def test_peers_are_described_with_the_time_since_they_were_heard() -> None:
    node = TableNode(5)
    node.table.refresh([(entry(4), 20), (entry(6), 0)])
    node.outbox.clock.now = 30
    assert node.table.describe(list(node.table.peers.values())) == aged(
        (entry(4), 50), (entry(6), 30)
    )


# -- candidates


def test_old_entries_and_the_node_itself_are_no_candidates() -> None:
    node = TableNode(5, size=9)
    entries = [(entry(1), 0), (entry(5), 0), (entry(2), AGE_MAX_MS + 1), (entry(4), AGE_MAX_MS)]
    node.receive(1, told(ExchangeReply, *entries))
    assert node.chosen() == {1, 4}
    assert node.table.peers[NodeId(4)].heard_ms == -AGE_MAX_MS


def test_the_newest_word_of_a_stranger_counts() -> None:
    node = TableNode(5)
    node.receive(9, told(ExchangeReply, (entry(1, "a", 2), 0), (entry(1, "b", 3), 50)))
    peer = node.table.peers[NodeId(1)]
    assert (peer.about, peer.heard_ms) == (entry(1, "b", 3), -50)


def test_without_an_improvement_nothing_is_chosen_anew() -> None:
    node = TableNode(5)
    node.take_up(1, 2)
    node.choice.dull = {6, 7}
    node.receive(1, told(Exchange, (entry(6), 0)))
    node.receive(1, told(ExchangeReply, (entry(6), 0), (entry(7), 0)))
    assert node.chosen() == {1, 2}
    node.receive(1, told(ExchangeReply, (entry(6), 0), (entry(4), 0)))
    assert node.chosen() == {4, 2}, "among the table and what improves it"


def test_a_neighbour_is_judged_by_what_it_says_itself() -> None:
    node = TableNode(5)
    node.take_up(4)
    node.outbox.take()
    asked: list[Descriptor] = []
    node.choice.improving = lambda entries: asked.extend(entries) or []  # type: ignore
    assert node.table.consider([entry(4, "c", 9), entry(7)], [0, 0]) == []
    assert asked == [entry(7)], "only strangers"
    assert node.table.peers[NodeId(4)].about == entry(4)


# -- the choice


def test_nodes_that_are_chosen_become_links_and_others_end() -> None:
    node = TableNode(5)
    node.take_up(1, 9)
    assert node.sent(Profile) == [(n, Profile(True, entry(5), ())) for n in (1, 9)]
    node.take_up(6)
    assert node.outbox.take() == [
        (9, Goodbye(leaving=False)),
        (6, Profile(True, entry(5), ())),
    ]
    assert node.outbox.link_changes == [("up", 1), ("up", 9), ("down", 9), ("up", 6)]
    assert node.changes == [("linked", 1), ("linked", 9), ("unlinked", 9), ("linked", 6)]


def test_a_node_that_leaves_the_table_stays_a_neighbour_while_it_chooses_this_one() -> None:
    node = TableNode(5)
    node.take_up(1, 9)
    node.receive(9, profile(9, True, None))
    node.outbox.take()
    node.take_up(6)
    assert node.chosen() == {1, 6}
    assert set(node.table.peers) == {1, 9, 6}
    assert node.sent(Goodbye) == []
    assert node.table.status() == {"table": 2, "in_links": 1}


def test_callers_are_candidates_like_the_others() -> None:
    node = TableNode(5)
    node.take_up(1, 9)
    node.called_by(6)
    assert node.chosen() == {1, 9}
    assert node.table.refresh() == [], "no link is new"
    assert node.chosen() == {6, 1}


@pytest.mark.parametrize(
    ("event", "settled"),
    [
        (lambda node: None, True),
        (lambda node: node.table.lost(NodeId(4)), False),
        (lambda node: node.table.lost(NodeId(8)), True),  # a caller, not in the table
        (lambda node: node.table.lost(NodeId(77)), True),
        (lambda node: node.table.interest_changed(), False),
        (lambda node: node.receive(4, profile(4, False, "a", 2)), False),
        (lambda node: node.receive(8, profile(8, True, "a", 2)), False),
        (lambda node: node.receive(4, profile(4, False, "ab", 2)), True),
    ],
    ids=["nothing", "lost from the table", "a caller lost", "a stranger lost", "own interest",
         "a member's interest", "a caller's interest", "the same interest"],
)  # fmt: skip
def test_the_table_is_settled_until_a_candidate_changes(event, settled) -> None:  # type: ignore[no-untyped-def]
    node = TableNode(5)
    node.take_up(4, 6)
    node.called_by(8)
    assert node.table.settled
    event(node)
    assert node.table.settled is settled
    node.table.refresh()
    assert node.table.settled
