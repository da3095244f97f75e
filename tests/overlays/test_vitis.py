"""Vitis: utility, choice of neighbours, gateways; and RVR and OPT where they differ."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweaver.core.errors import UsageError
from orbweaver.core.identifiers import PLACE_OF_NODE, PLACE_OF_TOPIC, SPACE, distance
from orbweaver.core.ids import NodeId
from orbweaver.core.params import build
from orbweaver.core.seeds import derive
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.descriptor import LIFE, Descriptor
from orbweaver.gossip.newscast import News
from orbweaver.gossip.profiles import Goodbye, Peer, Profile, Proposal
from orbweaver.gossip.relays import Relay
from orbweaver.gossip.rendezvous import Beside
from orbweaver.gossip.table import CALLS, WHOLE_EVERY
from orbweaver.gossip.tman import Exchange, ExchangeReply
from orbweaver.overlays.baselines.opt import Opt
from orbweaver.overlays.baselines.rvr import Rvr
from orbweaver.overlays.catalog import find
from orbweaver.overlays.vitis import Vitis
from orbweaver.overlays.vitis.gateways import Gateways
from orbweaver.overlays.vitis.rates import HALVED_AFTER, TOPICS_MAX, SeenRates, make_rates
from orbweaver.overlays.vitis.utility import overlap, weighted
from orbweaver.sim.simulation import Simulation
from orbweaver.study.run import run_scenario
from orbweaver.workload.scenario import (
    FaultSpec,
    InterestChange,
    PartitionSpec,
    PublishSpec,
    RunSpec,
    Scenario,
    WorkloadSpec,
)
from tests.gossip.fake_outbox import FakeOutbox, make_context

TABLE = TopicTable("ABCDEFGH")


def node(kind: type, topics: str = "AB", me: int = 0, **settings: Any) -> tuple[Any, FakeOutbox]:
    outbox = FakeOutbox()
    made = kind(make_context(me, outbox, TABLE), build(kind.Params, settings, "test"))
    for topic in topics:
        made.subscribe(topic)
    made.start([])
    outbox.take()
    return made, outbox


def entry(number: int, topics: str, version: int = 0) -> Descriptor:
    return Descriptor(NodeId(number), TABLE.interest(topics), version)


def ahead(number: int) -> int:
    """How far a node is from node 0, going forward."""
    return (PLACE_OF_NODE[NodeId(number)] - PLACE_OF_NODE[NodeId(0)]) % SPACE


def fresh(entries: Iterable[Descriptor]) -> list[tuple[Descriptor, int]]:
    """Heard of just now."""
    return [(entry, 0) for entry in entries]


def entries(**topics: str) -> dict[NodeId, Descriptor]:
    return {NodeId(int(n[1:])): entry(int(n[1:]), wanted) for n, wanted in topics.items()}


# -- equation 1


def test_utility_of_the_papers_example() -> None:
    p, q, r = (TABLE.interest(topics) for topics in ("ABC", "CD", "CDEFGH"))
    assert overlap(p, q) == 0.25
    assert overlap(p, r) == 0.125
    assert overlap(q, r) == pytest.approx(1 / 3)


INTEREST = st.sets(st.sampled_from("ABCDEFGH")).map(TABLE.interest)


@given(INTEREST, INTEREST)
def test_equal_rates_are_no_rates(a: Any, b: Any) -> None:
    rates = make_rates("zipf:0", TABLE)
    assert rates is not None
    assert weighted(a, b, TABLE, rates) == pytest.approx(overlap(a, b))


def test_a_topic_without_events_does_not_count() -> None:
    a, b, c = (TABLE.interest(topics) for topics in ("AC", "AB", "BC"))
    rates = dict.fromkeys("ABC", 1.0) | {"C": 0.0}
    assert weighted(a, b, TABLE, rates) == 0.5
    assert weighted(a, c, TABLE, rates) == 0.0


def test_rates_that_are_seen_fade() -> None:
    rates = SeenRates()
    for _ in range(100):
        rates.saw("A")
    rates.saw("B")
    for _ in range(HALVED_AFTER):
        rates.step()
    assert dict(rates) == {"A": pytest.approx(6.0)}
    for n in range(2 * TOPICS_MAX):
        rates.saw(f"of strangers {n}")
    assert len(rates) <= TOPICS_MAX


def test_rates_that_are_seen_grow_with_the_events() -> None:
    vitis, _ = node(Vitis, rates="estimated")
    for _ in range(10):
        vitis.flood.publish("A", b"")
    assert vitis.rates["A"] == pytest.approx(2 * vitis.rates["B"])


@pytest.mark.parametrize("text", ["zipf", "zipf:x", "zipf:-1", "power:1", ""])
def test_bad_rates(text: str) -> None:
    with pytest.raises(UsageError, match="should be uniform, estimated or zipf:A"):
        make_rates(text, TABLE)


# -- Algorithm 4


def test_a_table_has_ring_neighbours_a_long_link_and_the_best_friends() -> None:
    vitis, _ = node(Vitis, "ABCD", table_size=6)
    candidates = {NodeId(n): entry(n, "ABCDEFGH"[n % 4 : n % 4 + 3]) for n in range(1, 40)}
    chosen = list(vitis._select(candidates))
    assert len(set(chosen)) == 6
    ahead = {n: (PLACE_OF_NODE[n] - PLACE_OF_NODE[NodeId(0)]) % SPACE for n in candidates}
    assert chosen[:2] == [min(ahead, key=ahead.get), max(ahead, key=ahead.get)]
    mine = TABLE.interest("ABCD")
    friends = [overlap(mine, candidates[n].interest) for n in chosen[3:]]
    left = [overlap(mine, e.interest) for n, e in candidates.items() if n not in chosen]
    assert min(friends) >= max(left)


def test_a_table_is_never_larger_than_it_may_be() -> None:
    vitis, outbox = node(Vitis, table_size=5)
    for first in range(1, 60, 7):
        vitis._refresh_table(fresh([entry(n, "AB") for n in range(first, first + 9)]))
        assert vitis.status()["table"] == 5
    assert len(outbox.links) == 5, "those that were dropped are no links any more"


def test_rvr_chooses_by_place_alone() -> None:
    rvr, _ = node(Rvr, table_size=7)
    alike = {NodeId(n): entry(n, "AB") for n in range(1, 40)}
    others = {NodeId(n): entry(n, "GH") for n in range(1, 40)}
    assert list(rvr._select(alike)) == list(rvr._select(others))
    assert len(rvr._select(alike)) == 7


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"coverage": 1}, [3]),
        ({"coverage": 2}, [3, 1, 2]),
        ({"coverage": 2, "table_size": 2}, [3, 1]),
        ({"coverage": 9, "table_size": 0}, [3, 1, 2]),
    ],
)
def test_opt_covers_most_first(settings: dict[str, int], expected: list[int]) -> None:
    opt, _ = node(Opt, "ABC", **settings)
    assert list(opt._select(entries(n1="AB", n2="C", n3="ABC", n4="GH"))) == expected


@given(
    st.lists(st.sets(st.sampled_from("ABCDEFGH")), max_size=12),
    st.sets(st.integers(1, 12)),
    st.integers(0, 6),
)
def test_opt_chooses_as_if_all_were_weighed_each_time(
    wanted: list[set[str]], held: set[int], size: int
) -> None:
    coverage = 2
    opt, _ = node(Opt, "ABCDEF", coverage=coverage, table_size=size)
    opt._has_chosen = held.__contains__
    candidates = entries(**{f"n{i}": "".join(sorted(t)) for i, t in enumerate(wanted, 1)})
    left = dict(candidates)
    plain: list[NodeId] = []
    count = dict.fromkeys("ABCDEF", 0)

    def gain(n: NodeId) -> int:
        return sum(count.get(topic, coverage) < coverage for topic in left[n].interest)

    while left and len(plain) < (size or len(candidates)):
        best = max(left, key=lambda n: (gain(n), n in held))
        if not gain(best):
            break
        for topic in left.pop(best).interest:
            count[topic] = count.get(topic, coverage) + 1
        plain.append(best)
    assert list(opt._select(candidates)) == plain


# -- Algorithm 5


def gateways(me: int, **peers: Proposal) -> tuple[Gateways, dict[NodeId, Peer]]:
    known: dict[NodeId, Peer] = {}
    for name, proposal in peers.items():
        peer = Peer(entry(int(name[1:]), "A"), 0)
        peer.shared = ("A",)
        peer.proposals["A"] = proposal
        known[peer.node] = peer
    made = Gateways(NodeId(me), PLACE_OF_NODE, 5, lambda topic: known.values(), known.__contains__)
    made.follow(["A"])
    return made, known


def by_distance(count: int) -> list[NodeId]:
    """Nodes, the nearest to A's place first."""
    place = PLACE_OF_TOPIC["A"]
    return sorted(
        (NodeId(n) for n in range(100, 100 + count)),
        key=lambda n: distance(PLACE_OF_NODE[n], place),
    )


