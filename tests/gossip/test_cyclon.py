from collections import Counter

import pytest

from orbweaver.core.topics import NOTHING, TopicTable
from orbweaver.gossip.cyclon import Cyclon
from orbweaver.gossip.descriptor import AGE_MAX, AHEAD_MS, Descriptor
from orbweaver.gossip.messages import Shuffle, ShuffleReply
from tests.gossip.fake_outbox import Clock, FakeOutbox, Pump, make_context, own_interest

TABLE = TopicTable("abc")
A, B = TABLE.interest("a"), TABLE.interest("b")


def make(me=0, view_size=4, shuffle_size=3, outbox=None, interest=None):
    outbox = outbox or FakeOutbox()
    interest = interest or own_interest(TABLE, "a", me)
    context = make_context(me, outbox, TABLE)
    return Cyclon(context, interest, view_size, shuffle_size, period_ms=100), outbox


def known(cyclon):
    return {peer for peer, _ in cyclon.entries()}


def entries(*nodes, age=0, version=1, interest=B):
    """Descriptors and their ages, as in a message."""
    return tuple(Descriptor(n, interest, version) for n in nodes), (age,) * len(nodes)


def fed(*nodes, **options):
    """A Cyclon that has these in its view, all heard from."""
    cyclon, outbox = make(**options)
    cyclon.on_shuffle_reply(50, ShuffleReply(*entries(*nodes)))
    return cyclon, outbox


def test_it_starts_by_asking_its_contacts_and_cycles_from_a_random_phase():
    cyclon, outbox = make(me=0)
    cyclon.start([1, 0, 2])
    assert known(cyclon) == {1, 2}
    assert cyclon.interest_of(1) == NOTHING
    assert outbox.take() == [(n, Shuffle((Descriptor(0, A, 0),), (0,))) for n in (1, 2)]
    assert 1 <= outbox.timers[Cyclon.TIMER] <= 100


def test_contacts_do_not_overfill_the_view():
    cyclon, _ = make(view_size=4)
    cyclon.start(range(1, 10))
    assert len(known(cyclon)) <= 4


def test_a_cycle_takes_out_the_oldest_and_sends_it_a_fresh_self_among_random_others():
    cyclon, outbox = fed(1, 2)
    cyclon.on_shuffle_reply(50, ShuffleReply(*entries(3, age=5)))
    cyclon.wake()
    [(partner, message)] = outbox.take()
    assert partner == 3
    assert known(cyclon) == {1, 2}
    assert message.entries[0] == Descriptor(0, A, 0)
    assert {e.node for e in message.entries[1:]} == {1, 2}
    assert message.ages == (0, 1, 1)
    assert outbox.timers[Cyclon.TIMER] == 100


def test_an_empty_view_only_waits():
    cyclon, outbox = make()
    cyclon.wake()
    assert outbox.take() == []
    assert outbox.timers[Cyclon.TIMER] == 100


def test_a_shuffle_is_answered_and_what_was_given_away_makes_room():
    cyclon, outbox = fed(1, 2, 3, 4)
    cyclon.on_shuffle(9, Shuffle(*entries(9, 5, 6)))
    [(to, reply)] = outbox.take()
    assert to == 9
    assert isinstance(reply, ShuffleReply)
    given_away = {e.node for e in reply.entries[1:]}
    assert len(given_away) == 3
    assert given_away < {1, 2, 3, 4}
    assert known(cyclon) == {9, 5, 6} | ({1, 2, 3, 4} - given_away)


def test_the_answer_fills_free_places_before_it_replaces_anything():
    cyclon, outbox = fed(1, 2, 3)
    cyclon.wake()
    [(partner, _)] = outbox.take()
    cyclon.on_shuffle_reply(partner, ShuffleReply(*entries(7, 8)))
    assert known(cyclon) == {1, 2, 3} - {partner} | {7, 8}


