import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.gossip.heartbeats import Heartbeats
from orbweaver.overlays.spidercast.messages import (
    Closer,
    Follow,
    Followed,
    RingHeartbeat,
    RingLeave,
)
from orbweaver.overlays.spidercast.ring_per_topic import RingPerTopic, _clockwise
from tests.overlays.overlay_net import NAMES, OverlayNet


def ring_net(interests, **params):
    return OverlayNet(RingPerTopic, interests, **params)


def rings(interests):
    """The links of one closed ring for each topic, merged."""
    links = set()
    for topic in NAMES:
        nodes = sorted(n for n, topics in interests.items() if topic in topics)
        for one, other in zip(nodes, nodes[1:] + nodes[:1], strict=True):
            if one != other:
                links.add((min(one, other), max(one, other)))
    return links


@pytest.mark.parametrize(
    ("start", "middle", "end", "expected"),
    [
        (1, 2, 3, True),
        (1, 3, 2, False),
        (1, 1, 3, False),
        (1, 3, 3, False),
        (3, 4, 1, True),  # round the top
        (3, 0, 1, True),
        (3, 2, 1, False),
        (3, 1, 1, False),
        (3, 3, 1, False),
    ],
)
def test_clockwise_is_strictly_between_going_up(start, middle, end, expected):
    assert _clockwise(start, middle, end) == expected


@pytest.mark.parametrize(
    "interests",
    [
        {0: "a"},
        {0: "a", 1: "b"},
        {0: "a", 5: "a"},
        {0: "a", 1: "a", 2: "a", 3: "a", 4: "a"},
        {0: "ab", 1: "a", 2: "ab", 3: "b"},
        {0: "abcdef", 1: "abcdef", 2: "abcdef"},
    ],
)
def test_each_topic_becomes_one_ring_and_equal_links_are_merged(interests):
    assert ring_net(interests).start().run(3000).links() == rings(interests)


@settings(deadline=None, max_examples=40)
@given(st.dictionaries(st.integers(0, 40), st.sets(st.sampled_from(NAMES)), max_size=12))
def test_rings_close_whatever_the_interests(interests):
    interests = {n: sorted(topics) for n, topics in interests.items()}
    assert ring_net(interests).start().run(5000).links() == rings(interests)


FIVE = {0: "ab", 1: "a", 2: "ab", 3: "b", 4: "ab"}


def without(*nodes):
    return {n: topics for n, topics in FIVE.items() if n not in nodes}


def test_a_node_that_leaves_says_so_and_its_rings_close():
    net = ring_net(FIVE).start().run(3000)
    neighbors = set(net.nodes[2].links())
    net.nodes[2].stop()
    assert set(net.sent(2)) == {(n, RingLeave()) for n in neighbors}
    assert net.outboxes[2].links == set()
    net.pump.settle()
    net.crash(2)
    assert net.run(2000).links() == rings(without(2))


def test_a_node_that_falls_silent_is_suspected_and_its_rings_close():
    net = ring_net(FIVE).start().run(3000)
    net.crash(4)
    net.run(8000)
    assert net.links() == rings(without(4))


def test_rings_follow_changes_of_interest():
    net = ring_net(FIVE).start().run(3000)
    net.change(1, subscribe="b")
    net.change(4, unsubscribe="a")
    net.run(5000)
    assert net.links() == rings({**FIVE, 1: "ab", 4: "b"})


@pytest.mark.parametrize("kind", [Follow, Followed, Closer, RingLeave, RingHeartbeat])
def test_rings_close_after_losses(kind):
    net = ring_net(FIVE)
    net.pump.lost = lambda sender, to, message: isinstance(message, kind)
    net.start().run(3000)
    net.change(1, subscribe="b")
    net.run(3000)
    net.pump.lost = lambda sender, to, message: False
    net.run(20_000)
    assert net.links() == rings({**FIVE, 1: "ab"})


def test_a_topic_that_was_given_up_is_told_again_if_that_is_lost():
    net = ring_net(FIVE).start().run(3000)
    net.pump.lost = lambda sender, to, message: isinstance(message, Followed)
    net.change(4, unsubscribe="b")
    net.pump.settle()
    net.pump.lost = lambda sender, to, message: False
    net.run(5000)
    known = [net.nodes[n].neighbors[4] for n in FIVE if 4 in net.nodes[n].neighbors]
    assert known
    assert not [interest for interest in known if "b" in interest]


