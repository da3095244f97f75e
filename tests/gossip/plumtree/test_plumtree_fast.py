"""Many events in little time: more are on the way, or missing, than a small cache holds."""

import pytest

from orbweaver.core.messages import Event
from orbweaver.gossip.plumtree.grafting import Grafting
from orbweaver.gossip.plumtree.lazy import LazyPush
from orbweaver.gossip.plumtree.messages import Graft, IHave, Newest, Push
from orbweaver.gossip.plumtree.missing import MissingEvents
from orbweaver.gossip.plumtree.plumtree import Plumtree
from tests.gossip.plumtree.plumtree_net import Net

STREAM = (0, 0, "t")
MANY = 10 * Plumtree.CACHE_SIZE
GRAFT_MS = MissingEvents.PATIENCE_MS


def delivered(node):
    return sorted(seq for publisher, seq, _ in node.got() if publisher == 0)


def push(node, seq, sender=0):
    node.receive(sender, Push(Event("t", 0, 0, seq), 1, 0))


def announce(node, seq, sender=2):
    node.receive(sender, IHave((Newest(STREAM, seq, 0),)))


def test_what_is_still_in_a_queue_is_taken_when_it_comes():
    """The newest has come another way; the rest is late, and older than anything kept."""
    reader = Net(3, (0, 1), (1, 2)).nodes[1]
    push(reader, 0)
    push(reader, 2 * Grafting.PULL_MAX, sender=2)
    for seq in range(1, MANY):
        push(reader, seq)
    assert delivered(reader) == [*range(MANY), 2 * Grafting.PULL_MAX]


def test_and_is_not_taken_twice():
    reader = Net(3, (0, 1), (1, 2)).nodes[1]
    push(reader, MANY)
    for _ in range(2):
        for seq in (3, 5, 4, 0):
            push(reader, seq)
    assert delivered(reader) == [0, 3, 4, 5, MANY]