NEAR, MIDDLE, FAR, FURTHER = by_distance(4)


def own(n: NodeId) -> Proposal:
    return Proposal("A", n, n, 0)


def propose(me: int, **peers: Proposal) -> Proposal:
    made, _ = gateways(me, **peers)
    made.update(["A"])
    return made.proposals["A"]


def test_alone_a_node_is_its_own_gateway() -> None:
    made, _ = gateways(FAR)
    made.update(["A"])
    assert made.proposals["A"] == own(FAR)
    assert list(made.ours) == ["A"]


def test_the_nearest_to_the_place_is_the_gateway() -> None:
    found = propose(FAR, **{f"n{NEAR}": own(NEAR), f"n{MIDDLE}": own(MIDDLE)})
    assert found == Proposal("A", NEAR, NEAR, 1)
    assert propose(NEAR, **{f"n{MIDDLE}": own(MIDDLE)}) == own(NEAR)


def test_a_gateway_may_not_be_too_far_away() -> None:
    through = Proposal("A", NEAR, NodeId(1), 4)
    assert propose(FAR, **{f"n{MIDDLE}": through}).gateway == NEAR
    too_far = Proposal("A", NEAR, NodeId(1), 5)
    assert propose(FAR, **{f"n{MIDDLE}": too_far}) == own(FAR)