def test_an_event_goes_round_its_ring_only():
    net = ring_net(FIVE).start().run(3000)
    net.nodes[3].publish("b", b"")
    net.run(3000)
    got = {n for n, outbox in net.outboxes.items() if outbox.delivered}
    assert got == {0, 2, 4}


# -- the handlers


def alone(topics="a", me=5):
    """A node that knows no other node, and its table."""
    net = ring_net({me: topics}).start()
    return net.nodes[me], net.outboxes[me], net.table


def test_being_followed_makes_a_link_and_is_answered():
    node, outbox, table = alone("ab")
    node.receive(3, Follow(table.interest("a"), table.interest("ac")))
    assert outbox.take() == [(3, Followed(table.interest("ab")))]
    assert outbox.links == {3}
    node.receive(3, Follow(table.interest(""), table.interest("ac")))
    assert outbox.take() == []
    assert outbox.links == set()


@pytest.mark.parametrize(
    ("first", "second", "told", "about"),
    [(1, 3, 1, 3), (3, 1, 1, 3), (8, 3, 8, 3), (3, 8, 8, 3), (7, 8, 7, 8)],
)
def test_of_two_predecessors_the_further_is_pointed_to_the_nearer(first, second, told, about):
    node, outbox, table = alone(me=5)
    a = table.interest("a")
    node.receive(first, Follow(a, a))
    outbox.take()
    node.receive(second, Follow(a, a))
    assert [(to, m) for to, m in outbox.take() if isinstance(m, Closer)] == [
        (told, Closer("a", about))
    ]


@pytest.mark.parametrize(
    ("topic", "peer", "followed"),
    [("a", 6, 6), ("a", 7, 7), ("a", 9, 8), ("a", 4, 8), ("c", 6, 8)],
)
def test_a_closer_node_is_followed_if_it_is_one_and_the_topic_is_ours(topic, peer, followed):
    net = ring_net({5: "a", 8: "a"}).start().run(2000)
    del net.directory.interests[8]  # as in a partial view
    net.nodes[5].receive(8, Closer(topic, peer))
    net.nodes[5].wake(RingPerTopic.TIMER)
    assert net.nodes[5]._successors == {"a": followed}


def test_whoever_is_no_longer_the_successor_is_told_and_unlinked():
    net = ring_net({2: "a", 5: "a", 8: "a"}).start().run(2000)
    assert net.outboxes[5].links == {2, 8}
    a, nothing = net.table.interest("a"), net.table.interest("")
    net.directory.interests[6] = a
    net.nodes[5].wake(RingPerTopic.TIMER)
    assert sorted(net.sent(5)) == [(6, Follow(a, a)), (8, Follow(nothing, a))]
    assert net.outboxes[5].links == {2}


def test_no_node_follows_itself():
    node, outbox, _ = alone(me=5)
    node.receive(8, Closer("a", 5))
    node.wake(RingPerTopic.TIMER)
    assert outbox.take() == []


def test_a_heartbeat_goes_to_every_neighbour_and_a_strangers_is_answered_with_what_we_hold():
    node, outbox, table = alone("a")
    node.receive(3, Follow(table.interest("a"), table.interest("a")))
    outbox.take()
    node.wake(Heartbeats.TIMER)
    assert outbox.take() == [(3, RingHeartbeat())]
    node.receive(9, RingHeartbeat())
    assert outbox.take() == [(9, Follow(table.interest(""), table.interest("a")))]


def test_a_change_of_interest_is_told_to_the_neighbours():
    node, outbox, table = alone("a")
    node.receive(3, Follow(table.interest("a"), table.interest("a")))
    outbox.take()
    node.subscribe("b")
    assert outbox.take() == [(3, Followed(table.interest("ab")))]


@pytest.mark.parametrize("seed", range(5))
def test_rings_close_up_when_each_node_knows_only_some(seed):
    interests = dict.fromkeys(range(20), "a")
    net = ring_net(interests, seed=seed, membership="partial", view_share=0.5)
    assert net.start().run(30_000).links() == rings(interests)
