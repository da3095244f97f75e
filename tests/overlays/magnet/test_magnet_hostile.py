"""Magnet among liars."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from orbweaver.core.errors import ProtocolError
from orbweaver.core.identifiers import SPACE
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Codec
from orbweaver.core.topics import NOTHING, TopicTable
from orbweaver.gossip.messages import Relay
from orbweaver.overlays.magnet import Magnet, MagnetParams
from orbweaver.overlays.magnet import fingers as fingers_module
from orbweaver.overlays.magnet import trees as trees_module
from orbweaver.overlays.magnet.messages import (
    SAMPLES_MAX,
    TOPICS_MAX,
    Acquired,
    Beat,
    Branching,
    Grow,
    JoinTree,
    Ping,
    Report,
    RingDescriptor,
    Sample,
    Told,
    TopicSamples,
    View,
    Walk,
)
from tests.gossip.fake_outbox import FakeOutbox, make_context

ME, PEER, LIAR = NodeId(1), NodeId(2), NodeId(3)
TABLE = TopicTable(["a", "b"])


def entry(node: int, place: int, version: int = 1) -> RingDescriptor:
    return RingDescriptor(NodeId(node), NOTHING, version, place)


def linked(*peers: int, **settings: Any) -> tuple[Magnet, FakeOutbox]:
    """A node that subscribes to a, with these neighbours, placed by their ids."""
    outbox = FakeOutbox()
    node = Magnet(make_context(ME, outbox, TABLE), MagnetParams(**settings))
    node.subscribe("a")
    node.start([])
    for peer in peers:
        node.receive(NodeId(peer), Ping(True, entry(peer, peer << 32)))
    outbox.take()
    return node, outbox


def pack(message: Any) -> bytes:
    return Codec(Magnet.messages, TABLE).encode(message)


@pytest.mark.parametrize("place", [-1, SPACE, 1.5, "here"])
def test_a_place_that_is_no_number_of_the_ring_is_not_read(place: Any) -> None:
    codec = Codec(Magnet.messages, TABLE)
    good = pack(Acquired(7))
    assert codec.decode(good) == Acquired(7)
    try:
        bad = msgspec.msgpack.encode(["acquired", place])
    except OverflowError:
        return  # the wire has no such number
    with pytest.raises(ProtocolError):
        codec.decode(bad)


def test_a_sample_of_ten_thousand_entries_is_not_read() -> None:
    one = Sample(LIAR, NOTHING, (), (), 5, True, 1)
    codec = Codec(Magnet.messages, TABLE)
    codec.decode(pack(View((TopicSamples("a", (one,) * SAMPLES_MAX),))))
    with pytest.raises(ProtocolError):
        codec.decode(pack(View((TopicSamples("a", (one,) * 10_000),))))


def test_no_more_samples_are_kept_than_configured() -> None:
    node, _ = linked(PEER)
    node.receive(PEER, Relay(("a",)))
    many = tuple(Sample(NodeId(n), NOTHING, (), (), n, True, 1) for n in range(10, 200))
    node.receive(PEER, Report(None, (), (TopicSamples("a", many),)))
    parent = node.relays.branches["a"].parent
    if parent is not None:
        node.receive(parent, View((TopicSamples("a", many),)))
    for known in node.membership._topics.values():
        assert all(len(report) <= node.params.samples for report in known.reports.values())
        assert len(known.result) <= node.params.samples


def test_a_walk_with_a_huge_budget_ends_at_once() -> None:
    node, outbox = linked(PEER, 4)
    node.receive(LIAR, Walk(LIAR, 1, 0, 0, 2**62))
    assert outbox.take() == []
    node.receive(LIAR, Walk(LIAR, 1, 0, 0, fingers_module.HOPS_MAX))
    ((_, walk),) = outbox.take()
    assert walk.hops == fingers_module.HOPS_MAX - 1


def test_a_request_in_a_loop_of_parents_ends() -> None:
    node, outbox = linked(PEER)
    far = JoinTree("a", LIAR, 5, False, trees_module.HOPS_MAX)
    node.receive(PEER, far)
    assert outbox.take() == []


def test_a_branch_in_a_loop_of_parents_notices_that_it_has_lost_the_root() -> None:
    node, outbox = linked(PEER, 4, 5)
    topic = next(t for t in map(str, range(1000)) if not node.trees.is_home(t))
    node.subscribe(topic)
    here = node.place
    node.receive(PEER, Grow(topic, ME, here, (here + 1) % SPACE, NodeId(9), 100, 1, 1))
    assert node.trees.is_on(topic)
    for _ in range(50):
        outbox.clock.now += 1000
        for peer in (PEER, NodeId(4), NodeId(5)):
            node.receive(peer, Ping(True, None))
        # The parent repeats a beat that has gone round in a circle.
        news = Branching(topic, (here + 1) % SPACE, NodeId(9), 100, 1, ())
        node.receive(PEER, Beat(True, (news,)))
        node.wake(node.TIMER)
    assert not node.trees.is_on(topic)
    asked = [m for _, m in outbox.take() if isinstance(m, JoinTree) and m.topic == topic]
    assert asked, "it looks for the tree again"


def test_a_child_that_its_parent_has_forgotten_notices() -> None:
    node, _ = linked(PEER, 4)
    topic = next(t for t in map(str, range(1000)) if not node.trees.is_home(t))
    node.subscribe(topic)
    end = (node.place + 1) % SPACE
    node.receive(PEER, Grow(topic, ME, node.place, end, NodeId(9), 100, 1, 1))
    node.receive(PEER, Beat(False, ()))
    node.receive(NodeId(4), Beat(True, ()))
    assert node.trees.is_on(topic), "neither beat says that the tree has no such child"
    node.receive(PEER, Beat(True, ()))
    assert not node.trees.is_on(topic)


def test_a_place_is_only_taken_from_the_node_that_was_asked() -> None:
    node, _ = linked(PEER)
    before = node.place
    node.receive(LIAR, Acquired(7))
    assert node.place == before


def test_what_is_told_of_a_neighbour_does_not_move_it() -> None:
    node, _ = linked(PEER)
    node.receive(LIAR, Told(True, entry(LIAR, 9), (entry(PEER, 77, 2**60),), (0,)))
    node.receive(LIAR, Ping(True, entry(PEER, 77, 2**60)))
    assert node.table.skewed.places[PEER] == PEER << 32


def test_nobody_puts_us_on_trees_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees_module, "BRANCHES_MAX", 100)
    node, _ = linked(PEER)
    for i in range(300):
        node.receive(PEER, Grow(f"made up {i}", LIAR, 5, 9, NodeId(9), 1, 1, 1))
        node.receive(PEER, JoinTree(f"made up too {i}", LIAR, 5, True, 1))
    assert len(node.trees.branches) <= 100


def test_a_child_that_is_not_ours_is_told_so() -> None:
    node, outbox = linked(PEER)
    node.receive(PEER, Beat(True, (Branching("b", 5, NodeId(9), 1, 1, ()),)))
    ((to, answer),) = outbox.take()
    assert (to, type(answer).__name__, answer.topics) == (PEER, "LeaveTree", ("b",))  # type: ignore[attr-defined]


def test_a_beat_for_more_trees_than_a_message_names_is_read_and_loses_no_child() -> None:
    node, outbox = linked(PEER)
    for i in range(TOPICS_MAX + 1):
        node.receive(PEER, JoinTree(f"{i}", PEER, PEER << 32, True, 1))
    homes = [t for t, branch in node.trees.branches.items() if PEER in branch.children]
    while len(homes) <= TOPICS_MAX:
        homes.append(f"more {len(homes)}")
        branch = node.trees.become_root(homes[-1])
        assert branch is not None
        branch.children[PEER] = 0
    outbox.take()
    beats = []
    for _ in range(20):
        outbox.clock.now += 1000
        node.receive(PEER, Ping(True, None))
        node.wake(node.TIMER)
        beats += [m for to, m in outbox.take() if to == PEER and isinstance(m, Beat)]
    assert max(len(beat.branches) for beat in beats) == TOPICS_MAX
    assert not any(beat.all for beat in beats), "the child would leave the trees of other parts"
