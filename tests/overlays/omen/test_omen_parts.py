"""The ring, the probes, the safety net, and what parameters choose."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

import pytest

from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message
from orbweaver.core.topics import TopicTable
from orbweaver.gossip.descriptor import Descriptor
from orbweaver.gossip.messages import Exchange, ExchangeReply
from orbweaver.overlays.omen import OMen, OMenParams
from orbweaver.overlays.omen.acquaintances import SIZE_MAX, Acquaintances
from orbweaver.overlays.omen.churn import ChurnEvent
from orbweaver.overlays.omen.components import (
    joined_by_hop,
    joined_by_probe,
    joined_in_truth,
    joined_inside,
)
from orbweaver.overlays.omen.coordinator import Coordinator
from orbweaver.overlays.omen.labels import GONE_MAX, SILENT_PERIODS, ComponentLabels
from orbweaver.overlays.omen.messages import (
    Alive,
    ComponentLabel,
    HeldNeighbor,
    LinkRequest,
    Meet,
    ProbeLabel,
    ShadowReport,
    Tie,
)
from orbweaver.overlays.omen.ring import IdentifierCircle
from orbweaver.overlays.omen.selection import ViewSelection
from orbweaver.overlays.omen.views import LocalView, LocalViews, OwnLocal
from tests.gossip.fake_outbox import FakeDirectory, FakeOutbox, make_context
from tests.overlays.overlay_net import OverlayNet

TABLE = TopicTable("ab")
PLACES = {node: node * 100 for node in range(20)}


def circle(me: int, others: Any, size: int = 3) -> IdentifierCircle:
    made = IdentifierCircle(me, size, PLACES)
    made.consider(others)
    return made


def test_the_ring_keeps_the_nearest_on_each_side() -> None:
    ring = circle(5, range(10))
    assert ring.successors == (6, 7, 8)
    assert ring.predecessors == (4, 3, 2)
    assert circle(0, range(10)).predecessors == (9, 8, 7)
    assert not ring.consider([1, 9]), "farther nodes change nothing"


def test_in_a_small_ring_a_node_is_successor_and_predecessor() -> None:
    ring = circle(5, [1, 9])
    assert ring.successors == (9, 1)
    assert ring.predecessors == (1, 9)


def test_the_coordinator_is_the_closest_live_successor() -> None:
    ring = circle(5, range(10))
    assert ring.coordinator_of(4) == 5
    assert ring.coordinator_of(3) == 4
    ring.drop(4)
    assert ring.coordinator_of(3) == 5
    assert [node for node in (3, 2, 1) if ring.in_pred_range(node, 2)] == [3, 2]


def test_news_of_a_node_that_left_counts_only_from_its_next_life() -> None:
    pool = Acquaintances(1, age_max_ms=1000)
    entry = Descriptor(2, TopicTable("a").interest("a"), 50)
    pool.take([entry], [0], now=0)
    pool.left(2)
    pool.take([entry], [0], now=1)
    assert 2 not in pool
    pool.take([Descriptor(2, entry.interest, 5000)], [0], now=1)
    assert 2 in pool


def test_acquaintances_are_forgotten_when_old_or_too_many() -> None:
    pool = Acquaintances(1, age_max_ms=1000)
    interest = TopicTable("a").interest("a")
    for node in range(2, 2 + 2 * SIZE_MAX):
        pool.take([Descriptor(node, interest, 0)], [0], now=node)
    pool.expire([], now=900)
    assert len(pool.known) == SIZE_MAX
    pool.expire([900], now=5000)
    assert set(pool.known) <= {900}


def test_labels_fall_to_the_least_id_and_rise_when_it_falls_silent() -> None:
    labels = ComponentLabels(5, period_ms=100)
    labels.step(["t"], [], now=0)
    assert labels.of(["t"]) == (ComponentLabel("t", 5, 0),)
    assert labels.take(7, [ComponentLabel("t", 2, 7)], now=10)
    assert not labels.take(7, [ComponentLabel("t", 3, 9)], now=20)
    assert labels.of(["t"]) == (ComponentLabel("t", 2, 7),)
    for now in range(100, 100 * SILENT_PERIODS, 100):
        labels.step(["t"], [], now)
    assert labels.of(["t"])[0].root == 2
    labels.step(["t"], [], now=20 + 100 * SILENT_PERIODS)
    assert labels.of(["t"])[0].root == 5
    assert not labels.take(7, [ComponentLabel("t", 2, 7)], now=600), "an echo of the root"
    assert labels.take(7, [ComponentLabel("t", 2, 8)], now=600), "the root itself"


def test_a_label_is_told_once_and_not_to_where_it_came_from() -> None:
    labels = ComponentLabels(5, period_ms=100)
    labels.step("ab", [6, 7], now=0)
    labels.take(6, [ComponentLabel("a", 2, 7)], now=0)
    mine = ComponentLabel("b", 5, 0)
    assert labels.news_for(6, "ab") == (mine,)
    assert labels.news_for(7, "ab") == (ComponentLabel("a", 2, 7), mine)
    assert labels.news_for(7, "ab") == ()
    labels.step("ab", [7], now=100)
    assert labels.news_for(7, "ab") == (ComponentLabel("b", 5, 100),), "its root has spoken again"
    labels.step("ab", [6, 7], now=100)
    assert len(labels.news_for(6, "ab")) == 2, "a neighbour that has come back"


def test_a_local_view_is_told_until_the_successor_holds_it() -> None:
    local, about = OwnLocal(), Descriptor(1, TABLE.interest("a"), 0)
    first = local.renew(0, about, (), now=10)
    assert local.lacking(first, [2, 3]) == [2, 3]
    local.held(2, first.number)
    assert local.renew(0, about, (), now=20) is first
    assert local.lacking(first, [2, 3]) == [3]
    second = local.renew(0, about, (HeldNeighbor(about, ()),), now=30)
    assert local.lacking(second, [2, 3]) == [2, 3]
    local.held(2, second.number)
    assert local.lacking(second, [3]) == [3]
    assert local.lacking(second, [2]) == [2], "what it held when it was no successor is forgotten"


def test_what_has_settled_is_not_told_again() -> None:
    """Each second one sign of life for each watched peer, one exchange, and nothing else."""
    net = OverlayNet(OMen, {node: "ab"[node % 2] + "c" for node in range(14)}).start().run(15_000)
    node, outbox = net.nodes[0], net.outboxes[0]
    sent: list[Message] = []
    send = outbox.send
    outbox.send = lambda to, message: (sent.append(message), send(to, message))[1]
    net.run(5 * node.params.heartbeat_ms)
    count = Counter(type(message) for message in sent)
    assert count[Alive] == 5 * len(node.watched())
    assert count[Exchange] == 5
    assert set(count) <= {Alive, Exchange, ExchangeReply, Meet}


def test_a_node_that_was_given_up_wrongly_says_what_it_holds_again() -> None:
    net = OverlayNet(OMen, dict.fromkeys(range(8), "a")).start().run(12_000)
    node = net.nodes[0]
    other = node.circle.predecessors[0]
    assert node.views.number_of(other)
    node.lost(other)
    assert not node.views.number_of(other)
    net.run(8000)
    assert node.views.number_of(other)
    assert node.repairs.churn.pending() == []


def test_only_a_label_that_has_stayed_tells_components_apart() -> None:
    labels = ComponentLabels(5, period_ms=100)
    labels.step(["t"], [], now=0)
    other = [ComponentLabel("t", 9, 1)]
    assert not labels.strange(other, now=100)
    assert labels.strange(other, now=200)
    assert labels.rooted(200) == ["t"]
    assert not labels.strange([ComponentLabel("t", 5, 1)], now=200)


def test_roots_that_fell_silent_are_remembered_in_bounds() -> None:
    labels = ComponentLabels(10**6, period_ms=1)
    for root in range(2 * GONE_MAX):
        labels.step(["t"], [], now=root * 100)
        labels.take(7, [ComponentLabel("t", root, 1)], now=root * 100)
    assert len(labels._gone) <= GONE_MAX


REPORTS = [
    (
        node,
        ShadowReport(
            1, 3, tuple(Tie(peer, TABLE.interest(topics)) for peer, topics in ties), labels
        ),
    )
    for node, ties, labels in [
        (2, [(9, "ab"), (3, "a")], (ProbeLabel("a", 2), ProbeLabel("b", 2))),
        (3, [(2, "a"), (8, "a")], (ProbeLabel("a", 2),)),
        (4, [(9, "b"), (8, "a")], (ProbeLabel("a", 4), ProbeLabel("b", 2))),
    ]
]
"""Of a shadow set 2, 3, 4 that wants ab, a, ab: what each one reports. 8 and 9 are others."""
INTERESTS = {2: 0b11, 3: 0b01, 4: 0b11}


def test_what_counts_as_connected() -> None:
    assert joined_by_probe(REPORTS, TABLE) == [(2, 3, 0b01), (2, 4, 0b10)]
    inside = [(2, 3, 0b01), (3, 2, 0b01)]
    assert joined_inside(REPORTS, INTERESTS) == inside
    assert joined_by_hop(REPORTS, INTERESTS, ()) == [*inside, (2, 4, 0b10), (3, 4, 0b01)]
    assert joined_by_hop(REPORTS, INTERESTS, {8}) == [*inside, (2, 4, 0b10)]


def test_the_oracle_knows_what_is_connected_over_any_number_of_links() -> None:
    """2-7-8-4 share b, but 7 does not want a. 3 is alone."""
    directory = FakeDirectory(TABLE, {2: "ab", 3: "a", 4: "ab", 7: "b", 8: "ab"})
    directory.links = {2: (7,), 7: (2, 8), 8: (7, 4), 4: (8,)}
    assert joined_in_truth(INTERESTS, 0b11, directory) == [(2, 4, 0b10)]
    assert joined_in_truth(INTERESTS, 0b01, directory) == []
    del directory.interests[8]
    assert joined_in_truth(INTERESTS, 0b11, directory) == []


@pytest.mark.parametrize("how", ["probe", "inside", "hop", "oracle"])
def test_a_node_that_reported_and_left_connects_nothing(how: str) -> None:
    """5 has the least label and is the common neighbour, but it left after it had reported.
    3 and 4 are still joined by their own link, and by the label they both saw."""
    directory = FakeDirectory(TABLE, dict.fromkeys([3, 4, 6], "a"))
    directory.links = {3: (4,), 4: (3,)}
    outbox = FakeOutbox()
    context = make_context(1, outbox, TABLE, directory)
    made = Coordinator(context, OMenParams(components=how), LocalViews(1, 1))
    view = LocalView(1)
    view.topics = 1
    view.neighbors = dict.fromkeys([3, 4, 5, 6], 1)
    made.begin(ChurnEvent(9, 0, "leave"), {9: view}, ())
    enlisted = dict(made.step(()))
    assert [*enlisted] == [3, 4, 5, 6]
    ties = {3: [4, 5], 4: [3, 5], 5: [3, 4, 6], 6: [5]}
    for node, message in enlisted.items():
        assert bool(message.starts) == (how == "probe" and node == 3)
        assert message.ties == (how in ("inside", "hop"))
        label = () if node == 6 else (ProbeLabel("a", 3),)
        told = tuple(Tie(peer, TABLE.interest("a")) for peer in ties[node])
        made.on_report(node, ShadowReport(message.number, 3, told, label))
    assert made.step((5,)) == []
    outbox.clock.now += 1000
    if how == "probe":
        [(unreached, message)] = made.step((5,))
        assert (unreached, message.starts.mask) == (6, 0b01)
        made.on_report(6, ShadowReport(message.number, 3, (), (ProbeLabel("a", 6),)))
        outbox.clock.now += 1000
    edges = {tuple(sorted((to, peer))) for to, mend in made.step((5,)) for peer in mend.peers}
    assert len(edges) == 1, "6 alone has to be joined to the others"
    assert 6 in min(edges)


def test_a_join_enlists_only_nodes_that_want_what_is_lacking() -> None:
    views = LocalViews(1, 1)
    views.keep([9], ())
    views.of[9].topics = 0b11
    views.of[9].backups = {3: 0b01, 4: 0b11, 5: 0b10}
    for lacks, gone, shadow in [(0b10, (), [9, 4, 5]), (0b10, (4, 5), []), (0b100, (), [])]:
        made = Coordinator(make_context(1, FakeOutbox(), TABLE), OMenParams(), views)
        made.begin_join(ChurnEvent(9, 0, "join"), lacks, gone)
        assert [to for to, _ in made.step(gone)] == shadow
        assert bool(made.finished()) == (not shadow), "done, if nobody can help"


def test_nodes_that_join_at_once_do_not_vouch_for_each_other() -> None:
    """9 joins in a. 5 does too: it has no neighbour there but 9. 3 and 4 are there already."""
    views = LocalViews(1, 1)
    views.keep([9], ())
    views.of[9].topics = 0b01
    views.of[9].backups = {5: 0b01, 3: 0b01, 4: 0b01}
    outbox = FakeOutbox()
    made = Coordinator(make_context(1, outbox, TABLE), OMenParams(), views)
    made.begin_join(ChurnEvent(9, 0, "join"), 0b01, ())
    ties = {9: [5], 5: [9], 3: [8], 4: [7]}
    for node, enlist in made.step(()):
        assert enlist.ties
        told = tuple(Tie(peer, TABLE.interest("a")) for peer in ties[node])
        made.on_report(node, ShadowReport(enlist.number, 1, told, ()))
    outbox.clock.now += OMenParams().quiet_ms
    edges = {tuple(sorted((to, peer))) for to, mend in made.step(()) for peer in mend.peers}
    assert edges in ({(3, 9)}, {(4, 9)}), "5 sees to itself"


def test_a_longer_chain_is_probed_in_all_its_topics() -> None:
    """9 leaves, and 8 next to it, which only falls silent. 3 and 4 are connected by others in both
    topics, of which only 8 had the second one. As its neighbour, 3 has to start a probe there."""
    outbox = FakeOutbox()
    made = Coordinator(make_context(1, outbox, TABLE), OMenParams(), LocalViews(1, 1))
    views = {9: LocalView(1), 8: LocalView(1)}
    views[9].topics, views[9].neighbors, views[9].backups = 0b01, {3: 0b11, 8: 0b11}, {4: 0b11}
    views[8].topics, views[8].neighbors = 0b11, {3: 0b11, 4: 0b11, 9: 0b01}
    made.begin(ChurnEvent(9, 0, "leave"), views, ())
    first = dict(made.step(()))
    assert {n: one.starts.mask for n, one in first.items()} == {3: 0b01, 8: 0, 4: 0}
    labels = (ProbeLabel("a", 3),)
    for node in (3, 4):
        made.on_report(node, ShadowReport(first[node].number, 3, (), labels))
    outbox.clock.now += OMenParams().repair_ms
    longer = dict(made.step(()))
    assert {node: enlist.starts.mask for node, enlist in longer.items()} == {3: 0b10}
    outbox.clock.now += OMenParams().quiet_ms
    assert made.step(()) == [], "a new report is awaited"
    for node in (3, 4):
        told = (*labels, ProbeLabel("b", 3))
        made.on_report(node, ShadowReport(longer[3].number, 3, (), told))
    outbox.clock.now += OMenParams().quiet_ms
    assert made.step(()) == [], "nothing is cut"
    assert made.finished()


def test_neighbours_that_a_probe_does_not_reach_start_another_one() -> None:
    """9 held 3, 4 and 5 together in a, and 3 and 6 in b. 4 starts a probe, because it wants both
    topics, and does not reach 5. All of 3, 4 and 6 are still connected."""
    outbox = FakeOutbox()
    made = Coordinator(make_context(1, outbox, TABLE), OMenParams(), LocalViews(1, 1))
    view = LocalView(1)
    view.topics, view.neighbors = 0b11, {3: 0b01, 4: 0b11, 5: 0b01, 6: 0b10}
    made.begin(ChurnEvent(9, 0, "leave"), {9: view}, ())
    first = dict(made.step(()))
    assert {n: one.starts.mask for n, one in first.items()} == {3: 0, 4: 0b11, 5: 0, 6: 0}
    number = first[4].number
    for node, topics in ((3, "a"), (4, "ab"), (5, ""), (6, "b")):
        labels = tuple(ProbeLabel(topic, 4) for topic in topics)
        made.on_report(node, ShadowReport(number, 1, (), labels))
    outbox.clock.now += OMenParams().quiet_ms
    second = made.step(())
    assert [(node, one.starts.mask) for node, one in second] == [(5, 0b01)]
    outbox.clock.now += OMenParams().quiet_ms
    assert made.step(()) == [], "its report is awaited"
    made.on_report(5, ShadowReport(number, 1, (), (ProbeLabel("a", 5),)))
    outbox.clock.now += OMenParams().quiet_ms
    mends = {to: mend.peers for to, mend in made.step(())}
    assert 5 in mends
    assert len(mends) == 2


def test_backups_that_cover_all_they_can_are_kept() -> None:
    """Topic b has one other subscriber, so it is never covered five times, also not by the node
    itself, which is known like any other."""
    pool = Acquaintances(1, 60_000)
    known = [Descriptor(n, TABLE.interest("a" if n > 3 else "ab"), 0) for n in range(2, 19)]
    pool.take(known, [0] * len(known), 0)
    views = LocalViews(1, 1)
    views.keep([2], ())
    selection = ViewSelection(make_context(1, FakeOutbox(), TABLE), OMenParams())
    chosen = []
    for _ in range(9):
        selection.select_view(views, (1, 0b01), pool, ())
        chosen.append([*views.of[2].backups])
    assert 3 in chosen[0]
    assert chosen == [chosen[0]] * 9


def test_components_by_an_oracle_need_one() -> None:
    with pytest.raises(UsageError, match="set components=probe"):
        OMen(make_context(1, FakeOutbox(), TopicTable()), OMenParams(components="oracle"))


def test_a_start_from_given_links() -> None:
    """A plan's links are the links from the start, and topics stay connected by them."""
    net = OverlayNet(OMen, dict.fromkeys(range(6), "a"), contacts_are_links=True)
    plan = {(n, n + 1) for n in range(5)}
    for node, overlay in net.nodes.items():
        overlay.start([b if a == node else a for a, b in sorted(plan) if node in (a, b)])
    net.run(6000)
    assert net.links() == plan


