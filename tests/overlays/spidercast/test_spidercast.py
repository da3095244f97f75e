import pytest

from orbweaver.core.errors import ProtocolError, UsageError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.heartbeats import Heartbeats
from orbweaver.gossip.messages import Shuffle, ShuffleReply
from orbweaver.overlays.spidercast import SpiderCast
from orbweaver.overlays.spidercast.messages import (
    Connect,
    ConnectOk,
    Disconnect,
    Heartbeat,
    Leave,
    Redirect,
    TaskState,
)
from tests.gossip.fake_outbox import FakeOutbox, make_context
from tests.overlays.overlay_net import OverlayNet


def spidercast(interests, adaptive=False, **params):
    return OverlayNet(SpiderCast, interests, adaptive=adaptive, **params)


def pair(**params):
    """Two linked nodes at rest: 0 with interest in a, 1 in a and b."""
    net = spidercast({0: "a", 1: "ab"}, kg=1, **params).start().run(10_000)
    assert net.links() == {(0, 1)}
    return net


def test_nodes_link_with_nodes_that_share_their_topics():
    net = spidercast({0: "a", 1: "ab", 2: "b", 3: "c"}, kg=1).start().run(5000)
    assert net.links() == {(0, 1), (1, 2)}


@pytest.mark.parametrize("seed", range(5))
def test_ties_in_a_common_order_draw_all_nodes_to_the_same_one(seed):
    alike = dict.fromkeys(range(5), "ab")
    star = {(0, n) for n in range(1, 5)}
    common = spidercast(alike, kg=1, ties="common", seed=seed).start().run(5000)
    assert common.links() == star
    random = spidercast(alike, kg=1, seed=seed).start().run(5000)
    assert random.links() != star


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("kg", "kr"), [(1, 0), (3, 0), (0, 2), (2, 1)])
def test_every_topic_is_covered_as_often_as_there_are_nodes_for_it(kg, kr, seed):
    interests = {n: sorted({"abcdef"[(n * k) % 6] for k in (1, 2, 5)}) for n in range(14)}
    net = spidercast(interests, kg=kg, kr=kr, seed=seed).start().run(20_000)
    net.links()
    for me, node in net.nodes.items():
        for task, k in zip(node.tasks.all, (kg, kr), strict=True):
            for topic in interests[me]:
                others = sum(topic in topics for n, topics in interests.items() if n != me)
                covering = sum(topic in n.interest for n in task.neighbors.values())
                # By Fig. 2 a task that others have filled up to L^max asks no node itself.
                full = len(task.neighbors) >= task.aim.limit()
                assert covering >= min(k, others) or full, (me, topic)
        assert len(node.links()) <= SpiderCast.degree_bound(node.params, node.interest.topics)


def test_an_event_reaches_the_subscribers_and_no_other_node():
    net = spidercast({0: "a", 1: "ab", 2: "b", 3: "ab", 4: "a"}, kg=1).start().run(5000)
    net.nodes[0].publish("a", b"hello")
    net.run(5000)
    got = {n: [e.payload for e, _ in outbox.delivered] for n, outbox in net.outboxes.items()}
    assert got == {0: [], 1: [b"hello"], 2: [], 3: [b"hello"], 4: [b"hello"]}


def test_publishing_on_a_topic_makes_it_part_of_the_interest():
    net = spidercast({0: "a", 1: "b", 2: "b"}, kg=1).start().run(5000)
    with pytest.raises(UsageError, match="empty level"):
        net.nodes[0].publish("b/", b"")
    net.nodes[0].publish("b", b"")
    assert net.nodes[0].interest.topics == net.table.interest("ab")
    net.run(5000)
    assert [len(net.outboxes[n].delivered) for n in (0, 1, 2)] == [0, 1, 1]


# -- heartbeats


def test_heartbeats_carry_degree_and_target_of_each_task():
    net = pair()
    net.nodes[1].wake(Heartbeats.TIMER)
    states = (TaskState(1, net.nodes[1].tasks.all[0].target), TaskState(0, 0))
    assert net.sent(1) == [(0, Heartbeat(states, None))]
    assert net.outboxes[1].timers[Heartbeats.TIMER] == net.pump.clock.now + 1000


