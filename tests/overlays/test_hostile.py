"""Overlays among liars: any message from any node is survived, and what it leaves behind is
bounded and can be said to others."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Codec, Event, Message
from orbweaver.core.params import build
from orbweaver.core.topics import Interest, TopicTable
from orbweaver.gossip import relays as relays_module
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.messages import Exchange, ExchangeReply, Relay
from orbweaver.overlays.catalog import OVERLAYS
from orbweaver.overlays.spidercast import SpiderCast
from orbweaver.overlays.spidercast.maintenance import REDIRECTS_MAX
from orbweaver.overlays.spidercast.messages import Closer, Follow, Redirect
from orbweaver.overlays.spidercast.ring_per_topic import RingPerTopic
from orbweaver.overlays.vitis.messages import Profile, Proposal
from tests.core.any_value import LEAVES, values_of
from tests.gossip.fake_outbox import FakeOutbox, make_context

ME, HONEST, LIAR = NodeId(1), NodeId(2), NodeId(3)
TABLE = TopicTable(["a", "b", "c"])
IDS = st.one_of(st.integers(0, 6), st.integers(-(2**63), 2**64 - 1)).map(NodeId)
EDGES = [-(2**63), -1, 0, 1, 2, 63, 64, 65, 2**31, 2**53, 2**62, 2**63 - 1, 2**64 - 1]
ANY = LEAVES | {
    int: st.one_of(st.integers(-2, 5), st.sampled_from(EDGES)),
    NodeId: IDS,
    Topic: st.sampled_from(["a", "b", "c", "none", "", "x" * 255, "\0"]),
    Interest: st.integers(0, 7).map(TABLE.of_mask),
    Event: st.builds(
        Event, st.sampled_from("abcd"), IDS, st.integers(0, 2), st.sampled_from([0, 1, 9, 2**62])
    ),
}


def make(name: str, table: TopicTable = TABLE, **given: Any) -> tuple[Any, FakeOutbox]:
    """A node that wants a and b, and has met the honest one."""
    kind, outbox = OVERLAYS[name], FakeOutbox()
    made = kind(make_context(ME, outbox, table), build(kind.Params, given, "test"))
    for topic in "ab":
        made.subscribe(topic)
    made.start([HONEST])
    return made, outbox


@pytest.mark.parametrize("name", OVERLAYS)
def test_any_message_is_survived_and_all_that_follows_can_be_sent(name: str) -> None:
    kind = OVERLAYS[name]
    codec = Codec(kind.messages, TABLE)
    message = st.one_of([values_of(message, ANY) for message in kind.messages])
    step = st.one_of(
        st.tuples(st.sampled_from([HONEST, LIAR, NodeId(5)]), message),
        st.sampled_from([1, 50, 1000, 5000]),
    )

    @settings(deadline=None, max_examples=60)
    @given(st.lists(step, max_size=40))
    def survives(steps: list[tuple[NodeId, Message] | int]) -> None:
        node, outbox = make(name)
        for what in steps:
            if isinstance(what, int):
                until = outbox.clock.now + what
                while due := [t for t, at in outbox.timers.items() if at <= until]:
                    timer = min(due, key=lambda t: outbox.timers[t])
                    outbox.clock.now = max(outbox.clock.now, outbox.timers.pop(timer))
                    node.wake(timer)
                outbox.clock.now = until
            else:
                sender, told = what
                if told.carries and not (0 < told.hops < 2**10 and 0 <= told.age_ms < 2**40):  # type: ignore[attr-defined]
                    continue  # the host lets none of these in
                with suppress(ProtocolError):
                    node.receive(sender, told)
        node.publish("a", b"still there")
        for peer in list(node.links()):
            node.lost(peer)
        node.stop()
        for _, sent in outbox.sent:
            codec.decode(codec.encode(sent))

    survives()


# -- Vitis and its kin


def linked(name: str = "vitis") -> tuple[Any, FakeOutbox]:
    """With the honest node as a neighbour, which has told its interest itself."""
    node, outbox = make(name)
    node.receive(HONEST, Profile(True, Descriptor(HONEST, TABLE.interest("ab"), 10), ()))
    assert HONEST in node.links()
    return node, outbox


@pytest.mark.parametrize("name", ["vitis", "opt"])
@pytest.mark.parametrize("kind", [Exchange, ExchangeReply])
def test_only_a_neighbour_itself_changes_what_it_wants(name: str, kind: Any) -> None:
    node, _ = linked(name)
    node.wake(node.TIMER)
    assert node.table.peers[HONEST].chosen
    lie = Descriptor(HONEST, TABLE.interest("c"), 2**62)
    others = [Descriptor(NodeId(100 + n), TABLE.interest("a"), 0) for n in range(3)]
    node.receive(LIAR, kind((lie, *others), (0,) * 4))
    node.wake(node.TIMER)
    assert node.table.peers[HONEST].about.interest == TABLE.interest("ab")
    assert node.table.peers[HONEST].chosen
    assert HONEST in node.towards("a")
    node.receive(HONEST, Profile(True, Descriptor(HONEST, TABLE.interest("a"), 11), ()))
    assert node.table.peers[HONEST].about.interest == TABLE.interest("a")


def test_what_is_said_of_a_stranger_gives_way_to_its_own_word() -> None:
    node, _ = make("vitis")
    node.receive(LIAR, Exchange((Descriptor(HONEST, TABLE.interest("c"), 2**62),), (0,)))
    assert node.table.peers[HONEST].about.interest == TABLE.interest("c")
    node.receive(HONEST, Profile(True, Descriptor(HONEST, TABLE.interest("ab"), 10), ()))
    assert node.table.peers[HONEST].about.interest == TABLE.interest("ab")


def test_proposals_for_topics_of_others_are_not_kept() -> None:
    node, _ = linked()
    told = [Proposal(f"made up {n}", HONEST, HONEST, 1) for n in range(10_000)]
    node.receive(HONEST, Profile(True, None, (*told, Proposal("a", HONEST, HONEST, 1))))
    assert list(node.table.peers[HONEST].proposals) == ["a"]
    assert len(node.gateways._stale) <= 2
    for _ in range(2):  # with links that are new it waits a cycle
        node.wake(node.TIMER)
    assert sorted(node.gateways.proposals) == ["a", "b"]


@pytest.mark.parametrize("name", ["vitis", "rvr"])
def test_no_peer_puts_a_node_on_trees_without_end(name: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(relays_module, "BRANCHES_OF_CHILD", 500)
    monkeypatch.setattr(relays_module, "BRANCHES_MAX", 2000)
    node, _ = linked(name)
    own = len(node.relays.branches)
    for batch in range(20):
        topics = tuple(f"made up {batch} {n}" for n in range(100))
        node.receive(HONEST, Relay(topics))
    assert len(node.relays.branches) <= own + 500
    for child in range(10, 20):
        node.receive(
            NodeId(child), Profile(True, Descriptor(NodeId(child), TABLE.interest("c"), 1), ())
        )
        node.receive(NodeId(child), Relay(tuple(f"of {child} {n}" for n in range(600))))
    assert len(node.relays.branches) <= own + 2000
    assert len(TABLE) == 3
    for child in [HONEST, *range(10, 20)]:
        node.lost(child)
    assert len(node.relays.branches) == own
    assert not node.relays._above


# -- SpiderCast and its kin


def test_redirects_that_were_not_asked_for_do_not_pile_up() -> None:
    node, _ = make("spidercast")
    assert isinstance(node, SpiderCast)
    for peer in range(10_000):
        node.receive(LIAR, Redirect(0, NodeId(peer), None))
    assert len(node.tasks.all[0]._connect_cand_from_redirect) <= REDIRECTS_MAX


def test_a_follower_of_everything_is_not_answered_a_million_times() -> None:
    table = TopicTable("ab")
    node, outbox = make("ring-per-topic", table)
    assert isinstance(node, RingPerTopic)
    everything = table.interest([f"topic {n}" for n in range(1000)])
    for peer in range(100, 150):
        node.receive(NodeId(peer), Follow(everything, everything))
    closer = [message for _, message in outbox.sent if isinstance(message, Closer)]
    assert len(closer) < 1000