def test_the_shorter_way_to_the_same_gateway() -> None:
    long, short = Proposal("A", NEAR, NodeId(1), 3), Proposal("A", NEAR, NodeId(2), 1)
    for order in ((long, short), (short, long)):
        found = propose(FAR, **{f"n{MIDDLE}": order[0], f"n{FURTHER}": order[1]})
        assert found.hops == 2


def test_what_came_from_us_or_is_told_by_its_source_is_passed_over() -> None:
    back = Proposal("A", NEAR, FAR, 2)
    assert propose(FAR, **{f"n{MIDDLE}": back}) == own(FAR)
    found = propose(
        FAR, **{f"n{MIDDLE}": Proposal("A", NEAR, FURTHER, 2), f"n{FURTHER}": own(FURTHER)}
    )
    assert found == own(FAR), "the neighbour that it came from no longer says so"


def test_only_changes_are_told_and_everything_to_a_newcomer() -> None:
    made, known = gateways(FAR, **{f"n{NEAR}": own(NEAR)})
    made.update(["A"])
    peer = known[NEAR]
    assert made.news_for(peer, whole=False) == (Proposal("A", NEAR, NEAR, 1),)
    assert made.news_for(peer, whole=False) == ()
    assert made.news_for(peer, whole=True) == (Proposal("A", NEAR, NEAR, 1),)


def test_a_lost_neighbour_takes_its_proposal_along() -> None:
    made, known = gateways(FAR, **{f"n{NEAR}": own(NEAR), f"n{MIDDLE}": own(MIDDLE)})
    made.update(["A"])
    lost = known.pop(NEAR)
    made.lost(lost, lost.shared)
    made.update(["A"])
    assert made.proposals["A"].gateway == MIDDLE