def test_unasked_entries_do_not_push_out_anything():
    cyclon, _ = fed(1, 2, 3, 4)
    cyclon.on_shuffle_reply(9, ShuffleReply(*entries(7, 8)))
    assert known(cyclon) == {1, 2, 3, 4}


def test_a_node_keeps_no_entry_of_itself():
    cyclon, _ = make(me=0)
    cyclon.on_shuffle(1, Shuffle(*entries(1, 0)))
    assert known(cyclon) == {1}


def test_a_contact_not_heard_from_is_not_passed_on():
    cyclon, outbox = make()
    cyclon.start([1, 2, 3])
    outbox.take()
    cyclon.wake()
    [(_, message)] = outbox.take()
    assert [e.node for e in message.entries] == [0]


@pytest.mark.parametrize(
    ("version", "age", "interest"),
    [
        (6, 9, A),  # a newer version, however old the entry
        (5, 0, A),  # the same version, a younger entry
        (5, 2, B),  # the same version, no younger
        (4, 0, B),  # an older version, however young the entry
    ],
)
def test_of_two_entries_the_newer_version_and_then_the_younger_wins(version, age, interest):
    cyclon, _ = make()
    cyclon.on_shuffle_reply(50, ShuffleReply(*entries(1, version=5, age=2, interest=B)))
    cyclon.on_shuffle_reply(50, ShuffleReply(*entries(1, version=version, age=age, interest=A)))
    assert cyclon.interest_of(1) == interest


def test_entries_age_with_the_cycles_of_whoever_holds_them():
    cyclon, outbox = fed(1, 2, 3, 4)
    for _ in range(2):
        cyclon.wake()
    outbox.take()
    cyclon.on_shuffle(9, Shuffle((), ()))
    [(_, reply)] = outbox.take()
    assert set(reply.ages[1:]) == {2}


def test_a_forgotten_peer_is_gone():
    cyclon, _ = fed(1, 2)
    cyclon.forget(1)
    cyclon.forget(77)
    assert known(cyclon) == {2}
    assert cyclon.interest_of(1) is None


@pytest.mark.parametrize(
    ("sizes", "settled"),
    [
        ([3, 4], True),  # full
        ([2, 3], False),  # growing
        ([3, 3], True),  # no longer growing
    ],
)
def test_a_view_is_settled_when_it_is_full_or_has_stopped_growing(sizes, settled):
    cyclon, _ = make(view_size=4)
    for size in sizes:
        # Of each cycle's partner an entry comes back, as it does from a live one.
        cyclon.on_shuffle_reply(50, ShuffleReply(*entries(*range(1, size + 1))))
        assert not cyclon.settled
        cyclon.wake()
    assert cyclon.settled == settled


class Network:
    """Nodes that each know only the one before, run by hand."""

    def __init__(self, size, view_size, shuffle_size):
        self.pump = Pump(Clock())
        self.interests = {n: own_interest(TABLE, "a", n) for n in range(size)}
        self.nodes = {}
        for n in range(size):
            outbox = FakeOutbox(self.pump.clock)
            cyclon, _ = make(n, view_size, shuffle_size, outbox, self.interests[n])
            self.nodes[n] = cyclon
            self.pump.nodes[n] = (outbox, self.receiver(cyclon), lambda _, c=cyclon: c.wake())
        for n, cyclon in self.nodes.items():
            cyclon.start([(n - 1) % size])

    @staticmethod
    def receiver(cyclon):
        handlers = {Shuffle: cyclon.on_shuffle, ShuffleReply: cyclon.on_shuffle_reply}
        return lambda sender, message: handlers[type(message)](sender, message)


def test_a_ring_of_contacts_becomes_a_random_graph():
    network = Network(size=60, view_size=8, shuffle_size=4)
    network.pump.run(until_ms=100 * 60)
    views = {n: known(cyclon) for n, cyclon in network.nodes.items()}
    assert all(len(view) >= 7 for view in views.values())
    assert all(len(view) <= 8 and n not in view for n, view in views.items())
    known_by = Counter(peer for view in views.values() for peer in view)
    assert set(known_by) == set(views)
    assert max(known_by.values()) <= 20
    # In a random graph a view member is the node's ring neighbour with probability 1/59.
    beside = sum((n - 1) % 60 in view for n, view in views.items())
    assert beside <= 20
    reached, front = {0}, {0}
    for _ in range(4):
        front = {peer for n in front for peer in views[n]} - reached
        reached |= front
    assert reached == set(views)


