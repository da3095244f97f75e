"""One node of Vitis: ring, gateways, relay paths and profiles together, a cycle at a time."""

from __future__ import annotations

import pytest

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.core.params import build
from orbweaver.gossip.descriptor import LIFE
from orbweaver.gossip.messages import Beside, Exchange, ExchangeReply, News, Relay
from orbweaver.overlays.vitis import Vitis
from orbweaver.overlays.vitis.messages import Goodbye, Profile
from orbweaver.overlays.vitis.rvr import Rvr
from orbweaver.overlays.vitis.table import CALLS, WHOLE_EVERY
from tests.overlays.vitis.vitis_node import (
    TABLE,
    ahead,
    content,
    entries,
    entry,
    node,
    own,
    profile,
    refresh,
)


def test_a_table_is_never_larger_than_it_may_be() -> None:
    vitis, outbox = node(Vitis, table_size=5)
    for first in range(1, 60, 7):
        refresh(vitis, [entry(n, "AB") for n in range(first, first + 9)])
        assert vitis.status()["table"] == 5
    assert len(outbox.links) == 5, "nodes that were dropped are no links any more"


def test_a_node_that_is_chosen_is_told_and_links_go_both_ways() -> None:
    vitis, outbox = content()
    refresh(vitis, entries(n1="AB").values())
    (to, sent), asked = outbox.take()
    assert asked == (1, Beside())
    assert (to, sent.chosen, sent.about.interest) == (1, True, TABLE.interest("AB"))
    vitis.receive(NodeId(1), profile(1, False))
    vitis.receive(NodeId(2), profile(2, True))
    assert sorted(vitis.links()) == [1, 2]
    assert vitis.status() | {"relay_of": 0, "gateway_of": 0} == {
        "table": 1, "in_links": 1, "relay_of": 0, "gateway_of": 0,
    }  # fmt: skip


def test_a_link_ends_when_neither_end_chooses_it() -> None:
    vitis, outbox = content()
    vitis.receive(NodeId(2), profile(2, True))
    vitis.receive(NodeId(2), profile(2, False, None))
    assert list(vitis.links()) == []
    assert outbox.take()[-1] == (2, Goodbye(leaving=False)), "it may take itself to be chosen"
    vitis.receive(NodeId(2), profile(2, False, None))
    assert outbox.take() == [(2, Goodbye(leaving=False))], "so that it stops"
    vitis.receive(NodeId(2), Goodbye(leaving=False))
    assert outbox.take() == []


def test_a_node_that_asks_for_a_path_before_it_is_known_is_told_so() -> None:
    """Its request has overtaken its introduction; unanswered, it would wait for a period."""
    vitis, outbox = content()
    vitis.receive(NodeId(2), Relay(("A",)))
    assert outbox.take() == [(2, Goodbye(leaving=False))]
    assert vitis.relays.branches == {}


def test_a_better_ring_neighbour_that_calls_is_chosen() -> None:
    vitis, outbox = node(Vitis)
    ring = sorted(range(1, 40), key=ahead)
    successor, between, *_ = ring
    refresh(vitis, [entry(n, "AB") for n in ring[2:]])
    vitis.receive(NodeId(between), profile(between, True, "H"))
    assert vitis.table.peers[between].chosen, "the nearest so far"
    vitis.receive(NodeId(successor), profile(successor, True, "H"))
    assert vitis.table.peers[successor].chosen
    outbox.take()
    vitis.wake(Vitis.TIMER)
    (entries,) = [m.entries for _, m in outbox.take() if isinstance(m, Exchange)]
    assert not vitis.table.peers[between].chosen
    assert between in [e.node for e in entries], "a caller is passed on too"


def test_a_neighbour_is_judged_by_what_it_says_itself() -> None:
    vitis, _ = node(Vitis, "ABCD", table_size=4)
    refresh(vitis, [entry(n, "AB") for n in range(1, 30)])
    vitis.world.improving = lambda entries: []
    vitis.receive(NodeId(77), profile(77, True, "EFGH", 5))
    vitis.receive(NodeId(1), ExchangeReply((entry(77, "ABCD", 9),), (0,)))
    vitis.wake(Vitis.TIMER)
    assert not vitis.table.peers[NodeId(77)].chosen
    vitis.receive(NodeId(78), profile(78, True, "ABCD"))
    vitis.wake(Vitis.TIMER)
    assert vitis.table.peers[NodeId(78)].chosen, "no node needs to tell of it"