def test_only_what_can_be_better_is_reckoned_with() -> None:
    made, known = gateways(FAR, **{f"n{MIDDLE}": own(MIDDLE), f"n{FURTHER}": own(FURTHER)})
    made.update(["A"])
    made.heard(known[FURTHER], [Proposal("A", FURTHER, NodeId(1), 1)])
    assert not made.update(["A"]), "further from the place than what we have"
    made.heard(known[FURTHER], [Proposal("A", NEAR, NodeId(1), 1)])
    assert made.update(["A"])
    assert made.proposals["A"] == Proposal("A", NEAR, FURTHER, 2)
    made.heard(known[FURTHER], [own(FURTHER)])
    assert made.update(["A"]), "what it told us before holds no longer"
    assert made.proposals["A"].gateway == MIDDLE


def test_a_neighbour_that_wants_more_is_told_what_it_lacks() -> None:
    made, known = gateways(FAR, **{f"n{NEAR}": own(NEAR)})
    made.update(["A"])
    made.news_for(known[NEAR], whole=False)
    made.owe(known[NEAR])
    assert made.news_for(known[NEAR], whole=False) == (Proposal("A", NEAR, NEAR, 1),)


def test_topics_come_and_go() -> None:
    made, _ = gateways(FAR)
    made.follow(["A", "B"])
    made.update(["A", "B"])
    assert list(made.ours) == ["A", "B"]
    made.follow(["B"])
    assert made.update(["B"]), "a topic less is a change"
    assert list(made.ours) == ["B"]
    assert not made.update(["B"])


# -- links and profiles (Algorithms 6 and 7)


def profile(
    sender: int, chosen: bool, topics: str | None = "AB", version: int = 1, *told: Proposal
) -> Profile:
    return Profile(chosen, entry(sender, topics, version) if topics else None, tuple(told))


def content(topics: str = "AB", **settings: Any) -> tuple[Any, FakeOutbox]:
    """One whose ring has closed: it chooses nobody just because it was called."""
    vitis, outbox = node(Vitis, topics, **settings)
    vitis.world.improving = lambda entries: []
    return vitis, outbox


def test_who_is_chosen_is_told_and_links_both_ways() -> None:
    vitis, outbox = content()
    vitis._refresh_table(fresh(entries(n1="AB").values()))
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
    assert outbox.take()[-1] == (2, Goodbye(leaving=False)), "it may take us to choose it"
    vitis.receive(NodeId(2), profile(2, False, None))
    assert outbox.take() == [(2, Goodbye(leaving=False))], "so that it stops"
    vitis.receive(NodeId(2), Goodbye(leaving=False))
    assert outbox.take() == []


def test_who_asks_for_a_path_before_it_is_known_is_told_so() -> None:
    """Its request has overtaken its introduction; unanswered, it would wait for a period."""
    vitis, outbox = content()
    vitis.receive(NodeId(2), Relay(("A",)))
    assert outbox.take() == [(2, Goodbye(leaving=False))]
    assert vitis.relays.branches == {}


def test_a_better_ring_neighbour_that_calls_is_chosen() -> None:
    vitis, outbox = node(Vitis)
    ring = sorted(range(1, 40), key=ahead)
    successor, between, *_ = ring
    vitis._refresh_table(fresh([entry(n, "AB") for n in ring[2:]]))
    vitis.receive(NodeId(between), profile(between, True, "H"))
    assert vitis.peers[between].chosen, "the nearest so far"
    vitis.receive(NodeId(successor), profile(successor, True, "H"))
    assert vitis.peers[successor].chosen
    outbox.take()
    vitis.wake(Vitis.TIMER)
    (entries,) = [m.entries for _, m in outbox.take() if isinstance(m, Exchange)]
    assert not vitis.peers[between].chosen
    assert between in [e.node for e in entries], "who has chosen us is passed on too"


