"""Notice and pull: one copy for each node, whatever gets lost."""

from __future__ import annotations

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.messages import Notice, Pull, Pulled
from orbweaver.gossip.notices import AGAIN_MAX, BACKLOG_MS, KEEP_MS, TELL_MAX, NoticeAndPull
from tests.gossip.fake_outbox import FakeOutbox, make_context

EVENT = Event("a", NodeId(9), 0, 0, b"x")
NAME = (NodeId(9), 0, "a", 0)


def part(
    targets: list[int], since: int | None = 0, now: int = 0, repair: bool = True
) -> tuple[NoticeAndPull, FakeOutbox]:
    outbox = FakeOutbox()
    outbox.clock.now = now
    subscribed = {} if since is None else {"a": since}
    context = make_context(0, outbox, TopicTable())
    notices = NoticeAndPull(context, lambda topic: [NodeId(t) for t in targets], subscribed, repair)
    return notices, outbox


def test_a_notice_is_pulled_and_passed_on_at_once() -> None:
    notices, outbox = part([1, 2, 3])
    notices.on_notice(NodeId(2), Notice(NAME))
    assert outbox.take() == [(2, Pull(NAME)), (1, Notice(NAME)), (3, Notice(NAME))]
    notices.on_notice(NodeId(3), Notice(NAME))
    assert outbox.take() == [], "once is enough"
    assert notices.on_pulled(NodeId(2), Pulled(EVENT, 4, 10)), "it is new"
    assert outbox.delivered == [(EVENT, 4)]
    assert not notices.on_pulled(NodeId(2), Pulled(EVENT, 4, 10))
    assert len(outbox.delivered) == 1


def test_a_peer_that_pulls_before_the_event_is_here_gets_it_when_it_is() -> None:
    notices, outbox = part([1])
    notices.on_notice(NodeId(2), Notice(NAME))
    notices.on_pull(NodeId(1), Pull(NAME))
    outbox.take()
    outbox.clock.now = 30
    notices.on_pulled(NodeId(2), Pulled(EVENT, 4, 10))
    assert outbox.take() == [(1, Pulled(EVENT, 5, 10))]
    outbox.clock.now = 50
    notices.on_pull(NodeId(7), Pull(NAME))
    assert outbox.take() == [(7, Pulled(EVENT, 5, 30))], "with the time it waited here"


def test_what_was_not_asked_for_is_not_taken() -> None:
    notices, outbox = part([1])
    assert not notices.on_pulled(NodeId(2), Pulled(EVENT, 1, 0))
    assert outbox.delivered == []
    notices.on_pull(NodeId(2), Pull(NAME))
    assert outbox.take() == []


def test_a_relay_passes_on_what_it_does_not_deliver() -> None:
    notices, outbox = part([1], since=None)
    notices.on_notice(NodeId(2), Notice(NAME))
    assert notices.on_pulled(NodeId(2), Pulled(EVENT, 1, 0)), "new, though not delivered"
    assert outbox.delivered == []
    outbox.take()
    notices.on_pull(NodeId(1), Pull(NAME))
    assert outbox.take() == [(1, Pulled(EVENT, 2, 0))]


@pytest.mark.parametrize(("age_ms", "delivered"), [(900, True), (1500, False)])
def test_only_what_is_younger_than_the_subscription(age_ms: int, delivered: bool) -> None:
    notices, outbox = part([], since=4000, now=5000)
    notices.on_notice(NodeId(2), Notice(NAME))
    notices.on_pulled(NodeId(2), Pulled(EVENT, 1, age_ms))
    assert bool(outbox.delivered) is delivered


def test_notices_are_repeated_to_peers_that_do_not_react() -> None:
    notices, outbox = part([1, 2])
    event = notices.publish("a", b"mine")
    name = (event.publisher, event.epoch, event.topic, event.seq)
    assert outbox.take() == [(1, Notice(name)), (2, Notice(name))]
    notices.on_pull(NodeId(1), Pull(name))
    outbox.take()
    told = []
    for _ in range(TELL_MAX + 2):
        notices.step()
        told += outbox.take()
    assert told == [(2, Notice(name))] * (TELL_MAX - 1)
    assert outbox.delivered == [], "not to its own publisher"


def test_a_pull_is_repeated_to_the_next_peer_that_has_it() -> None:
    notices, outbox = part([])
    notices.on_notice(NodeId(2), Notice(NAME))
    notices.on_notice(NodeId(3), Notice(NAME))
    outbox.take()
    notices.step()
    assert outbox.take() == [], "it may be on its way"
    notices.step()
    assert outbox.take() == [(3, Pull(NAME))]
    notices.step()
    assert outbox.take() == [(2, Pull(NAME))]