def test_a_neighbours_record_follows_its_heartbeats():
    net = pair()
    net.nodes[0].receive(1, Heartbeat((TaskState(7, 8), TaskState(0, 0)), None))
    record = net.nodes[0].tasks.all[0].neighbors[1]
    assert (record.degree, record.target) == (7, 8)


def test_a_change_of_interest_is_told_by_heartbeat_for_a_while():
    net = pair(failure_ms=3000)
    net.change(1, subscribe="c")
    now = net.pump.clock.now
    for later, told in [(0, True), (3000, True), (3001, False)]:
        net.pump.clock.now = now + later
        net.nodes[1].context.outbox.take()
        net.nodes[1].tasks.beat()
        [(to, beat)] = net.nodes[1].context.outbox.take()
        assert to == 0
        assert beat.interest == (net.table.interest("abc") if told else None)


def test_neighbours_take_a_new_interest_into_account():
    net = pair()
    net.change(0, subscribe="b")
    net.run(1500)
    assert net.nodes[1].tasks.all[0].neighbors[0].interest == net.table.interest("ab")
    net.nodes[1].publish("b", b"")
    net.run(1000)
    assert len(net.outboxes[0].delivered) == 1


def test_a_neighbour_with_a_new_topic_is_told_what_there_is_of_it():
    net = pair()
    net.nodes[1].publish("b", b"")
    net.outboxes[1].take()
    announced = []
    for topics in ("a", "ab", "ab"):
        beat = Heartbeat((TaskState(1, 1), TaskState(0, 0)), net.table.interest(topics))
        net.nodes[1].receive(0, beat)
        announced.append([to for to, _ in net.outboxes[1].take()])
    assert announced == [[], [0], []]


def test_a_link_that_covers_nothing_any_more_is_replaced():
    net = spidercast({0: "a", 1: "a", 2: "b"}, kg=1).start().run(5000)
    assert net.links() == {(0, 1)}
    net.change(0, subscribe="b", unsubscribe="a")
    net.run(10_000)
    assert (0, 2) in net.links()


def test_a_heartbeat_from_a_stranger_is_answered_with_leave():
    net = spidercast({0: "a", 1: "b"}).start()
    net.nodes[0].receive(1, Heartbeat((TaskState(1, 1), TaskState(0, 0)), None))
    assert net.sent(0) == [(1, Leave(None))]


def test_a_heartbeat_from_a_node_that_was_asked_is_not():
    net = spidercast({0: "a", 1: "a"}, kg=1, quarantine_ms=5000).start()
    net.nodes[0].wake(("maintain", 0))
    assert [type(m) for _, m in net.sent(0)] == [Connect]
    net.outboxes[0].take()
    beat = Heartbeat((TaskState(1, 1), TaskState(0, 0)), None)
    for now, answers in [(4999, []), (5000, [(1, Leave(None))])]:
        net.pump.clock.now = now
        net.nodes[0].receive(1, beat)
        assert net.sent(0) == answers


def test_a_half_link_is_taken_down_by_heartbeats():
    net = spidercast({0: "a", 1: "a"}, kg=1).start()
    net.pump.lost = lambda sender, to, message: isinstance(message, ConnectOk)
    net.run(2000)
    net.pump.lost = lambda sender, to, message: False
    net.run(10_000)
    assert net.links() == {(0, 1)}


# -- the end of links


def test_a_lost_peer_is_removed_and_replaced():
    net = spidercast({0: "a", 1: "a", 2: "a"}, kg=1).start().run(5000)
    [gone] = list(net.nodes[0].links())[:1]
    net.crash(gone)
    net.nodes[0].lost(gone)
    assert gone not in net.outboxes[0].links
    net.run(10_000)
    assert net.links() == {tuple(sorted(net.nodes))}


