"""T-Man: buffers go both ways, and what is best is kept."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message
from orbweaver.core.topics import NOTHING, TopicTable
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.tman import Exchange, ExchangeReply, TMan
from tests.gossip.fake_outbox import Clock, FakeOutbox, Pump, make_context

AGE_MAX = 4000


def entry(node: int, version: int = 0, age: int = 0) -> Descriptor:
    return Descriptor(NodeId(node), NOTHING, version, age)


class Node:
    """Keeps as neighbours the two nodes on either side of it in a row of numbers."""

    def __init__(self, me: int, clock: Clock | None = None) -> None:
        self.me = me
        self.outbox = FakeOutbox(clock)
        self.table: list[Descriptor] = []
        self.sample: list[Descriptor] = []
        self.dull: set[int] = set()
        """Who tempts nobody to choose anew."""
        context = make_context(me, self.outbox, TopicTable())
        self.tman = TMan(
            context, lambda: entry(me), lambda: self.table, lambda: self.sample,
            lambda entries: [e for e in entries if e.node not in self.dull], self.refresh,
            AGE_MAX,
        )  # fmt: skip

    def refresh(self, fresh: Iterable[Descriptor]) -> None:
        candidates = {e.node: e for e in (*self.table, *fresh)}
        nearest = sorted(candidates.values(), key=lambda e: abs(e.node - self.me))
        self.table = [Descriptor(e.node, e.interest, e.version, 0) for e in nearest[:2]]

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
            node.sample = [entry(n) for n in chance.sample(range(30), 3) if n != node.me]
            node.tman.step()
            pump.settle()
    for n in range(1, 29):
        assert {e.node for e in nodes[n].table} == {n - 1, n + 1}


def test_the_buffer_is_table_sample_and_oneself() -> None:
    node = Node(5)
    node.table, node.sample = [entry(1), entry(2)], [entry(2, version=-1), entry(3)]
    node.tman.step()
    ((to, sent),) = node.outbox.take()
    assert to in (1, 2)
    assert isinstance(sent, Exchange)
    assert {e.node: e.version for e in sent.buffer} == {5: 0, 1: 0, 2: 0, 3: 0}


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
    node.tman.on_exchange(NodeId(9), Exchange((entry(9), entry(6))))
    ((to, sent),) = node.outbox.take()
    assert to == 9
    assert {e.node for e in sent.buffer} == {5, 1}
    assert {e.node for e in node.table} == {6, 9} or {e.node for e in node.table} == {6, 1}


def test_old_entries_and_oneself_are_no_candidates() -> None:
    node = Node(5)
    seen: list[set[int]] = []
    node.tman._refresh = lambda fresh: seen.append({int(e.node) for e in fresh})
    node.sample = [entry(3, age=AGE_MAX + 1)]
    node.tman.on_exchange_reply(
        NodeId(1),
        ExchangeReply((entry(1), entry(5), entry(2, age=AGE_MAX + 1), entry(4, age=AGE_MAX))),
    )
    assert seen == [{1, 4}]


def test_the_newest_word_of_a_node_counts() -> None:
    node = Node(5)
    kept: list[Descriptor] = []
    node.tman._refresh = kept.extend
    node.sample = [entry(1, version=3, age=50), entry(2, version=3, age=50)]
    told = (entry(1, version=2, age=0), entry(2, version=3, age=10), entry(3, version=1, age=9))
    node.tman.on_exchange_reply(NodeId(9), ExchangeReply(told))
    assert [(e.version, e.age) for e in kept] == [(3, 50), (3, 10), (1, 9)]


def test_without_temptation_nothing_is_chosen_anew() -> None:
    node = Node(5)
    node.table, node.dull = [entry(1), entry(2)], {1, 2, 6, 7}
    node.tman.on_exchange(NodeId(1), Exchange((entry(6),)))
    node.tman.on_exchange_reply(NodeId(1), ExchangeReply((entry(6), entry(7))))
    assert [e.node for e in node.table] == [1, 2]
    node.sample = [entry(4)]
    node.tman.on_exchange_reply(NodeId(1), ExchangeReply((entry(6),)))
    assert [e.node for e in node.table] == [4, 2], "among the table and who tempts"
