"""The ring, the safety net, and what parameters choose."""

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
from orbweaver.overlays.omen.labels import GONE_MAX, SILENT_PERIODS, TOLD_MS, ComponentLabels
from orbweaver.overlays.omen.messages import (
    Alive,
    ComponentLabel,
    HeldNeighbor,
    LinkRequest,
    Meet,
)
from orbweaver.overlays.omen.ring import IdentifierCircle
from orbweaver.overlays.omen.selection import ViewSelection
from orbweaver.overlays.omen.views import LocalViews, OwnLocal
from tests.gossip.fake_outbox import FakeOutbox, make_context
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


def test_a_root_is_fresh_once_its_news_has_come_twice_without_a_node_that_left() -> None:
    """7 told labels last at 100. One more may have passed through it and come by a longer way."""
    labels = ComponentLabels(5, period_ms=100)
    labels.step(["t", "mine"], [6, 7], now=0)
    labels.take(7, [ComponentLabel("t", 2, 1)], now=100)
    assert labels.fresh(7) == {"mine": 5}, "it is the root itself"
    labels.take(6, [ComponentLabel("t", 2, 2)], now=200)
    assert "t" not in labels.fresh(7)
    labels.take(6, [ComponentLabel("t", 2, 2)], now=250)
    assert "t" not in labels.fresh(7), "no news"
    labels.take(6, [ComponentLabel("t", 2, 3)], now=300)
    assert labels.fresh(7) == {"mine": 5, "t": 2}
    labels.take(6, [ComponentLabel("t", 1, 9)], now=400)
    assert labels.fresh(7) == {"mine": 5}, "another root, of which nothing came before"
    assert labels.fresh(8) == {}, "it was no neighbour"
    labels.take(6, [ComponentLabel("t", 1, 10)], now=500)
    assert labels.fresh(7) == {"mine": 5, "t": 1}
    labels.take(7, [], now=600)
    assert labels.fresh(7) == {"mine": 5}, "it lives"
    labels.step(["t", "mine"], [6], now=700 + TOLD_MS)
    assert labels.fresh(7) == {}, "too long ago"


def test_roots_that_fell_silent_are_remembered_in_bounds() -> None:
    labels = ComponentLabels(10**6, period_ms=1)
    for root in range(2 * GONE_MAX):
        labels.step(["t"], [], now=root * 100)
        labels.take(7, [ComponentLabel("t", root, 1)], now=root * 100)
    assert len(labels._gone) <= GONE_MAX


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