@pytest.mark.parametrize("kind", [Vitis, Rvr])
def test_a_table_fills_as_others_come(kind: type) -> None:
    """Also that of a node which wants nothing, and takes any node."""
    made, _ = node(kind, "")
    for number in range(1, 30):
        made.receive(NodeId(99), ExchangeReply((entry(number, "AB"),), (0,)))
        assert made.status()["table"] == min(number, 15)


def test_a_new_ring_neighbour_is_asked_for_nearer_nodes() -> None:
    vitis, outbox = node(Vitis)
    far, near, *_ = sorted(range(1, 40), key=ahead, reverse=True)
    refresh(vitis, [entry(far, "H")])
    assert [to for to, m in outbox.take() if m == Beside()] == [far]
    vitis.receive(NodeId(far), ExchangeReply((entry(near, "H"),), (0,)))
    assert [to for to, m in outbox.take() if m == Beside()] == [near], "and nodes that these name"
    vitis.receive(NodeId(near), ExchangeReply((entry(far, "H"),), (0,)))
    assert outbox.take() == [], "until no node is nearer"
    vitis.wake(Vitis.TIMER)
    assert [to for to, m in outbox.take() if m == Beside()] == [vitis.world.ring.successors[0]]


def test_the_asker_is_told_of_the_nodes_on_either_side_of_it() -> None:
    vitis, outbox = content()
    *_, before, asker, after = sorted(range(1, 40), key=ahead)
    refresh(vitis, [entry(n, "AB") for n in (1, 2, before, after)])
    for present in (False, True):
        if present:
            vitis.receive(NodeId(asker), profile(asker, True))
        outbox.take()
        vitis.receive(NodeId(asker), Beside())
        ((to, told),) = outbox.take()
        assert (to, {e.node for e in told.entries}) == (asker, {before, after})
    alone, outbox = node(Vitis)
    alone.receive(NodeId(asker), Beside())
    assert outbox.take() == []


def test_no_node_introduces_itself_as_another() -> None:
    vitis, outbox = content()
    vitis.receive(NodeId(2), profile(3, True))
    assert not vitis.links()
    assert outbox.take() == []


def test_gateways_are_left_alone_while_the_table_moves() -> None:
    vitis, outbox = node(Vitis, "AB")
    for cycle in range(1, 7):
        outbox.clock.now = 1000 * cycle
        for n in range(10 * cycle, 10 * cycle + 4):
            vitis.receive(NodeId(n), profile(n, True, "C"))
        vitis.wake(Vitis.TIMER)
        assert bool(vitis.gateways.proposals) == (cycle >= 5), "not for ever"
    still, _ = node(Vitis, "AB")
    still.wake(Vitis.TIMER)
    assert not still.gateways.proposals, "links are about to come"
    still.receive(NodeId(2), profile(2, True, "C"))
    still.wake(Vitis.TIMER)
    assert list(still.gateways.proposals) == ["A", "B"]


@pytest.mark.parametrize("newcomers", [1, 2, 4])
def test_a_path_is_asked_for_soon(newcomers: int) -> None:
    """Of a gateway that still is one in the next cycle; or the one after, while a table moves."""
    vitis, outbox = node(Vitis, "AB")
    asked: list[int] = []
    became = 0
    for cycle in range(1, 12):
        outbox.clock.now = 1000 * cycle
        for n in range(10 * cycle, 10 * cycle + newcomers):
            vitis.receive(NodeId(n), profile(n, True, "C"))
        outbox.take()
        vitis.wake(Vitis.TIMER)
        became = became or (cycle if vitis.gateways.ours else 0)
        if any(isinstance(m, Relay) for _, m in outbox.take()):
            asked.append(cycle)
    assert asked[0] == became + 1 + (newcomers > 1)


def test_a_neighbour_that_was_restarted_is_told_everything_again() -> None:
    vitis, outbox = content()
    vitis.receive(NodeId(2), profile(2, True, "AB", 100, own("A", 2)))
    outbox.take()
    vitis.receive(NodeId(2), profile(2, True, "AB", 101))
    vitis.wake(Vitis.TIMER)
    assert not any(isinstance(m, Profile) and m.about for _, m in outbox.take())
    assert vitis.table.peers[NodeId(2)].proposals
    vitis.receive(NodeId(2), profile(2, True, "AB", 101 + LIFE))
    assert not vitis.table.peers[NodeId(2)].proposals, "what its last life proposed"
    vitis.wake(Vitis.TIMER)
    assert any(isinstance(m, Profile) and m.about for _, m in outbox.take())


