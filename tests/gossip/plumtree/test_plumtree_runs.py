"""Events that come together are taken together, and nobody can tell."""

from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.messages import Event
from orbweaver.gossip.plumtree.messages import IHave, Newest, Push
from tests.gossip.plumtree.plumtree_net import Net

ME, FEEDER = 1, 0

runs = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 0, 2, 3]),  # sender
        st.sampled_from([5, 5, 5, 6, ME]),  # publisher
        st.sampled_from("tttu"),
        st.sampled_from([0, 0, 1, 4, -3]),  # numbers skipped, or repeated
        st.integers(1, 6),  # how many follow each other
        st.sampled_from([0, 0, 50, 10_000]),  # how old they are
        st.sampled_from([0, 0, 30, 150]),  # time until the next
    ),
    max_size=25,
)


def frames(drawn):
    """(pause before, sender, its messages): what a sender has to say goes in one frame until
    somebody else has his turn, or time passes."""
    following = defaultdict(int)
    told = []
    pause = 0
    for sender, publisher, topic, skipped, count, age_ms, after in drawn:
        first = max(0, following[publisher, topic] + skipped)
        following[publisher, topic] = first + count
        pushes = [
            Push(Event(topic, publisher, 0, seq), 1, age_ms) for seq in range(first, first + count)
        ]
        if told and not pause and told[-1][1] == sender:
            told[-1][2].extend(pushes)
        else:
            told.append((pause, sender, pushes))
        pause = after
    return told


def play(told, receive):
    net = Net(4, (1, 0), (1, 2), (1, 3), topics="t")
    node = net.nodes[ME]
    seen = []
    for pause, sender, pushes in told:
        net.pump.clock.now += pause
        if pause:
            for timer in list(node.outbox.timers):
                if node.outbox.timers[timer] <= net.pump.clock.now:
                    del node.outbox.timers[timer]
                    node.wake(timer)
        receive(node, sender, pushes)
        # What goes to one peer is in order; between peers there is none.
        sent = defaultdict(list)
        for to, message in node.outbox.take():
            sent[to].append(message)
        seen.append((dict(sent), list(node.outbox.delivered), dict(node.outbox.timers)))
    return seen


def one_by_one(node, sender, pushes):
    for push in pushes:
        node.on_push(sender, push)


def together(node, sender, pushes):
    node.on_pushes(sender, pushes)


@settings(deadline=None, max_examples=300)
@given(runs)
def test_together_is_the_same_as_one_by_one(drawn):
    told = frames(drawn)
    assert play(told, together) == play(told, one_by_one)


def test_a_run_is_taken_at_once(monkeypatch):
    """Or the test above would compare a thing with itself."""
    net = Net(3, (1, 0), (1, 2))
    node = net.nodes[ME]
    node.on_push(FEEDER, Push(Event("t", 5, 0, 0), 1, 0))
    monkeypatch.setattr(type(node), "on_push", None)
    node.on_pushes(FEEDER, [Push(Event("t", 5, 0, seq), 1, 0) for seq in range(1, 100)])
    assert [seq for _, seq, _ in node.got()] == list(range(100))


def test_while_something_is_looked_for_each_is_looked_at(monkeypatch):
    net = Net(3, (1, 0), (1, 2))
    node = net.nodes[ME]
    for seq in (0, 1):
        node.on_push(FEEDER, Push(Event("t", 5, 0, seq), 1, 0))
    node.on_ihave(2, IHave((Newest((5, 0, "t"), 4, 0),)))
    looked_at = []
    on_push = type(node).on_push
    monkeypatch.setattr(
        type(node), "on_push", lambda *call: looked_at.append(call[2]) or on_push(*call)
    )
    node.on_pushes(FEEDER, [Push(Event("t", 5, 0, seq), 1, 0) for seq in range(2, 9)])
    assert len(looked_at) >= 3
    assert [seq for _, seq, _ in node.got()] == list(range(9))
    assert not node._grafting.missing.events
