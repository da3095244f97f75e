"""Algorithms 5 and 6, and the chaining of events of neighbours."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orbweaver.overlays.omen.churn import (
    ASK_CYCLES,
    HANDLED_MAX,
    WAITING_MAX,
    ChurnEvent,
    ChurnHandling,
    JoinRequests,
    shadow_of,
)
from orbweaver.overlays.omen.repair import repair_tco_on_churn
from orbweaver.overlays.omen.views import LocalView, LocalViews

ME, V1, V2 = 10, 9, 8
LEFT1, LEFT2 = ChurnEvent(V1, 1, "leave"), ChurnEvent(V2, 1, "leave")


def test_the_coordinator_queues_and_the_others_stand_by() -> None:
    handling = ChurnHandling(standby_ms=100)
    assert handling.handle_churn_event(LEFT1, ME, ME, now=0)
    assert handling.handle_churn_event(LEFT2, V1, ME, now=0)
    assert list(handling.exe_queue) == [LEFT1]
    assert list(handling.standby) == [LEFT2]
    assert not handling.handle_churn_event(LEFT1, ME, ME, now=1), "known already"


def test_who_takes_over_from_a_coordinator_handles_its_events() -> None:
    """Alg. 5, lines 3 and 4: V1 was to handle the event of V2 and has left itself."""
    handling = ChurnHandling(standby_ms=100)
    handling.handle_churn_event(LEFT2, V1, ME, now=0)
    handling.handle_churn_event(LEFT1, ME, ME, now=5)
    assert {*handling.exe_queue} == {LEFT1, LEFT2}
    assert not handling.standby


def test_events_are_handled_oldest_first_and_wait_until_ready() -> None:
    handling = ChurnHandling(standby_ms=100)
    handling.handle_churn_event(LEFT2, ME, ME, now=0)
    handling.handle_churn_event(LEFT1, ME, ME, now=1)
    assert handling.next_event(2, in_range=[V1, V2], ready=[V1]) is None, "one after another"
    assert handling.next_event(3, in_range=[V1, V2], ready=[V1, V2]) == LEFT2
    assert handling.next_event(3, in_range=[V1, V2], ready=[V1, V2]) == LEFT1
    assert handling.next_event(3, in_range=[V1, V2], ready=[V1, V2]) is None


def test_an_event_that_is_out_of_range_goes_back_to_standby() -> None:
    handling = ChurnHandling(standby_ms=100)
    handling.handle_churn_event(LEFT1, ME, ME, now=0)
    assert handling.next_event(1, in_range=[], ready=[V1]) is None
    assert not handling.exe_queue
    handling.process_standby(50, in_range=[V1])
    assert LEFT1 in handling.standby, "its timer has not ended"
    handling.process_standby(101, in_range=[V1])
    assert LEFT1 in handling.exe_queue


def test_a_notification_ends_an_event_for_good() -> None:
    handling = ChurnHandling(standby_ms=100)
    handling.handle_churn_event(LEFT1, V2, ME, now=0)
    handling.gc_churn_event(LEFT1)
    handling.process_standby(1000, in_range=[V1])
    assert not handling.pending()
    assert not handling.handle_churn_event(LEFT1, ME, ME, now=2000)
    assert handling.handle_churn_event(LEFT1._replace(incarnation=2), ME, ME, now=2000)


def test_a_node_that_was_suspected_wrongly_can_leave_later() -> None:
    handling = ChurnHandling(standby_ms=100)
    handling.handle_churn_event(LEFT1, ME, ME, now=0)
    handling.lives(V1, LEFT1.incarnation)
    assert not handling.pending()
    handling.gc_churn_event(LEFT1)
    handling.lives(V1, LEFT1.incarnation)
    assert handling.handle_churn_event(LEFT1, ME, ME, now=5)


def test_a_node_that_may_be_alone_with_its_topics_asks_ever_more_rarely() -> None:
    requests = JoinRequests()
    assert not requests.due(0, 0)
    cycles = [cycle for cycle in range(200) if requests.due(0b1, 0b1)]
    assert cycles == [*range(0, 30, 3), *range(30, 200, 30)]
    assert requests.due(0b11, 0b11), "another topic lacks a neighbour"
    assert not requests.due(0b11, 0b11)
    assert not requests.due(0b11, 0)


def test_a_node_that_loses_a_neighbour_leaves_its_coordinator_time() -> None:
    requests = JoinRequests()
    assert not requests.due(0b11, 0)
    asked = [cycle for cycle in range(2 * ASK_CYCLES) if requests.due(0b11, 0b10)]
    assert asked == [ASK_CYCLES]
    assert not requests.due(0b11, 0)
    assert requests.due(0b111, 0b100), "a topic of which it had no neighbour to lose"


def test_notices_without_end_are_not_kept() -> None:
    handling = ChurnHandling(standby_ms=100)
    for node in range(3 * WAITING_MAX):
        handling.handle_churn_event(ChurnEvent(node, 0, "leave"), ME, ME, now=0)
    assert len(handling.pending()) == WAITING_MAX
    for node in range(3 * HANDLED_MAX):
        handling.gc_churn_event(ChurnEvent(node, 0, "leave"))
    assert len(handling._handled) == HANDLED_MAX


@given(st.lists(st.integers(0, 30)), st.lists(st.integers(0, 30)), st.integers(1, 4))
def test_views_are_kept_of_2l_nodes_at_most(preds: list, pending: list, resilience: int) -> None:
    """Claim O13."""
    views = LocalViews(resilience, rounds=3)
    views.keep(preds, pending)
    assert len(views.of) <= 2 * resilience
    assert {*views.of} <= {*preds, *pending}
    before = dict(views.of)
    views.keep(preds[:resilience], pending)
    assert all(view is before[node] for node, view in views.of.items() if node in before)


def view(topics: int, neighbors: list[int], backups: list[int]) -> LocalView:
    made = LocalView(rounds=3)
    made.topics = topics
    made.neighbors = dict.fromkeys(neighbors, 1)
    made.backups = dict.fromkeys(backups, 1)
    return made


def test_neighbours_that_leave_together_do_not_cut_a_topic() -> None:
    """The path a1-a2-v1-v2-b1-b2 with B(v1) = {a1} and B(v2) = {b2}."""
    a1, a2, v1, v2, b1, b2 = range(6)
    views = {v1: view(1, [a2, v2], [a1]), v2: view(1, [v1, b1], [b2])}
    still = [(a1, a2, 1), (b1, b2, 1)]

    alone = [  # as printed: each event by itself
        edge
        for node in (v1, v2)
        for edge in repair_tco_on_churn(
            dict.fromkeys(shadow_of(node, {node: views[node]}, {v1, v2}).interests(), 1),
            1, still, {}, 3,
        )
    ]  # fmt: skip
    assert alone == []

    for node in (v1, v2):
        shadow = shadow_of(node, views, {v1, v2})
        assert {*shadow.dead} == {v1, v2}
        assert {*shadow.interests()} == {a1, a2, b1, b2}
        edges = repair_tco_on_churn(shadow.interests(), shadow.topics, still, {}, 3)
        assert len(edges) == 1
        assert len({*edges[0]} & {a1, a2}) == 1


def test_a_chain_unites_topics_and_says_what_it_does_not_know() -> None:
    views = {1: view(0b01, [2, 5], [6, 2]), 2: view(0b10, [1, 3], [7])}
    shadow = shadow_of(1, views, {1, 2, 3})
    assert shadow.dead == (1, 2, 3)
    assert shadow.topics == 0b11
    assert {*shadow.neighbors} == {5}
    assert {*shadow.backups} == {6, 7}
    assert shadow.unknown == (3,)


def test_dead_backups_alone_do_not_lengthen_a_chain() -> None:
    shadow = shadow_of(1, {1: view(1, [5], [2]), 2: view(1, [6], [])}, {1, 2})
    assert shadow.dead == (1,)
    assert {*shadow.interests()} == {5}