def test_a_table_without_places_for_friends_is_tempted_by_none() -> None:
    vitis, _ = node(Vitis, "AB", table_size=4, long_links=2)
    vitis._refresh_table(fresh([entry(n, "H") for n in range(1, 30)]))
    alike = [entry(n, "AB") for n in range(30, 200)]
    assert vitis._tempted(alike) == vitis.world.improving(alike)
    other, _ = node(Vitis, "AB", table_size=5, long_links=2)
    other._refresh_table(fresh([entry(n, "H") for n in range(1, 30)]))
    assert len(other._tempted(alike)) >= len(alike), "here there is one"


def test_a_neighbour_is_weighed_by_what_it_says_itself() -> None:
    vitis, _ = node(Vitis, "ABCD", table_size=4)
    vitis._refresh_table(fresh([entry(n, "AB") for n in range(1, 30)]))
    vitis.world.improving = lambda entries: []
    vitis.receive(NodeId(77), profile(77, True, "EFGH", 5))
    vitis.receive(NodeId(1), ExchangeReply((entry(77, "ABCD", 9),), (0,)))
    vitis.wake(Vitis.TIMER)
    assert not vitis.peers[NodeId(77)].chosen
    vitis.receive(NodeId(78), profile(78, True, "ABCD"))
    vitis.wake(Vitis.TIMER)
    assert vitis.peers[NodeId(78)].chosen, "nobody needs to tell of it"


@pytest.mark.parametrize("kind", [Vitis, Rvr])
def test_a_table_fills_as_others_come(kind: type) -> None:
    """Also that of a node which wants nothing, and takes anybody."""
    made, _ = node(kind, "")
    for number in range(1, 30):
        made.receive(NodeId(99), ExchangeReply((entry(number, "AB"),), (0,)))
        assert made.status()["table"] == min(number, 15)


def test_who_is_new_on_the_ring_is_asked_for_nearer_ones() -> None:
    vitis, outbox = node(Vitis)
    far, near, *_ = sorted(range(1, 40), key=ahead, reverse=True)
    vitis._refresh_table(fresh([entry(far, "H")]))
    assert [to for to, m in outbox.take() if m == Beside()] == [far]
    vitis.receive(NodeId(far), ExchangeReply((entry(near, "H"),), (0,)))
    assert [to for to, m in outbox.take() if m == Beside()] == [near], "and whom they name"
    vitis.receive(NodeId(near), ExchangeReply((entry(far, "H"),), (0,)))
    assert outbox.take() == [], "until nobody is nearer"
    vitis.wake(Vitis.TIMER)
    assert [to for to, m in outbox.take() if m == Beside()] == [vitis.world.ring[0]]


def test_the_asker_is_told_of_those_on_either_side_of_it() -> None:
    vitis, outbox = content()
    *_, before, asker, after = sorted(range(1, 40), key=ahead)
    vitis._refresh_table(fresh([entry(n, "AB") for n in (1, 2, before, after)]))
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


@pytest.mark.parametrize("name", ["vitis", "rvr"])
def test_the_ring_closes_within_a_few_cycles(name: str) -> None:
    """By gossip alone half of these nodes do not have their successor by then."""
    size = 1000
    scenario = Scenario(
        overlay=name,
        workload=WorkloadSpec(nodes=size, topics=50, subscriptions_per_node="5"),
        publish=PublishSpec(per_topic=0),
        run=RunSpec(warmup_ms=3000, drain_ms=0),
    )
    simulation = Simulation(scenario, 3, find(name))
    simulation.run()
    nodes, places = simulation.world.nodes, simulation.world.places
    order = sorted(range(size), key=lambda n: places[NodeId(n)])
    right = [
        after in nodes[n].overlay.links()  # type: ignore[union-attr]
        for n, after in zip(order, [*order[1:], order[0]], strict=True)
    ]
    assert all(right)