def test_old_events_are_forgotten_but_not_taken_for_new() -> None:
    notices, outbox = part([1])
    notices.on_notice(NodeId(2), Notice(NAME))
    notices.on_pulled(NodeId(2), Pulled(EVENT, 1, 0))
    outbox.clock.now = KEEP_MS + 1
    notices.step()
    outbox.take()
    notices.on_notice(NodeId(3), Notice(NAME))
    notices.on_pull(NodeId(3), Pull(NAME))
    assert outbox.take() == []


def test_sequences_count_for_each_topic() -> None:
    notices, _ = part([])
    assert [notices.publish(t, b"").seq for t in ("a", "a", "b")] == [0, 1, 0]


def test_not_all_of_very_many_are_told_of_again_at_once() -> None:
    notices, outbox = part([1])
    for _ in range(AGAIN_MAX + 10):
        notices.publish("a", b"x")
    told = outbox.take()
    notices.step()
    assert outbox.take() == [], "they may be on their way"
    notices.step()
    assert outbox.take() == told[:AGAIN_MAX], "the oldest first"


def test_a_new_neighbour_is_told_in_the_next_cycle() -> None:
    targets = [1]
    notices, outbox = part(targets)
    notices.publish("a", b"x")
    outbox.take()
    targets.append(2)
    notices.step()
    assert [peer for peer, _ in outbox.take()] == [2]


def test_the_backlog_is_what_no_peer_has_taken_for_a_while() -> None:
    notices, outbox = part([1, 2])
    events = [notices.publish("a", b"x") for _ in range(3)]
    assert notices.backlog() == 3
    notices.on_pull(NodeId(2), Pull((events[0].publisher, 0, "a", 0)))
    assert notices.backlog() == 2, "one neighbour is enough"
    outbox.clock.now = BACKLOG_MS + 1
    assert notices.backlog() == 0, "there may be no peer that wants it"


def test_there_is_no_backlog_where_no_peer_was_told() -> None:
    notices, _ = part([])
    notices.publish("a", b"x")
    assert notices.backlog() == 0


def test_an_event_whose_source_has_gone_is_pulled_from_a_peer_that_was_told() -> None:
    """The peer that gave notice has gone before it could hand over. A neighbour has got the event
    from elsewhere since, and does not tell this node, whose notice it had."""
    notices, outbox = part([1, 2])
    notices.on_notice(NodeId(7), Notice(NAME))
    assert (2, Notice(NAME)) in outbox.take()
    asked = []
    for second in range(1, 4):
        outbox.clock.now = 1000 * second
        notices.step()
        asked += outbox.take()
    assert {(1, Pull(NAME)), (2, Pull(NAME))} <= set(asked)


def test_the_peer_that_gave_notice_is_asked_in_every_cycle() -> None:
    """However many other peers there are: a request, or the answer to it, may be lost."""
    notices, outbox = part(list(range(20, 40)))
    notices.on_notice(NodeId(7), Notice(NAME))
    outbox.take()
    notices.step()
    for second in range(1, 6):
        outbox.clock.now = 1000 * second
        notices.step()
        first, another = outbox.take()
        assert first == (7, Pull(NAME))
        assert another == (19 + second, Pull(NAME))


def test_what_is_not_here_is_not_told_again_nor_to_others() -> None:
    """Otherwise notices of an event that no node has never end, where members come and go."""
    targets = [1]
    notices, outbox = part(targets)
    notices.on_notice(NodeId(7), Notice(NAME))
    outbox.take()
    targets.append(2)
    for second in range(1, 4):
        outbox.clock.now = 1000 * second
        notices.step()
    assert not any(isinstance(message, Notice) for _, message in outbox.take())
    notices.on_pulled(NodeId(7), Pulled(EVENT, 1, 0))
    notices.step()
    assert (2, Notice(NAME)) in outbox.take()


def test_without_repair_each_peer_is_told_once_and_asked_once() -> None:
    targets = [1, 2]
    notices, outbox = part(targets, repair=False)
    notices.on_notice(NodeId(7), Notice(NAME))
    assert outbox.take() == [(7, Pull(NAME)), (1, Notice(NAME)), (2, Notice(NAME))]
    notices.on_notice(NodeId(8), Notice(NAME))
    targets.append(3)
    for second in range(1, 4):
        outbox.clock.now = 1000 * second
        notices.step()
    assert outbox.take() == [], "neither to another that has it, nor to a new neighbour"
    notices.on_pulled(NodeId(7), Pulled(EVENT, 1, 0))
    assert outbox.delivered == [(EVENT, 1)]
    outbox.clock.now = 4000
    notices.step()
    assert outbox.take() == []
    outbox.clock.now += KEEP_MS + 1
    notices.step()
    notices.on_pull(NodeId(1), Pull(NAME))
    assert outbox.take() == [], "what is old is forgotten all the same"
