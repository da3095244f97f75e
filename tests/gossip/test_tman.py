"""T-Man: buffers go both ways, and what is best is kept."""

from __future__ import annotations

from random import Random
from typing import Any

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message
from orbweaver.core.topics import NOTHING, TopicTable
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.tman import Exchange, ExchangeReply, TMan
from tests.gossip.fake_outbox import Clock, FakeOutbox, Pump, make_context

AGE_MAX = 4000


def entry(node: int, version: int = 0) -> Descriptor:
    return Descriptor(NodeId(node), NOTHING, version)


def told(kind: type[Exchange | ExchangeReply], *entries: tuple[Descriptor, int]) -> Any:
    return kind(tuple(e for e, _ in entries), tuple(age for _, age in entries))


class Node:
    """Keeps as neighbours the two nodes on either side of it in a row of numbers."""

    def __init__(self, me: int, clock: Clock | None = None) -> None:
        self.me = me
        self.outbox = FakeOutbox(clock)
        self.table: list[Descriptor] = []
        self.sample: list[tuple[Descriptor, int]] = []
        self.dull: set[int] = set()
        """Who tempts nobody to choose anew."""
        context = make_context(me, self.outbox, TopicTable())
        self.tman = TMan(
            context, lambda: entry(me), lambda: (list(self.table), [0] * len(self.table)),
            lambda: ([e for e, _ in self.sample], [age for _, age in self.sample]),
            lambda entries: [e for e in entries if e.node not in self.dull],
            lambda fresh: self.refresh(list(fresh)), AGE_MAX,
        )  # fmt: skip

    def refresh(self, fresh: list[tuple[Descriptor, int]]) -> None:
        candidates = {e.node: e for e in (*self.table, *(e for e, _ in fresh))}
        self.table = sorted(candidates.values(), key=lambda e: abs(e.node - self.me))[:2]

    def receive(self, sender: int, message: Message) -> None:
        if isinstance(message, Exchange):
            self.tman.on_exchange(NodeId(sender), message)
        else:
            assert isinstance(message, ExchangeReply)
            self.tman.on_exchange_reply(NodeId(sender), message)


def test_a_row_forms_out_of_chance() -> None:
    pump = Pump(Clock())
    nodes = {n: Node(n, pump.clock) for n in range(30)}
    for n, node in nodes.items():
        node.table = [entry((n + 11) % 30)]
        pump.nodes[n] = (node.outbox, node.receive, lambda timer: None)
    chance = Random(2)
    for _ in range(15):
        for node in nodes.values():
            node.sample = [(entry(n), 0) for n in chance.sample(range(30), 3) if n != node.me]
            node.tman.step()
            pump.settle()
    for n in range(1, 29):
        assert {e.node for e in nodes[n].table} == {n - 1, n + 1}


def test_the_buffer_is_table_sample_and_oneself() -> None:
    node = Node(5)
    node.dull = {1, 2, 3, 4}
    node.table = [entry(1), entry(2)]
    node.sample = [(entry(2, version=7), 9), (entry(3), 9), (entry(4), AGE_MAX + 1)]
    node.tman.step()
    ((to, sent),) = node.outbox.take()
    assert to in (1, 2)
    assert isinstance(sent, Exchange)
    assert sent == told(Exchange, (entry(5), 0), (entry(1), 0), (entry(2), 0), (entry(3), 9))


def test_with_an_empty_table_others_are_asked() -> None:
    node = Node(5)
    node.tman.step()
    assert node.outbox.take() == []
    node.tman.step([NodeId(8)])
    ((to, _),) = node.outbox.take()
    assert to == 8


def test_the_passive_side_answers_with_what_it_had() -> None:
    node = Node(5)
    node.table = [entry(1)]
    node.tman.on_exchange(NodeId(9), told(Exchange, (entry(9), 0), (entry(6), 0)))
    ((to, sent),) = node.outbox.take()
    assert to == 9
    assert {e.node for e in sent.entries} == {5, 1}
    assert {e.node for e in node.table} == {6, 9} or {e.node for e in node.table} == {6, 1}


def test_old_entries_and_oneself_are_no_candidates() -> None:
    node = Node(5)
    seen: list[set[int]] = []
    node.refresh = lambda fresh: seen.append({int(e.node) for e, _ in fresh})  # type: ignore[method-assign]
    entries = [(entry(1), 0), (entry(5), 0), (entry(2), AGE_MAX + 1), (entry(4), AGE_MAX)]
    node.tman.on_exchange_reply(NodeId(1), told(ExchangeReply, *entries))
    assert seen == [{1, 4}]
    node.sample = [(entry(3), AGE_MAX + 1), (entry(6), 7)]
    node.tman.step()
    assert seen == [{1, 4}, {6}], "the sample, once a cycle"


def test_the_newest_word_of_a_node_counts() -> None:
    node = Node(5)
    kept: list[tuple[Descriptor, int]] = []
    node.refresh = kept.extend  # type: ignore[method-assign]
    entries = [
        (entry(1, version=2), 0), (entry(2, version=3), 50), (entry(3, version=1), 9),
        (entry(1, version=3), 50), (entry(2, version=3), 10),
    ]  # fmt: skip
    node.tman.on_exchange_reply(NodeId(9), told(ExchangeReply, *entries))
    assert [(e.version, age) for e, age in kept] == [(3, 50), (3, 10), (1, 9)]


def test_without_temptation_nothing_is_chosen_anew() -> None:
    node = Node(5)
    node.table, node.dull = [entry(1), entry(2)], {1, 2, 6, 7}
    node.tman.on_exchange(NodeId(1), told(Exchange, (entry(6), 0)))
    node.tman.on_exchange_reply(NodeId(1), told(ExchangeReply, (entry(6), 0), (entry(7), 0)))
    assert [e.node for e in node.table] == [1, 2]
    node.tman.on_exchange_reply(NodeId(1), told(ExchangeReply, (entry(6), 0), (entry(4), 0)))
    assert [e.node for e in node.table] == [4, 2], "among the table and who tempts"


def test_a_peer_is_told_of_others_out_of_turn() -> None:
    node = Node(5)
    node.tman.tell(NodeId(3), [entry(4)], [20])
    assert node.outbox.take() == [(3, told(ExchangeReply, (entry(4), 20)))]