def test_each_seed_has_a_ring_of_its_own() -> None:
    rings = []
    for seed in (1, 2):
        scenario = Scenario(
            overlay="rvr",
            workload=WorkloadSpec(nodes=40, topics=8, subscriptions_per_node="2"),
            publish=PublishSpec(per_topic=0),
            run=RunSpec(warmup_ms=10_000, drain_ms=0),
        )
        simulation = Simulation(scenario, seed, Rvr)
        simulation.run()
        ring = [NodeId(0)]
        while len(ring) < 40:
            overlay = simulation.world.nodes[ring[-1]].overlay
            assert isinstance(overlay, Rvr)
            ring.append(overlay.world.ring[0])  # the successor
        assert sorted(ring) == list(range(40))
        rings.append(ring)
    assert rings[0] != rings[1]


def test_the_ring_of_a_network_is_made_of_ids_alone() -> None:
    assert make_context(7, FakeOutbox(), TABLE).places is PLACE_OF_NODE
    assert PLACE_OF_NODE[NodeId(7)] == derive("node", 7)


def test_nobody_introduces_itself_as_another() -> None:
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


def test_who_is_started_anew_is_told_everything_again() -> None:
    vitis, outbox = content()
    vitis.receive(NodeId(2), profile(2, True, "AB", 100, own(NodeId(2))))
    outbox.take()
    vitis.receive(NodeId(2), profile(2, True, "AB", 101))
    vitis.wake(Vitis.TIMER)
    assert not any(isinstance(m, Profile) and m.about for _, m in outbox.take())
    assert vitis.peers[NodeId(2)].proposals
    vitis.receive(NodeId(2), profile(2, True, "AB", 101 + LIFE))
    assert not vitis.peers[NodeId(2)].proposals, "what its last life proposed"
    vitis.wake(Vitis.TIMER)
    assert any(isinstance(m, Profile) and m.about for _, m in outbox.take())


def test_what_is_wanted_no_longer_leaves_nothing_behind() -> None:
    vitis, _ = content("AB")
    vitis.receive(NodeId(2), profile(2, True, "AB", 1, own(NodeId(2)), Proposal("B", 2, 2, 0)))
    vitis.gateways.update(vitis._sharing)
    vitis.unsubscribe("A")
    assert list(vitis.peers[NodeId(2)].proposals) == ["B"]
    assert list(vitis.gateways._reach) == ["B"]
    vitis.receive(NodeId(2), profile(2, True, "A", 2))
    assert not vitis.peers[NodeId(2)].proposals


def test_there_are_no_more_long_links_than_there_is_room_for() -> None:
    with pytest.raises(UsageError, match="vitis: a table of 15 has room for 13 long links"):
        build(Vitis.Params, {"long_links": 14}, "vitis")
    assert build(Vitis.Params, {"long_links": 13}, "vitis").long_links == 13


@pytest.mark.parametrize("overlay", ["vitis", "rvr", "opt"])
def test_a_network_that_was_cut_in_two_grows_together_again(overlay: str) -> None:
    cut = PartitionSpec(start_ms=10_000, end_ms=40_000)
    scenario = Scenario(
        overlay=overlay,
        workload=WorkloadSpec(nodes=60, topics=12, subscriptions_per_node="4"),
        faults=FaultSpec(partitions=(cut,)),
        publish=PublishSpec(per_topic=2),
        run=RunSpec(warmup_ms=60_000),
    )
    assert run_scenario(scenario, 1).result.metrics["hit_ratio"] == 1


@pytest.mark.parametrize("overlay", ["vitis", "rvr"])
@pytest.mark.parametrize("repair", [True, False])
def test_without_repair_lost_messages_cost_deliveries(overlay: str, repair: bool) -> None:
    scenario = Scenario(
        overlay=overlay,
        params={} if repair else {"repair": False},
        workload=WorkloadSpec(nodes=60, topics=12, subscriptions_per_node="4"),
        faults=FaultSpec(loss=0.02),
        publish=PublishSpec(per_topic=2),
        run=RunSpec(warmup_ms=20_000),
    )
    params = build(find(overlay).Params, scenario.params, overlay)
    assert find(overlay).claims(params).total_delivery is repair
    assert (run_scenario(scenario, 1).result.metrics["hit_ratio"] == 1) is repair