def test_what_is_wanted_no_longer_leaves_nothing_behind() -> None:
    vitis, _ = content("AB")
    vitis.receive(NodeId(2), profile(2, True, "AB", 1, own("A", 2), own("B", 2)))
    vitis.gateways.fresh_links = 0
    vitis.gateways.step()
    vitis.unsubscribe("A")
    assert list(vitis.table.peers[NodeId(2)].proposals) == ["B"]
    assert list(vitis.gateways._reach) == ["B"]
    vitis.receive(NodeId(2), profile(2, True, "A", 2))
    assert not vitis.table.peers[NodeId(2)].proposals


def test_there_are_no_more_long_links_than_there_is_room_for() -> None:
    with pytest.raises(UsageError, match="vitis: a table of 15 has room for 13 long links"):
        build(Vitis.Params, {"long_links": 14}, "vitis")
    assert build(Vitis.Params, {"long_links": 13}, "vitis").long_links == 13


def test_only_a_neighbour_that_went_without_a_word_is_called() -> None:
    vitis, outbox = content(age_max=3)
    for n in (2, 3):
        vitis.receive(NodeId(n), profile(n, True))
    vitis.receive(NodeId(3), Goodbye(leaving=True))
    called: list[NodeId] = []
    for cycle in range(1, 30):
        outbox.clock.now = 1000 * cycle
        vitis.wake(Vitis.TIMER)
        gone = cycle > 3
        called += [to for to, m in outbox.take() if gone and isinstance(m, News)]
    assert called.count(NodeId(2)) >= CALLS
    assert called.count(NodeId(3)) == 0


def test_a_neighbour_that_lost_this_node_is_told_of_it_again() -> None:
    vitis, outbox = node(Vitis)
    refresh(vitis, entries(n1="AB").values())
    outbox.take()
    vitis.receive(NodeId(1), Goodbye(leaving=False))
    vitis.wake(Vitis.TIMER)
    told = [m.about for _, m in outbox.take() if isinstance(m, Profile) and m.about]
    assert [about.interest for about in told] == [TABLE.interest("AB")]


def test_what_was_told_once_and_lost_is_told_again() -> None:
    vitis, outbox = content()
    refresh(vitis, entries(n1="AB").values())
    outbox.take()
    told = 0
    for cycle in range(1, 2 * WHOLE_EVERY + 1):
        outbox.clock.now = 1000 * cycle
        vitis.receive(NodeId(1), profile(1, True, None))
        vitis.wake(Vitis.TIMER)
        profiles = [m for _, m in outbox.take() if isinstance(m, Profile) and m.about]
        told += len(profiles)
        assert all({p.topic for p in m.proposals} == {"A", "B"} for m in profiles)
    assert told == 2


def test_a_silent_neighbour_is_let_go() -> None:
    vitis, outbox = node(Vitis, age_max=3)
    vitis.receive(NodeId(2), profile(2, True))
    for cycle in range(1, 6):
        outbox.clock.now = 1000 * cycle
        vitis.wake(Vitis.TIMER)
        assert (2 in vitis.links()) == (cycle <= 3)


def test_interests_follow_profiles() -> None:
    vitis, _ = node(Vitis, "AB")
    vitis.receive(NodeId(2), profile(2, True, "AC"))
    assert (list(vitis.table.hood.interested("A")), list(vitis.table.hood.interested("C"))) == (
        [2],
        [2],
    )
    vitis.receive(NodeId(2), profile(2, True, "BC", version=2))
    assert (list(vitis.table.hood.interested("A")), list(vitis.table.hood.interested("B"))) == (
        [],
        [2],
    )
    vitis.receive(NodeId(2), profile(2, True, "A", version=1))
    assert list(vitis.table.hood.interested("B")) == [2], "an old profile that comes late"
    vitis.subscribe("C")
    assert list(vitis.table.hood.interested("C")) == [2]


def test_links_can_be_read_as_one_way() -> None:
    vitis, _ = content(one_way=True)
    vitis.receive(NodeId(2), profile(2, True, "AC"))
    assert list(vitis.towards("A")) == [], "it has chosen this node, not this node it"
    refresh(vitis, entries(n2="AC").values())
    assert (list(vitis.towards("A")), list(vitis.towards("C"))) == ([2], [2])


def test_leaving_is_told() -> None:
    vitis, outbox = node(Vitis)
    vitis.receive(NodeId(2), profile(2, True))
    outbox.take()
    vitis.stop()
    assert outbox.take() == [(2, Goodbye(leaving=True))]
    assert outbox.links == set()
    other, _ = node(Vitis, me=2)
    other.receive(NodeId(0), profile(0, True))
    other.receive(NodeId(0), Goodbye(leaving=True))
    assert list(other.links()) == []
