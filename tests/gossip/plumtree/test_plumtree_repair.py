"""What is lost is announced, asked for and sent again."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.messages import Event
from orbweaver.core.seeds import generator
from orbweaver.gossip.plumtree import Plumtree, tree
from orbweaver.gossip.plumtree.grafting import Grafting
from orbweaver.gossip.plumtree.lazy import LazyPush
from orbweaver.gossip.plumtree.messages import Gone, Graft, IHave, Newest, Prune, Push
from orbweaver.gossip.plumtree.missing import MissingEvents
from tests.gossip.plumtree.plumtree_net import Net

TRIANGLE = [(0, 1), (1, 2), (0, 2)]
STREAM = (0, 0, "t")
GRAFT_MS = MissingEvents.PATIENCE_MS


def pruned_triangle():
    """The tree 1-0-2, with 1-2 lazy, and event 0 of node 0 everywhere."""
    net = Net(3, *TRIANGLE)
    net.publish(0)
    net.run(5000)
    net.carried()
    return net


def seqs(node):
    return [seq for _, seq, _ in node.got()]


def test_an_announced_event_that_does_not_come_is_grafted():
    net = pruned_triangle()
    net.lose(Push, between=(0, 2))
    net.publish(0)
    net.run(GRAFT_MS // 2)
    assert seqs(net.nodes[2]) == [0]
    net.run(GRAFT_MS)
    assert net.nodes[2].got()[1:] == [(0, 1, 2)]
    assert net.carried(Graft) == [(2, 1)]
    # The link over which it came is eager from now on, at both ends.
    net.publish(0)
    assert set(net.carried(Push)) == {(0, 1), (1, 2)}


def test_an_announced_event_that_comes_by_itself_is_not_asked_for():
    net = pruned_triangle()
    net.publish(0)
    net.run(5000)
    carried = {type(message) for _, _, message in net.pump.carried}
    assert carried == {Push, IHave}


def test_a_gap_in_the_numbers_shows_what_is_missing():
    net = Net(2, (0, 1))
    net.lose(Push)
    net.publish(0)
    net.publish(0)
    net.heal()
    net.publish(0)
    assert seqs(net.nodes[1]) == [2]
    net.run(1)
    assert seqs(net.nodes[1]) == [2, 0, 1], "at once: its feeder has pushed what comes later"
    assert net.carried(Graft) == [(1, 0)]


def test_the_last_event_is_not_lost_in_silence():
    net = Net(2, (0, 1))
    net.lose(Push)
    net.publish(0)
    net.heal()
    net.run(LazyPush.SUMMARY_MS + GRAFT_MS)
    assert seqs(net.nodes[1]) == [0]


def test_the_last_event_is_not_lost_when_its_link_has_been_pruned_since():
    # It was pushed while the link was eager, so it has never been announced over it.
    net = Net(2, (0, 1))
    net.lose(Push)
    net.publish(0)
    net.heal()
    net.nodes[0].on_prune(1, Prune("t"))
    net.run(20_000)
    assert seqs(net.nodes[1]) == [0]


def test_summaries_end():
    net = Net(2, (0, 1))
    net.publish(0)
    net.run(10_000)
    assert net.carried(IHave).count((0, 1)) == LazyPush.SUMMARY_ROUNDS
    assert all(node.outbox.timers == {} for node in net.nodes)


def test_an_event_published_before_there_was_a_link_is_announced_to_the_new_neighbour():
    net = Net(3)
    net.publish(0)
    net.publish(0)
    net.run(5000)
    net.link(0, 1)
    net.link(1, 2)
    net.run(GRAFT_MS)
    assert seqs(net.nodes[1]) == [0, 1]
    assert seqs(net.nodes[2]) == [0, 1]
    assert [hops for _, _, hops in net.nodes[2].got()] == [2, 2]


def test_a_new_neighbour_is_told_the_newest_of_each_stream_on_its_topics():
    net = Net(1, topics="tuv")
    node = net.nodes[0]
    for topic in "tttuv":
        node.publish(topic, b"")
    node.on_push(5, Push(Event("t", 9, 4, 6), 1, 30))
    net.pump.clock.now = 70
    node.outbox.take()
    node.peer_up(1, net.table.interest("tu"))
    signs = (Newest(STREAM, 2, 70), Newest((9, 4, "t"), 6, 100), Newest((0, 0, "u"), 0, 70))
    assert node.outbox.take() == [(1, IHave(signs))]
    node.peer_up(2, net.table.interest([]))
    assert node.outbox.take() == []


# -- GRAFT and GONE


def test_a_graft_is_answered_with_what_is_held_and_young_enough():
    net = Net(1)
    node = net.nodes[0]
    for now in (0, 100, 200):
        net.pump.clock.now = now
        node.publish("t", b"")
    net.pump.clock.now = 300
    node.on_graft(5, Graft(STREAM, (0, 1, 2, 7), age_ms_max=200))
    assert node.outbox.take() == [
        (5, Push(Event("t", 0, 0, 1), 1, 200)),
        (5, Push(Event("t", 0, 0, 2), 1, 100)),
        (5, Gone(STREAM, 1)),
    ]


def test_a_late_subscriber_is_told_that_the_past_is_gone_and_asks_no_more():
    net = Net(2, topics="")
    net.nodes[0].subscribe("t")
    net.publish(0)
    net.publish(0)
    net.run(5000)
    net.nodes[1].subscribe("t")
    net.link(0, 1)
    net.run(10)
    net.publish(0)
    net.run(5000)
    assert seqs(net.nodes[1]) == [2]
    assert net.carried(Graft) == [(1, 0)]
    assert net.nodes[1].outbox.timers == {}


def announced(net, node, holder, seq=0):
    net.nodes[node].on_ihave(holder, IHave((Newest(STREAM, seq, 0),)))


def test_gone_settles_only_what_is_before_its_number():
    net = Net(3)
    announced(net, 2, 1, seq=3)
    net.run(GRAFT_MS)
    net.nodes[2].receive(1, Gone(STREAM, 2))
    net.run(GRAFT_MS)
    grafts = [(sender, to, graft.stream, graft.seqs) for sender, to, graft in net.pump.carried]
    assert grafts == [(2, 1, STREAM, (0, 1, 2, 3)), (2, 1, STREAM, (2, 3))]


def test_a_holder_that_keeps_an_event_no_longer_does_not_speak_for_the_others():
    net = Net(3, *TRIANGLE)
    net.pump.lost = lambda sender, to, message: isinstance(message, Push) and to == 2
    net.publish(0)
    net.heal()
    net.nodes[1].unsubscribe("t")
    net.nodes[1].subscribe("t")
    announced(net, 2, 1)
    net.run(20_000)
    assert seqs(net.nodes[2]) == [0]


def test_the_holders_are_asked_in_turn_and_not_for_ever():
    net = Net(4, (2, 3), (2, 0), (2, 1))
    net.lose(Push)
    for holder in (0, 1):
        announced(net, 2, holder)
    net.run(60_000)
    asked = [to for sender, to in net.carried(Graft) if sender == 2]
    assert len(asked) == Grafting.TRIES_MAX
    assert asked == [0, 1, 0, 1, 0, 1]
    assert net.nodes[2].outbox.timers == {}


def test_the_pauses_between_tries_grow():
    net = Net(3)
    times = []
    net.pump.lost = lambda sender, to, message: times.append(net.pump.clock.now)
    announced(net, 2, 1)
    assert net.nodes[2].outbox.timers == {Plumtree.TIMER_GRAFT: 1}, "nobody pushes to it"
    net.run(60_000)
    assert times == [1 + GRAFT_MS * n for n in (0, 1, 3, 6, 10, 15)]


def test_an_event_that_was_given_up_is_asked_for_again_at_the_next_sign_of_it():
    net = Net(3)
    announced(net, 2, 1)
    net.run(60_000)
    net.carried()
    net.run(60_000)
    assert net.carried(Graft) == []
    announced(net, 2, 1)
    net.run(60_000)
    assert len(net.carried(Graft)) == Grafting.TRIES_MAX


def test_what_is_missing_is_forgotten_with_the_topic():
    net = Net(3)
    announced(net, 2, 1)
    net.nodes[2].unsubscribe("t")
    net.run(5000)
    assert net.carried() == []


def test_what_comes_before_it_is_overdue_is_not_asked_for():
    net = pruned_triangle()
    announced(net, 2, 1, seq=1)
    net.run(GRAFT_MS - 1)
    net.nodes[2].on_push(0, Push(Event("t", 0, 0, 1), 1, 0))
    net.run(5000)
    assert all(sender != 2 for sender, _ in net.carried(Graft))


def test_what_the_feeder_announces_is_not_waited_for():
    net = pruned_triangle()
    net.lose(Push)
    announced(net, 2, 0, seq=1)
    net.run(1)
    assert net.carried(Graft) == [(2, 0)]


def test_a_graft_makes_a_pruned_link_eager():
    net = Net(2, (0, 1))
    net.nodes[0].on_prune(1, Prune("t"))
    net.publish(0)
    assert net.carried(Push) == []
    net.nodes[0].on_graft(1, Graft(STREAM, (), 0))
    net.publish(0)
    assert net.carried(Push) == [(0, 1)]


# -- faults, then healing


@pytest.mark.parametrize("kinds", [(Push,), (Push, IHave, Graft, Gone, Prune)])
@settings(deadline=None, max_examples=150)
@given(st.integers(3, 5), st.integers(0, 2**32), st.integers(1, 12))
def test_after_losses_and_healing_everybody_has_everything_once(kinds, size, seed, events):
    rng = generator("losses", seed)
    extra = [(a, b) for a in range(size) for b in range(a) if rng.random() < 0.4]
    links = {(n, int(rng.random() * n)) for n in range(1, size)} | set(extra)
    net = Net(size, *sorted(links))
    net.pump.lost = lambda sender, to, message: type(message) in kinds and rng.random() < 0.3
    published = []
    for _ in range(events):
        event = net.publish(int(rng.random() * size))
        published.append((event.publisher, event.seq))
        net.run(50)
    net.heal()
    net.run(20_000)
    for me, node in enumerate(net.nodes):
        got = sorted((publisher, seq) for publisher, seq, _ in node.got())
        assert got == sorted((p, s) for p, s in published if p != me)


def test_who_feeds_a_node_is_not_pruned_though_another_is_first_with_some():
    net = Net(3, (0, 1), (0, 2), (1, 2))
    reader = net.nodes[2]
    first = [Event("t", 0, 0, seq) for seq in range(4)]
    # Over queues that do not drain alike, each of two neighbours is first with some.
    reader.receive(0, Push(first[0], 1, 0))
    reader.receive(1, Push(first[1], 2, 0))
    reader.receive(1, Push(first[0], 2, 0))
    reader.receive(0, Push(first[1], 1, 0))
    pruned = reader._trees["t"].pruned
    assert not {0, 1} <= set(pruned), "nobody is left who pushes"


def test_a_copy_that_came_a_shorter_way_is_preferred():
    net = Net(3, (0, 1), (0, 2), (1, 2))
    reader = net.nodes[2]
    event = Event("t", 0, 0, 0)
    reader.receive(1, Push(event, 2, 0))
    reader.receive(0, Push(event, 1, 0))
    assert 0 not in reader._trees["t"].pruned
    reader.receive(1, Push(event, 2, 0))
    assert 1 in reader._trees["t"].pruned


def test_who_goes_on_pushing_over_a_lazy_link_is_told_again(monkeypatch):
    monkeypatch.setattr(tree, "REMIND", 3)
    net = Net(3, (0, 1), (0, 2), (1, 2))
    reader = net.nodes[2]
    event = Event("t", 0, 0, 0)
    reader.receive(0, Push(event, 1, 0))
    for _ in range(7):
        reader.receive(1, Push(event, 2, 0))
    told = [message for to, message in reader.outbox.sent if to == 1 and message == Prune("t")]
    assert len(told) == 3


def prune(net, node, peer):
    net.nodes[node]._tree("t").pruned[peer] = 0
    net.nodes[node].outbox.send(peer, Prune("t"))
    net.pump.settle()


def test_who_is_pruned_by_who_feeds_it_is_still_fed():
    """It had something faster from elsewhere, for once, and pushed it to who feeds it."""
    net = Net(3, (0, 1), (1, 2))
    net.publish(0)
    net.carried()
    prune(net, 0, 1)
    assert net.carried(Prune) == [(0, 1)], "and not back"
    net.publish(0)
    assert net.carried(Push) == [(0, 1), (1, 2)]
    net.publish(2)
    assert net.carried(Push) == [(2, 1)], "but it pushes no more"
    net.run(2 * GRAFT_MS)
    assert seqs(net.nodes[0]) == [0], "what is announced can be pulled"


def test_a_prune_is_not_answered_with_a_prune():
    """Two nodes, each of which had just taken the other for its feeder, were left alone."""
    net = Net(3, (0, 1), (1, 2))
    net.publish(0)
    net.carried()
    prune(net, 2, 1)
    assert net.carried(Prune) == [(2, 1)]
    net.publish(0)
    assert net.carried(Push) == [(0, 1)]
    net.publish(2)
    assert net.carried(Push) == [(2, 1), (1, 0)]


def test_those_that_hang_on_a_node_without_its_feeder_look_for_pushes_too():
    net = Net(4, (0, 1), (1, 2), (0, 3), (2, 3))
    net.publish(0)
    net.publish(0)
    net.carried()
    net.publish(0)
    assert set(net.carried(Push)) == {(0, 1), (0, 3), (1, 2)}
    net.unlink(0, 1)
    net.pump.settle()
    assert net.carried(Graft) == [(1, 2), (2, 3)]
    net.publish(0)
    assert net.carried(Push) == [(0, 3), (3, 2), (2, 1)]


def test_one_of_those_who_have_what_is_missing_is_enough():
    """Each that is asked becomes an eager link, and all but one would be pruned again."""
    net = Net(4, (0, 3), (1, 3), (2, 3))
    reader = net.nodes[3]
    for seq, (first, second) in enumerate([(0, 1), (1, 0), (2, 0), (0, 2)]):
        for holder in (first, second):
            reader.receive(holder, IHave((Newest((7, 0, "t"), seq, 0),)))
    net.run(GRAFT_MS)
    assert {to for sender, to in net.carried(Graft) if sender == 3} == {0}