def test_a_node_that_comes_back_does_not_take_up_the_plan_again() -> None:
    kept = b""
    for asked in ([2, 3], []):
        outbox = FakeOutbox()
        context = dataclasses.replace(make_context(1, outbox, TABLE), kept=kept)
        OMen(context, OMenParams(contacts_are_links=True)).start([NodeId(2), NodeId(3)])
        assert [to for to, message in outbox.sent if type(message) is LinkRequest] == asked
        kept = outbox.kept


@pytest.mark.parametrize("omen_g", ["candidates", "shadow"])
def test_omen_g_knows_all_nodes(omen_g: str) -> None:
    interests = {node: "ab"[node % 2] for node in range(12)}
    net = OverlayNet(OMen, interests, omen_g=omen_g, coverage=1).start().run(8000)
    node = net.nodes[0]
    assert {n for n, _ in node.selection.candidates(node.pool)} == set(range(1, 12))
    for of, view in node.views.of.items():
        sharing = {n for n in interests if interests[n] == interests[of] and n != of}
        size = len(sharing) if omen_g == "shadow" else 1
        assert len(view.backups) == size
        assert set(view.backups) <= sharing


def test_omen_g_needs_an_oracle() -> None:
    with pytest.raises(UsageError, match="set omen_g=no"):
        OMen(make_context(1, FakeOutbox(), TopicTable()), OMenParams(omen_g="shadow"))
