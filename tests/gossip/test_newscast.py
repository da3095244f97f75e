"""Newscast: views fill, stay random, and forget the nodes that have gone."""

from __future__ import annotations

from collections import Counter

from orbweaver.core.ids import NodeId
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.descriptor import AGE_MAX, AHEAD_MS, Descriptor
from orbweaver.gossip.messages import News, NewsReply
from orbweaver.gossip.newscast import Newscast
from tests.gossip.fake_outbox import Clock, FakeOutbox, Pump, make_context, own_interest

TOPICS = TopicTable(["a", "b"])
HANDLERS = {News: Newscast.on_news, NewsReply: Newscast.on_news_reply}


def entry(node: int, version: int = 0) -> Descriptor:
    return Descriptor(NodeId(node), TOPICS.interest(["a"]), version)


def hear(part: Newscast, *told: tuple[Descriptor, int]) -> None:
    part.on_news_reply(NodeId(99), NewsReply(tuple(e for e, _ in told), tuple(a for _, a in told)))


def sampled(part: Newscast) -> list[Descriptor]:
    return part.sample()[0]


def lone(view_size: int = 3) -> tuple[Newscast, FakeOutbox]:
    outbox = FakeOutbox()
    return Newscast(make_context(0, outbox, TOPICS), own_interest(TOPICS, "a"), view_size), outbox


class Net:
    def __init__(self, size: int, view_size: int) -> None:
        self.pump = Pump(Clock())
        self.nodes: dict[int, Newscast] = {}
        for n in range(size):
            outbox = FakeOutbox(self.pump.clock)
            context = make_context(n, outbox, TOPICS)
            part = Newscast(context, own_interest(TOPICS, "a", n), view_size)
            self.nodes[n] = part
            self.pump.nodes[n] = (
                outbox,
                lambda sender, message, part=part: HANDLERS[type(message)](part, sender, message),
                lambda timer: None,
            )
        for n, part in self.nodes.items():
            part.meet([NodeId((n + 1) % size)])
        self.pump.settle()

    def cycles(self, count: int) -> None:
        for _ in range(count):
            for part in self.nodes.values():
                self.pump.clock.now += 10
                part.step()
                self.pump.settle()


def test_views_fill_and_each_node_is_known_to_some() -> None:
    net = Net(60, 10)
    net.cycles(15)
    known = Counter(e.node for part in net.nodes.values() for e in sampled(part))
    assert all(len(sampled(part)) == 10 for part in net.nodes.values())
    assert len(known) == 60
    assert max(known.values()) < 45, "no node is known to nearly all"


def test_nodes_that_have_gone_are_forgotten() -> None:
    net = Net(40, 10)
    net.cycles(10)
    for gone in range(10):
        del net.nodes[gone], net.pump.nodes[gone]
    net.cycles(20)
    held = {e.node for part in net.nodes.values() for e in sampled(part)}
    assert not held & set(range(10))


def test_the_youngest_are_kept() -> None:
    part, _ = lone(view_size=3)
    hear(part, (entry(1), 5), (entry(2), 1), (entry(3), 9))
    hear(part, (entry(4), 0), (entry(0), 0))
    assert {e.node for e in sampled(part)} == {1, 2, 4}, "neither the oldest nor oneself"


def test_the_newer_version_wins_whatever_its_age() -> None:
    part, _ = lone()
    hear(part, (entry(1, version=2), 3))
    hear(part, (entry(1, version=1), 0))
    assert part.sample() == ([entry(1, version=2)], [3])


def test_entries_grow_older() -> None:
    part, outbox = lone()
    hear(part, (entry(1), 0))
    outbox.clock.now = 70
    assert part.sample()[1] == [70]


def test_an_entry_without_an_age_is_overlooked() -> None:
    part, _ = lone()
    part.on_news_reply(NodeId(1), NewsReply((entry(1), entry(2)), (4,)))
    assert part.sample() == ([entry(1)], [4])


