"""Push, prune, and who gets what."""

import pytest

from orbweaver.core.messages import Event
from orbweaver.gossip.plumtree.messages import Graft, IHave, Newest, Prune, Push
from orbweaver.gossip.plumtree.missing import MissingEvents
from orbweaver.gossip.plumtree.plumtree import Plumtree
from orbweaver.gossip.streams import AGE_SLACK_MS
from tests.gossip.plumtree.plumtree_net import Net

LINE = [(0, 1), (1, 2), (2, 3)]
TRIANGLE = [(0, 1), (1, 2), (0, 2)]
CLIQUE = [(a, b) for a in range(5) for b in range(a)]


def test_an_event_is_pushed_along_a_line_and_counts_its_hops():
    net = Net(4, *LINE)
    event = net.publish(1)
    assert (event.topic, event.publisher, event.seq) == ("t", 1, 0)
    assert [node.got() for node in net.nodes] == [[(1, 0, 1)], [], [(1, 0, 1)], [(1, 0, 2)]]


def test_events_are_numbered_for_each_topic():
    net = Net(1)
    numbers = [net.publish(0, topic).seq for topic in ("t", "t", "u", "t", "u")]
    assert numbers == [0, 1, 0, 2, 1]


def test_the_epoch_is_when_the_node_started():
    net = Net(1)
    net.pump.clock.now = 777
    net.nodes[0].start()
    assert net.publish(0).epoch == 777


def test_everybody_gets_each_event_once_whatever_the_links():
    net = Net(5, *CLIQUE)
    for publisher in (0, 3, 3, 4):
        net.publish(publisher)
        net.run(50)
    net.run(10_000)
    published = {(0, 0), (3, 0), (3, 1), (4, 0)}
    for me, node in enumerate(net.nodes):
        got = [(publisher, seq) for publisher, seq, _ in node.got()]
        assert len(got) == len(set(got))
        assert set(got) == {(p, s) for p, s in published if p != me}


def test_a_copy_that_comes_twice_prunes_its_link():
    net = Net(3, *TRIANGLE)
    net.publish(0)
    assert net.carried(Prune) == [(1, 2), (2, 1)]
    net.publish(0)
    assert net.carried(Push) == [(0, 1), (0, 2)]


def test_after_some_events_they_travel_along_a_tree():
    net = Net(5, *CLIQUE)
    for _ in range(3):
        net.publish(0)
    net.carried()
    net.publish(0)
    pushes = net.carried(Push)
    assert len(pushes) == 4
    assert {to for _, to in pushes} == {1, 2, 3, 4}


def test_over_a_lazy_link_events_are_announced_together():
    net = Net(3, *TRIANGLE)
    net.publish(0)
    net.run(10_000)
    net.carried()
    net.publish(0)
    net.publish(0)
    assert net.carried(IHave) == []
    net.run(100)
    assert sorted(net.carried(IHave)) == [(1, 2), (2, 1)]


def test_steady_traffic_does_not_put_off_the_announcements():
    net = Net(3, *TRIANGLE)
    net.publish(0)
    net.run(10_000)
    net.carried()
    for _ in range(20):
        net.publish(0)
        net.run(10)
    assert (1, 2) in net.carried(IHave)


def test_trees_of_different_topics_are_pruned_apart():
    net = Net(3, *TRIANGLE, topics="tu")
    for a, b in TRIANGLE:
        net.link(a, b, topics="tu")
    net.publish(0, "t")
    net.carried()
    net.publish(0, "u")
    assert len(net.carried(Push)) == 4


def test_a_link_that_comes_back_is_eager_again():
    net = Net(3, *TRIANGLE)
    net.publish(0)
    net.unlink(1, 2)
    net.link(1, 2)
    net.run(5000)
    net.carried()
    net.publish(0)
    assert sorted(net.carried(Push)) == [(0, 1), (0, 2), (1, 2), (2, 1)]


def test_only_neighbours_with_the_topic_are_told():
    net = Net(4)
    net.link(0, 1, "t")
    net.link(0, 2, "u")
    net.link(0, 3, "tu")
    net.publish(0)
    net.run(5000)
    assert {to for sender, to in net.carried() if sender == 0} == {1, 3}


def test_a_node_that_has_not_subscribed_passes_on_without_delivering():
    net = Net(3, (0, 1), (1, 2))
    net.nodes[1].unsubscribe("t")
    net.publish(0)
    assert [node.got() for node in net.nodes] == [[], [], [(0, 0, 2)]]


def test_ones_own_event_coming_back_is_not_delivered_but_pruned():
    net = Net(2, (0, 1))
    event = net.publish(0)
    net.carried()
    net.nodes[0].on_push(1, Push(event, 2, 0))
    assert net.nodes[0].got() == []
    assert net.nodes[0].outbox.take() == [(1, Prune("t"))]


def test_a_copy_from_a_stranger_prunes_nothing():
    net = Net(2)
    push = Push(Event("t", 9, 0, 0), 1, 0)
    for _ in range(2):
        net.nodes[0].on_push(1, push)
    net.nodes[0].on_prune(1, Prune("t"))
    assert net.nodes[0].outbox.take() == []
    net.link(0, 1)
    net.run(5000)
    net.carried()
    net.publish(0)
    assert net.carried(Push) == [(0, 1)]


def fed_by_1_with_2_pruned():
    net = Net(3, (0, 1), (0, 2))
    reader = net.nodes[0]
    for feeder in (1, 2):
        reader.on_push(feeder, Push(Event("t", 9, 0, 0), 1, 0))
    assert (2, Prune("t")) in reader.outbox.take()
    return net, reader