@pytest.mark.parametrize("view_size", [8, 100], ids=["small views", "views of all nodes"])
def test_dead_nodes_vanish_from_all_views(view_size):
    network = Network(size=40, view_size=view_size, shuffle_size=4)
    network.pump.run(until_ms=100 * 40)
    dead = {3, 14, 15, 26}
    assert any(dead & known(cyclon) for cyclon in network.nodes.values())
    for n in dead:
        del network.pump.nodes[n]
    network.pump.run(until_ms=100 * 140)
    left = {n: dead & known(cyclon) for n, cyclon in network.nodes.items() if n not in dead}
    assert not any(left.values()), left


def test_a_change_of_interest_reaches_every_view():
    network = Network(size=30, view_size=8, shuffle_size=4)
    network.pump.run(until_ms=100 * 30)
    changed = network.interests[5]
    changed.unsubscribe("a")
    changed.subscribe("b", 0)
    changed.renew()
    network.pump.run(until_ms=100 * 80)
    seen = [c.interest_of(5) for c in network.nodes.values() if 5 in known(c)]
    assert seen
    assert all(interest == B for interest in seen)


def test_what_a_node_says_itself_is_not_replaced_by_the_word_of_others():
    cyclon, _ = make()
    cyclon.on_shuffle(1, Shuffle(*entries(1, version=5, interest=A)))
    cyclon.on_shuffle(2, Shuffle(*entries(1, version=6, interest=B)))
    cyclon.cycle += 3
    cyclon.on_shuffle(2, Shuffle(*entries(1, version=5, interest=B)))
    assert cyclon.interest_of(1) == A
    assert cyclon.newest(1) == (Descriptor(1, A, 5), 3), "of the same word, the age is believed"
    cyclon.on_shuffle_reply(1, ShuffleReply(*entries(1, version=7, interest=B)))
    assert cyclon.interest_of(1) == B


def test_the_word_of_the_node_itself_ends_a_lie():
    cyclon, _ = make()
    cyclon.on_shuffle(2, Shuffle(*entries(1, version=90, interest=B)))
    assert cyclon.interest_of(1) == B
    cyclon.on_shuffle(1, Shuffle(*entries(1, version=5, interest=A)))
    assert cyclon.newest(1) == (Descriptor(1, A, 5), 0)


def test_after_a_node_has_left_the_view_others_are_believed_again():
    cyclon, _ = make()
    cyclon.on_shuffle(1, Shuffle(*entries(1, version=5, interest=A)))
    cyclon.forget(1)
    cyclon.on_shuffle(2, Shuffle(*entries(1, version=6, interest=B)))
    cyclon.on_shuffle(2, Shuffle(*entries(1, version=7, interest=A)))
    assert cyclon.interest_of(1) == A


def test_only_a_node_itself_may_be_far_ahead_of_our_time():
    cyclon, outbox = make()
    future = outbox.now() + AHEAD_MS + 1
    cyclon.on_shuffle(2, Shuffle(*entries(1, version=future)))
    assert known(cyclon) == set()
    cyclon.on_shuffle(2, Shuffle(*entries(1, version=future - 1)))
    cyclon.on_shuffle(2, Shuffle(*entries(2, version=1 << 62)))
    assert known(cyclon) == {1, 2}


def test_an_entry_that_is_too_old_is_ignored():
    cyclon, _ = make()
    cyclon.on_shuffle_reply(50, ShuffleReply(*entries(1, age=AGE_MAX)))
    cyclon.on_shuffle_reply(50, ShuffleReply(*entries(2, age=AGE_MAX + 1)))
    assert known(cyclon) == {1}