def test_contacts_are_asked_and_not_passed_on_before_they_answer() -> None:
    part, outbox = lone()
    part.meet([NodeId(7), NodeId(0)])
    assert [to for to, _ in outbox.take()] == [7]
    assert sampled(part) == []
    assert part.contacts() == [7]
    part.on_news(NodeId(9), News((entry(9),), (0,)))
    ((to, reply),) = outbox.take()
    assert to == 9
    assert [e.node for e in reply.entries] == [0]


def test_a_contact_that_never_answers_gives_way_to_those_that_do() -> None:
    part, _ = lone(view_size=2)
    part.meet([NodeId(7)])
    hear(part, (entry(1), 0), (entry(2), 0))
    assert part.contacts() == [1, 2, 7]
    hear(part, (entry(3), 0))
    assert sorted(part.contacts()) == sorted(e.node for e in sampled(part))
    assert len(part.contacts()) == 2


def test_contacts_that_never_answer_do_not_pile_up() -> None:
    part, _ = lone(view_size=2)
    for n in range(1, 9):
        part.meet([NodeId(n)])
    assert part.contacts() == [7, 8]


def test_a_forgotten_node_is_gone_from_both_halves_of_the_view() -> None:
    part, _ = lone()
    hear(part, (entry(1), 5), (entry(2), 6))
    part.forget(NodeId(1))
    part.forget(NodeId(1))
    assert part.sample() == ([entry(2)], [6])


def says(part: Newscast, sender: int, told: Descriptor, age: int = 0) -> None:
    part.on_news(NodeId(sender), News((told,), (age,)))


def wanting(topic: str, node: int, version: int) -> Descriptor:
    return Descriptor(NodeId(node), TOPICS.interest([topic]), version)


def test_what_a_node_says_itself_is_not_replaced_by_the_word_of_others() -> None:
    part, outbox = lone()
    said = wanting("a", 1, 5)
    says(part, 1, said)
    outbox.clock.now += 50
    says(part, 2, wanting("b", 1, 6))
    assert part.sample() == ([said], [50])
    says(part, 2, wanting("b", 1, 5), age=10)
    assert part.sample() == ([said], [10]), "of the same word, the age is believed"
    says(part, 1, wanting("b", 1, 7))
    assert part.sample() == ([wanting("b", 1, 7)], [0])


def test_the_word_of_the_node_itself_ends_a_lie() -> None:
    part, _ = lone()
    says(part, 2, wanting("b", 1, 90))
    says(part, 1, wanting("a", 1, 5))
    assert sampled(part) == [wanting("a", 1, 5)]


def test_after_a_node_has_left_the_view_others_are_believed_again() -> None:
    for leave in (
        lambda part: part.forget(NodeId(1)),
        lambda part: [says(part, 99, entry(n)) for n in (2, 3, 4)],
    ):
        part, outbox = lone()
        says(part, 1, wanting("a", 1, 5))
        outbox.clock.now += 50
        leave(part)
        assert 1 not in [told.node for told in sampled(part)]
        for version in (6, 7):
            outbox.clock.now += 50
            says(part, 9, wanting("b", 1, version))
        assert wanting("b", 1, 7) in sampled(part)


def test_only_a_node_itself_may_be_far_ahead_of_our_time() -> None:
    part, outbox = lone()
    future = outbox.now() + AHEAD_MS + 1
    says(part, 2, wanting("a", 1, future))
    assert sampled(part) == []
    says(part, 2, wanting("a", 1, future - 1))
    says(part, 2, wanting("a", 2, 1 << 62))
    assert [told.node for told in sampled(part)] == [1, 2]


def test_an_entry_that_is_too_old_is_ignored() -> None:
    part, _ = lone()
    hear(part, (entry(1), AGE_MAX), (entry(2), AGE_MAX + 1))
    assert [e.node for e in sampled(part)] == [1]


def test_no_more_contacts_are_called_than_the_view_holds() -> None:
    part, outbox = lone(view_size=3)
    part.meet([NodeId(n) for n in range(1, 50)])
    assert [to for to, _ in outbox.take()] == [1, 2, 3]