def test_a_node_whose_feeder_is_gone_asks_the_pruned_neighbours_to_push_again():
    net, reader = fed_by_1_with_2_pruned()
    net.unlink(0, 1)
    assert reader.outbox.take() == [(2, Graft((0, 0, "t"), (), 0))]


def test_so_does_a_node_whose_feeder_has_unsubscribed():
    net, reader = fed_by_1_with_2_pruned()
    reader.peers[1] = net.table.interest("u")
    reader.peer_up(1, net.table.interest("u"))
    assert (2, Graft((0, 0, "t"), (), 0)) in reader.outbox.take()


def test_a_node_that_nobody_feeds_pulls_at_once():
    net, reader = fed_by_1_with_2_pruned()
    net.unlink(0, 1)
    reader.on_ihave(2, IHave((Newest((9, 0, "t"), 1, 0),)))
    net.run(1)
    assert (0, 2, Graft((9, 0, "t"), (1,), Plumtree.RELAY_AGE_MS)) in net.pump.carried


def test_a_pruned_neighbour_that_alone_brings_something_new_is_asked_to_push_again():
    net = Net(2, (0, 1))
    publisher = net.nodes[0]
    publisher.on_push(1, Push(net.publish(0), 2, 0))
    assert publisher.outbox.take() == [(1, Prune("t"))]
    publisher.on_push(1, Push(Event("t", 9, 0, 0), 1, 0))
    assert (1, Graft((9, 0, "t"), (), 0)) in publisher.outbox.take()


def test_an_event_is_not_pushed_to_who_published_it():
    net = Net(3, (0, 1), (0, 2), (1, 2))
    net.lose(Push, between=(0, 2))
    net.publish(0)
    assert set(net.carried(Push)) == {(0, 1), (1, 2)}
    net.run(5000)
    assert all(to != 0 for _, to in net.carried(Push))


def test_what_is_known_of_other_topics_outlives_an_unsubscription():
    net = Net(1, topics="tu")
    push = Push(Event("t", 9, 0, 0), 1, 0)
    net.nodes[0].on_push(5, push)
    net.nodes[0].on_ihave(5, IHave((Newest((9, 0, "t"), 1, 0),)))
    net.nodes[0].unsubscribe("u")
    net.nodes[0].on_push(6, push)
    assert net.nodes[0].got() == [(9, 0, 1)]
    net.nodes[0].outbox.take()
    net.pump.clock.now = MissingEvents.PATIENCE_MS
    net.nodes[0].wake(Plumtree.TIMER_GRAFT)
    assert [to for to, _ in net.nodes[0].outbox.take()] == [5]


# -- nothing older than the subscription


SLACK_MS = AGE_SLACK_MS
RELAY_MS = Plumtree.RELAY_AGE_MS


@pytest.mark.parametrize(
    ("age_ms", "delivered"), [(0, True), (100 + SLACK_MS, True), (101 + SLACK_MS, False)]
)
def test_an_event_older_than_the_subscription_is_passed_on_but_not_delivered(age_ms, delivered):
    net = Net(2, (0, 1))
    net.pump.clock.now = 1000
    net.nodes[0].subscribe("u")
    net.nodes[0].peers[1] = net.table.interest("u")
    net.pump.clock.now = 1100
    event = Event("u", 9, 0, 0)
    net.nodes[0].on_push(5, Push(event, 3, age_ms))
    assert net.nodes[0].got() == ([(9, 0, 3)] if delivered else [])
    assert (1, Push(event, 4, age_ms)) in net.nodes[0].outbox.take()


@pytest.mark.parametrize(
    ("subscribed_ms", "age_ms", "asked"),
    [
        (100, RELAY_MS, True),
        (100, RELAY_MS + 1, False),
        (RELAY_MS, RELAY_MS + SLACK_MS, True),
        (RELAY_MS, RELAY_MS + SLACK_MS + 1, False),
    ],
)
def test_an_old_event_is_not_asked_for(subscribed_ms, age_ms, asked):
    """Young ones are, to pass them on, also by those who subscribed after them."""
    net = Net(1, topics="")
    net.pump.clock.now = 1000
    net.nodes[0].subscribe("t")
    net.pump.clock.now = 1000 + subscribed_ms
    net.nodes[0].on_ihave(5, IHave((Newest((9, 0, "t"), 0, age_ms),)))
    assert (Plumtree.TIMER_GRAFT in net.nodes[0].outbox.timers) == asked


@pytest.mark.parametrize("age_ms", [-1, -1000])
def test_an_impossible_age_does_not_deliver_what_was_not_subscribed_to(age_ms):
    net = Net(1, topics="")
    net.nodes[0].on_push(5, Push(Event("t", 9, 0, 0), 1, age_ms))
    assert net.nodes[0].got() == []


def test_subscribing_twice_does_not_make_the_subscription_younger():
    net = Net(1)
    net.pump.clock.now = 1000
    net.nodes[0].subscribe("t")
    net.nodes[0].on_push(5, Push(Event("t", 9, 0, 0), 1, 500))
    assert net.nodes[0].got() == [(9, 0, 1)]


def test_an_event_is_delivered_once_even_if_the_subscription_was_renewed_meanwhile():
    # Ages leave out time on the wire, so a slow second copy does not look older than the
    # new subscription.
    net = Net(1)
    push = Push(Event("t", 9, 0, 0), 1, 0)
    net.nodes[0].on_push(5, push)
    net.nodes[0].unsubscribe("t")
    net.nodes[0].subscribe("t")
    net.nodes[0].on_push(6, push)
    assert net.nodes[0].got() == [(9, 0, 1)]