def test_only_who_went_without_a_word_is_called() -> None:
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


def test_who_lost_us_is_introduced_again() -> None:
    vitis, outbox = node(Vitis)
    vitis._refresh_table(fresh(entries(n1="AB").values()))
    outbox.take()
    vitis.receive(NodeId(1), Goodbye(leaving=False))
    vitis.wake(Vitis.TIMER)
    told = [m.about for _, m in outbox.take() if isinstance(m, Profile) and m.about]
    assert [about.interest for about in told] == [TABLE.interest("AB")]


def test_who_lost_us_is_asked_for_relay_paths_again() -> None:
    """A relay that was started anew has no trees, and knows nobody who asks for one until it
    is introduced."""
    rvr, outbox = node(Rvr)
    near = min(range(1, 40), key=lambda n: distance(PLACE_OF_NODE[n], PLACE_OF_TOPIC["A"]))
    rvr._refresh_table(fresh([entry(near, "H")]))
    rvr.wake(Rvr.TIMER)
    outbox.clock.now += 1000
    rvr.receive(NodeId(near), profile(near, True, "H"))
    rvr.wake(Rvr.TIMER)
    outbox.take()
    outbox.clock.now += 1000
    rvr.receive(NodeId(near), Goodbye(leaving=False))
    rvr.wake(Rvr.TIMER)
    told = [type(m) for to, m in outbox.take() if to == near]
    assert Relay in told
    assert told.index(Profile) < told.index(Relay)


def test_what_was_told_once_and_lost_is_told_again() -> None:
    vitis, outbox = content()
    vitis._refresh_table(fresh(entries(n1="AB").values()))
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


def test_lost_messages_leave_nothing_wrong_behind() -> None:
    """Interests change while one message in ten is lost: a while later all is as if none
    had been."""
    size = 60
    changes = tuple(
        InterestChange(time_ms=10_000, node=n, topic=f"t{(n + i) % 12}", kind=kind)
        for n in range(size)
        for i, kind in enumerate(("unsubscribe", "subscribe"))
    )
    scenario = Scenario(
        overlay="vitis",
        workload=WorkloadSpec(nodes=size, topics=12, subscriptions_per_node="4"),
        faults=FaultSpec(loss=0.1),
        interests=changes,
        publish=PublishSpec(per_topic=0),
        run=RunSpec(warmup_ms=12_000, drain_ms=0),
    )
    simulation = Simulation(scenario, 5, find("vitis"))
    simulation.run()
    world = simulation.world
    assert world.faults is not None
    world.faults.set(FaultSpec())
    world.engine.run(12_000 + 2000 * WHOLE_EVERY, 10**9)
    overlays: list[Any] = [one.overlay for one in world.nodes]
    for overlay in overlays:
        for peer in overlay.peers.values():
            there = overlays[peer.node]
            assert peer.about.interest == there.interest
            for topic in peer.shared:
                assert peer.proposals[topic] == there.gateways.proposals[topic]


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
    assert (list(vitis._interested("A")), list(vitis._interested("C"))) == ([2], [2])
    vitis.receive(NodeId(2), profile(2, True, "BC", version=2))
    assert (list(vitis._interested("A")), list(vitis._interested("B"))) == ([], [2])
    vitis.receive(NodeId(2), profile(2, True, "A", version=1))
    assert list(vitis._interested("B")) == [2], "an old profile that comes late"
    vitis.subscribe("C")
    assert list(vitis._interested("C")) == [2]


def test_links_can_be_read_as_one_way() -> None:
    vitis, _ = content(one_way=True)
    vitis.receive(NodeId(2), profile(2, True, "AC"))
    assert list(vitis._targets("A")) == [], "it has chosen us, not we it"
    vitis._refresh_table(fresh(entries(n2="AC").values()))
    assert (list(vitis._targets("A")), list(vitis._targets("C"))) == ([2], [2])


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
