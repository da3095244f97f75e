"""What one session of Rappel leaves to the next (section 5.3)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.core.overlay import KEPT_BYTES_MAX
from orbweaver.core.params import build
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.vivaldi import Coordinates
from orbweaver.overlays.rappel import Rappel
from orbweaver.overlays.rappel.messages import Descent, JoinOk, Update
from orbweaver.testing.cases import QUICK
from orbweaver.testing.cluster import Cluster, make_cluster
from tests.gossip.fake_outbox import Clock, FakeOutbox, make_context

ME, ROOT, PEER = (NodeId(n) for n in (1, 2, 3))
PARAMS = build(Rappel.Params, QUICK["rappel"], "test")


def make(kept: bytes = b"", clock: Clock | None = None) -> tuple[Rappel, FakeOutbox]:
    """A node online that subscribes to news."""
    outbox = FakeOutbox(clock)
    outbox.kept = kept
    context = make_context(ME, outbox, TopicTable(["news"]))
    node = Rappel(replace(context, kept=kept, publisher_of=lambda topic: ROOT), PARAMS)
    node.subscribe("news")
    node.start([PEER])
    node.go_online()
    return node, outbox


def with_parent(node: Rappel) -> None:
    tree = node.trees["news"]
    tree.seeking = ROOT
    place = Coordinates((0.0,) * 5)
    node.receive(ROOT, JoinOk(Descent("news", ROOT, place, place, (ROOT,)), ()))
    assert tree.parent == ROOT


def update(seq: int, age_ms: int = 0) -> Update:
    return Update(Event("news", ROOT, 0, seq), 1, age_ms)


def numbers(outbox: FakeOutbox) -> list[int]:
    return [event.seq for event, _ in outbox.delivered]


def started() -> Cluster:
    cluster = make_cluster(Rappel, "simulator", dict(QUICK["rappel"]), 1)
    for node in range(8):
        cluster.join(node, ["news"])
    cluster.run(15)
    return cluster


@pytest.mark.parametrize("end", ["crash", "leave"])
def test_a_subscriber_that_returns_gets_what_it_missed_and_nothing_twice(end: str) -> None:
    cluster = started()
    before = [cluster.publish(0, "news", b"%d" % n) for n in range(3)]
    cluster.run(1)
    getattr(cluster, end)(3)
    missed = [cluster.publish(0, "news", b"%d" % n) for n in range(3, 7)]
    cluster.run(5)
    cluster.join(3, ["news"])
    cluster.run(15)
    after = cluster.publish(0, "news", b"after")
    cluster.run(5)
    got = [event.seq for node, event in cluster.deliveries if node == 3]
    assert sorted(got) == [event.seq for event in (*before, *missed, after)]


def test_a_publisher_that_returns_begins_no_number_again() -> None:
    clock = Clock()
    node, outbox = make(clock=clock)
    first = node.publish("news", b"first")
    again, _ = make(outbox.kept, clock)  # the clock has not moved on
    second = again.publish("news", b"second")
    assert (second.epoch, second.seq) != (first.epoch, first.seq)


def test_a_publisher_that_returns_gets_its_updates_back_for_others_to_pull() -> None:
    cluster = started()
    before = [cluster.publish(0, "news", b"%d" % n) for n in range(3)]
    cluster.run(1)
    cluster.crash(0)
    cluster.join(0, ["news"])
    cluster.run(15)
    assert not [event for node, event in cluster.deliveries if node == 0]
    after = cluster.publish(0, "news", b"after")
    cluster.run(5)
    cluster.join(20, ["news"])
    cluster.run(15)
    assert after not in before
    for node in range(1, 8):
        assert [e for n, e in cluster.deliveries if n == node] == [*before, after]


def test_updates_from_before_the_first_subscription_are_not_delivered() -> None:
    clock = Clock()
    clock.now = 10_000
    node, outbox = make(clock=clock)
    with_parent(node)
    node.receive(ROOT, update(5))
    clock.now = 50_000
    again, back = make(outbox.kept, clock)
    with_parent(again)
    again.receive(ROOT, update(4, age_ms=45_000))
    again.receive(ROOT, update(6, age_ms=35_000))
    assert numbers(back) == [6]


def test_a_gap_that_was_open_is_still_open() -> None:
    node, outbox = make()
    with_parent(node)
    for seq in (0, 1, 4, 5):
        node.receive(ROOT, update(seq))
    again, back = make(outbox.kept)
    with_parent(again)
    for seq in range(8):
        again.receive(ROOT, update(seq))
    assert numbers(back) == [2, 3, 6, 7]


def test_a_feed_that_was_left_is_new_when_it_is_joined_again() -> None:
    clock = Clock()
    node, outbox = make(clock=clock)
    node.unsubscribe("news")
    clock.now = 20_000
    again, back = make(outbox.kept, clock)
    with_parent(again)
    again.receive(ROOT, update(0, age_ms=10_000))
    assert not back.delivered


def test_stale_friends_are_probed_first_in_the_next_session() -> None:
    node, outbox = make()
    with_parent(node)
    node.stop()
    _, again = make(outbox.kept)
    assert ROOT in [to for to, message in again.sent if type(message).__name__ == "Fetch"]


def test_very_many_feeds_do_not_fit_and_the_last_ones_are_kept() -> None:
    node, outbox = make()
    for n in range(3000):
        node.subscribe(f"a feed with a name that is not short/{n}")
    node.stop()
    assert len(outbox.kept) <= KEPT_BYTES_MAX
    assert b"/2999" in outbox.kept


@pytest.mark.parametrize("blob", [b"\xff\x00rubbish", b"\x90", b"\x93\x90\x00\x91\x01"])
def test_rubbish_is_no_session(blob: bytes) -> None:
    node, outbox = make(blob)
    with_parent(node)
    node.receive(ROOT, update(0))
    assert numbers(outbox) == [0]
    assert not node.sessions.stale_friends()