def test_a_silent_peer_is_suspected():
    net = pair(failure_ms=3500)
    net.crash(1)
    net.run(3000)
    assert net.outboxes[0].links == {1}
    net.run(2600)
    assert net.outboxes[0].links == set()


def test_stopping_says_leave_to_every_neighbour():
    net = spidercast({0: "a", 1: "ab", 2: "b"}, kg=1).start().run(5000)
    net.nodes[1].stop()
    assert sorted(net.sent(1)) == [(0, Leave(None)), (2, Leave(None))]
    assert net.outboxes[1].links == set()
    net.pump.settle()
    assert net.outboxes[0].links == net.outboxes[2].links == set()


def test_a_link_is_there_while_either_task_has_it():
    net = spidercast({0: "a"}, kr=1)
    node, outbox = net.nodes[0], net.outboxes[0]
    node.start([])
    for task in (0, 1):
        node.receive(9, Connect(task, 1, 1, net.table.interest("a")))
    changes = [list(outbox.link_changes)]
    for task in (0, 1):
        node.receive(9, Leave(task))
        changes.append(list(outbox.link_changes))
    up, down = ("up", 9), ("down", 9)
    assert changes == [[up], [up], [up, down]]
    assert list(node.links()) == []


# -- what no correct peer sends


@pytest.mark.parametrize("task", [-1, 2, 2**63])
@pytest.mark.parametrize("kind", [Connect, ConnectOk, Disconnect, Redirect, Leave])
def test_a_task_that_does_not_exist_is_ignored(kind, task):
    net = pair()
    interest = net.table.interest("a")
    rest = {Connect: (1, 1, interest), ConnectOk: (1, 1, interest), Redirect: (7, interest)}
    net.nodes[0].receive(9, kind(task, *rest.get(kind, ())))
    net.nodes[0].receive(1, kind(task, *rest.get(kind, ())))
    assert net.sent(0) == []
    assert list(net.nodes[0].links()) == [1]


def test_a_message_of_another_kind_is_the_fault_of_the_peer():
    class Stranger(Message, frozen=True, tag="stranger"):
        pass

    with pytest.raises(ProtocolError, match="Stranger"):
        pair().nodes[0].receive(1, Stranger())


@pytest.mark.parametrize("kind", [Shuffle, ShuffleReply])
def test_a_shuffle_does_not_upset_a_node_without_gossip(kind):
    net = pair()
    net.nodes[0].receive(1, kind((), ()))
    assert net.sent(0) == []


# -- parameters


@pytest.mark.parametrize("membership", ["full", "partial"])
def test_an_oracle_is_needed_unless_membership_is_gossiped(membership):
    context = make_context(0, FakeOutbox(), TopicTable())
    with pytest.raises(UsageError, match="membership=gossip"):
        SpiderCast(context, SpiderCast.Params(membership=membership))
    assert SpiderCast(context, SpiderCast.Params(membership="gossip")).membership.cyclon


@pytest.mark.parametrize("membership", ["partial", "gossip"])
def test_any_membership_will_do(membership):
    interests = dict.fromkeys(range(8), "ab")
    net = spidercast(interests, kg=2, membership=membership, view_share=0.5)
    for n, node in net.nodes.items():
        node.start([NodeId((n + 1) % 8)])
    net.run(20_000)
    net.links()
    assert all(len(node.links()) >= 2 for node in net.nodes.values())


@pytest.mark.parametrize(
    ("params", "bound"),
    [
        ({"adaptive": False}, 3 * 4 + 2 * 5),
        ({"adaptive": False, "kg": 2, "kr": 1, "margin": 0}, 3 * 4),
        ({"adaptive": True}, (3 + 3) * 4 + 2 * 5),
        # Adaptation never lowers kr: it starts at 5 here, and stays there.
        ({"adaptive": True, "kr": 5}, (3 + 5) * 4 + 2 * 5),
    ],
)
def test_the_degree_bound_allows_for_both_tasks(params, bound):
    interest = TopicTable().interest("abcd")
    assert SpiderCast.degree_bound(SpiderCast.Params(**params), interest) == bound