def test_a_gap_much_longer_than_the_small_cache_is_pulled():
    net = Net(2, (0, 1))
    net.publish(0)
    net.lose(Push)
    for _ in range(MANY):
        net.publish(0)
    net.heal()
    net.publish(0)
    net.run(GRAFT_MS)
    assert delivered(net.nodes[1]) == list(range(MANY + 2))
    assert len(net.carried(Graft)) == -(-MANY // Grafting.GRAFTED_MAX)


def test_a_gap_that_shows_only_in_an_announcement_is_pulled_too():
    net = Net(2, (0, 1))
    net.publish(0)
    net.lose(Push)
    for _ in range(MANY):
        net.publish(0)
    net.heal()
    net.run(LazyPush.SUMMARY_MS + GRAFT_MS)
    assert delivered(net.nodes[1]) == list(range(MANY + 1))


def test_who_comes_late_does_not_ask_for_all_of_the_past():
    net = Net(2, topics="")
    net.nodes[0].subscribe("t")
    for _ in range(MANY):
        net.publish(0)
    net.nodes[1].subscribe("t")
    net.link(0, 1)
    net.run(10_000)
    net.publish(0)
    net.run(10_000)
    asked = {seq for _, _, m in net.pump.carried if isinstance(m, Graft) for seq in m.seqs}
    assert asked == set(range(MANY - Plumtree.CACHE_SIZE, MANY))
    assert delivered(net.nodes[1])[-1] == MANY


def test_those_who_have_been_asked_for_much_are_given_time():
    net = Net(2, (0, 1))
    push(net.nodes[1], 0)
    push(net.nodes[1], MANY)
    times = []
    net.pump.lost = lambda _, to, message: (
        isinstance(message, Graft) and times.append(net.pump.clock.now)
    )
    net.run(1)
    pause_ms = (MANY - 1 - Plumtree.CACHE_SIZE) // Grafting.PULL_PER_MS
    net.run(GRAFT_MS + pause_ms - 1)
    assert set(times) == {1}
    net.run(1)
    assert set(times) == {1, 1 + GRAFT_MS + pause_ms}


def test_young_events_are_kept_however_many():
    net = Net(1)
    node = net.nodes[0]
    for _ in range(MANY):
        net.publish(0)
    net.pump.clock.now = Plumtree.YOUNG_MS
    net.publish(0)
    assert all(node._cache.get(STREAM, seq) for seq in range(MANY))
    net.pump.clock.now += 1
    net.publish(0)
    kept = [seq for seq in range(MANY + 2) if node._cache.get(STREAM, seq)]
    assert kept == list(range(MANY + 2 - Plumtree.CACHE_SIZE, MANY + 2))


class Counted(dict):
    """Counts how often it is looked into."""

    looks = 0

    def get(self, *args):
        self.looks += 1
        return super().get(*args)


def test_saying_the_same_again_and_again_costs_little():
    net = Net(3, (0, 1), (1, 2))
    reader = net.nodes[1]
    push(reader, 0)
    reader._grafting.missing.events = Counted()
    announce(reader, 1000, sender=0)
    assert reader._grafting.missing.events.looks >= 1000
    reader._grafting.missing.events.looks = 0
    for _ in range(100):
        announce(reader, 1000, sender=0)
        announce(reader, 500, sender=0)
    assert reader._grafting.missing.events.looks < 1000
    announce(reader, 1001, sender=0)
    assert reader._grafting.missing.events[STREAM, 1001].holders == [0]


def test_another_who_has_it_is_noted_too():
    net = Net(4, (0, 1), (1, 2), (1, 3))
    reader = net.nodes[1]
    net.lose(Graft)
    push(reader, 0)
    announce(reader, 300, sender=2)
    announce(reader, 200, sender=3)
    announce(reader, 300, sender=3)
    net.run(GRAFT_MS)
    assert all(
        reader._grafting.missing.events[STREAM, seq].holders == [2, 3] for seq in range(1, 301)
    )


@pytest.mark.parametrize("limit", [100, 1000])
def test_who_has_said_too_much_is_heard_again_when_some_of_it_has_come(monkeypatch, limit):
    monkeypatch.setattr(MissingEvents, "OF_PEER", limit)
    reader = Net(3, (0, 1), (1, 2)).nodes[1]
    push(reader, 0)
    announce(reader, 2000, sender=0)
    assert set(reader._grafting.missing._numbers[STREAM]) == set(range(1, limit + 1))
    push(reader, 1)
    announce(reader, 2000, sender=0)
    assert set(reader._grafting.missing._numbers[STREAM]) == set(range(2, limit + 2))


def late_by_itself(net, seq, late_ms):
    """Announced to node 1 by 2, and pushed by 0 so much later."""
    announce(net.nodes[1], seq)
    net.run(late_ms)
    push(net.nodes[1], seq)


def test_where_events_come_late_by_themselves_they_are_waited_for():
    net = Net(3, (0, 1), (1, 2))
    net.lose(Graft)
    late_by_itself(net, 0, late_ms=300)
    net.carried()
    late_by_itself(net, 1, late_ms=500)
    assert net.carried(Graft) == []
    assert net.nodes[1]._grafting.missing.patience_ms == 1000


def test_but_not_for_ever_and_not_when_they_come_in_time_again():
    net = Net(3, (0, 1), (1, 2))
    reader = net.nodes[1]
    late_by_itself(net, 0, late_ms=1500)
    assert reader._grafting.missing.patience_ms == MissingEvents.PATIENCE_MS_MAX
    for seq in range(1, 20):
        late_by_itself(net, seq, late_ms=10)
        net.run(LazyPush.SUMMARY_MS)
    assert reader._grafting.missing.patience_ms == GRAFT_MS


def test_an_answer_to_our_asking_is_no_reason_to_wait_longer():
    net = Net(3, (0, 1), (1, 2))
    announce(net.nodes[1], 0)
    net.run(GRAFT_MS + 90)
    push(net.nodes[1], 0, sender=2)
    assert net.nodes[1]._grafting.missing.patience_ms == GRAFT_MS
