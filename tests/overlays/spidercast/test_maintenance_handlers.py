"""The message and event handlers of SpiderCast's Figure 4, one situation each."""

import pytest

from orbweaver.overlays.spidercast.messages import (
    Connect,
    ConnectOk,
    Disconnect,
    DisconnectOk,
    Leave,
    Redirect,
    TaskState,
)
from tests.overlays.spidercast.naive_task import (
    COVERING,
    NEEDED,
    NUMBER,
    TABLE,
    TIMEOUT,
    Task,
    connect,
    connect_ok,
)

OWN = TABLE.interest("ab")


def crowd(size, degree=9, target=3, topics="ab"):
    """Neighbours 1, 2, ... The usual ones are far above target + margin."""
    return dict.fromkeys(range(1, size + 1), (degree, target, topics))


# -- lines 1-9: CONNECT


@pytest.mark.parametrize(("size", "accepted"), [(0, True), (3, True), (4, False), (5, False)])
def test_connect_is_accepted_below_the_limit_plus_margin(size, accepted):
    task = Task(crowd(size), margin=2)  # L^max + Margin = 4
    [(to, answer)] = task.sends(task.on_connect, 9, connect("bc", degree=6, target=7))
    assert to == 9
    assert (9 in task.neighbors) == accepted
    if accepted:
        assert answer == ConnectOk(NUMBER, size + 1, 0, OWN)
        new = task.neighbors[9]
        assert (new.degree, new.target, new.interest) == (6, 7, TABLE.interest("bc"))
        assert task.changes == [9]
    else:
        assert isinstance(answer, Redirect)
        assert task.changes == []


def test_a_neighbour_that_asks_again_is_accepted_even_when_full():
    task = Task(crowd(4), margin=2)
    [(_, answer)] = task.sends(task.on_connect, 2, connect("b", degree=1, target=2))
    assert answer == ConnectOk(NUMBER, 4, 0, OWN)
    assert task.neighbors[2].degree == 1


RISES = pytest.mark.parametrize(
    ("size", "before", "after"),
    [
        # L^max = 4, Margin = 2; `size` is the number of neighbours before the new one.
        (0, 0, 1),  # L < L^max and 1 < L + Margin
        (1, 0, 0),  # 2 neighbours, as many as L + Margin
        (2, 2, 3),
        (3, 2, 2),
        (3, 3, 4),
        (3, 4, 4),  # L has reached L^max
    ],
)


@RISES
def test_connect_raises_the_target_after_the_answer(size, before, after):
    task = Task(crowd(size), own="abcd", margin=2, L=before)
    [(_, answer)] = task.sends(task.on_connect, 9, connect())
    assert answer.target == before
    assert task.target == after


@RISES
def test_connect_ok_raises_the_target_in_the_same_way(size, before, after):
    task = Task(crowd(size), own="abcd", margin=2, L=before)
    task.on_connect_ok(9, connect_ok())
    assert task.target == after


def redirected(neighbors, topics="ab", seed=0):
    task = Task(neighbors, margin=2, seed=seed)
    [(to, answer)] = task.sends(task.on_connect, 9, connect(topics))
    assert to == 9
    assert 9 not in task.neighbors
    assert isinstance(answer, Redirect)
    return answer


def test_a_full_node_redirects_to_the_neighbour_that_shares_most():
    neighbors = {1: (3, 3, "a"), 2: (3, 3, "bc"), 3: (3, 3, "c"), 4: (3, 3, "abd")}
    assert redirected(neighbors, "abc").peer in (2, 4)
    assert redirected(neighbors, "bc") == Redirect(NUMBER, 2, TABLE.interest("bc"))
    assert redirected(neighbors, "d") == Redirect(NUMBER, 4, TABLE.interest("abd"))


@pytest.mark.parametrize(("degree", "peer"), [(4, 4), (5, 1), (6, 1)])
def test_a_redirect_goes_only_below_target_plus_margin(degree, peer):
    neighbors = {**crowd(4), 1: (4, 3, "a"), 4: (degree, 3, "ab")}
    assert redirected(neighbors).peer == peer


def test_a_redirect_may_share_nothing_but_is_never_to_an_overfull_node():
    assert redirected({**crowd(4), 3: (1, 3, "d")}).peer == 3
    assert redirected(crowd(4)) == Redirect(NUMBER, None, None)


def test_ties_between_redirects_are_broken_by_chance():
    neighbors = {**crowd(4), 1: (1, 3, "ab"), 2: (1, 3, "ab")}
    assert {redirected(neighbors, seed=seed).peer for seed in range(20)} == {1, 2}


# -- lines 10-20: REDIRECT, CONNECT-OK


def test_a_redirect_is_only_noted():
    task = Task()
    assert task.sends(task.on_redirect, 8, Redirect(NUMBER, 5, OWN)) == []
    assert task.changes == []
    assert task.neighbors == {}


@pytest.mark.parametrize(("size", "accepted"), [(3, True), (4, False)])
def test_connect_ok_is_answered_with_leave_when_full(size, accepted):
    task = Task(crowd(size), margin=2)
    sent = task.sends(task.on_connect_ok, 9, connect_ok("b", degree=6, target=7))
    assert sent == ([] if accepted else [(9, Leave(NUMBER))])
    assert (9 in task.neighbors) == accepted
    if accepted:
        assert (task.neighbors[9].degree, task.neighbors[9].target) == (6, 7)


# -- lines 21-28: DISCONNECT


@pytest.mark.parametrize(
    ("neighbors", "before", "accepted", "after"),
    [
        (COVERING, 2, True, 1),  # still covered: L follows the degree
        (COVERING, 1, True, 1),
        (NEEDED, 2, False, 2),  # needed, and not above L
        (NEEDED, 1, True, 1),  # needed, but above L: L stays
        (NEEDED, 3, False, 3),
    ],
)
def test_disconnect_is_accepted_if_not_needed_or_above_target(neighbors, before, accepted, after):
    task = Task(neighbors, L=before)
    sent = task.sends(task.on_disconnect, 1, Disconnect(NUMBER))
    assert sent == ([(1, DisconnectOk(NUMBER))] if accepted else [])
    assert (1 not in task.neighbors) == accepted
    assert task.changes == ([1] if accepted else [])
    assert task.target == after


def test_a_stranger_that_disconnects_is_told_that_there_is_no_link():
    task = Task(COVERING)
    assert task.sends(task.on_disconnect, 7, Disconnect(NUMBER)) == [(7, DisconnectOk(NUMBER))]
    assert len(task.neighbors) == 2


# -- lines 34-38: REMOVECONNECTION


@pytest.mark.parametrize(
    ("neighbors", "target", "wakes"),
    [
        (COVERING, 1, False),  # still covered, and at L
        (COVERING, 2, True),  # below L
        (NEEDED, 0, True),  # no longer covered
    ],
)
def test_losing_a_link_wakes_the_task_if_it_now_lacks_something(neighbors, target, wakes):
    task = Task(neighbors, L=target)
    task.remove_connection(1)
    assert list(task.neighbors) == [2]
    assert task.changes == [1]
    assert task.runs_in() == (0 if wakes else None)


def test_losing_a_link_that_was_not_there_changes_nothing():
    task = Task(NEEDED, L=2)
    task.remove_connection(7)
    assert (task.changes, task.runs_in(), len(task.neighbors)) == ([], None, 2)


def test_a_task_that_is_off_accepts_links_and_loses_them_without_waking():
    task = Task(k=0, margin=1)
    assert [type(m) for _, m in task.sends(task.on_connect, 1, connect())] == [ConnectOk]
    assert [type(m) for _, m in task.sends(task.on_connect, 2, connect())] == [Redirect]
    task.remove_connection(1)
    assert task.neighbors == {}
    assert task.runs_in() is None


def test_leaving_drops_every_link_and_stops_the_task():
    task = Task(COVERING)
    task.wake_up()
    task.leave()
    assert (task.neighbors, task.changes, task.runs_in()) == ({}, [1, 2], None)


# -- heartbeats (Sec. 2.3.1 and 2.4)


def asleep(neighbors):
    task = Task(neighbors)
    task.aim.view = [9]
    assert task.round() == []
    assert task.runs_in() is None
    return task


@pytest.mark.parametrize(
    ("state", "topics", "wakes", "relinks"),
    [
        (TaskState(3, 3), None, False, False),
        (TaskState(3, 3), "a", False, False),
        (TaskState(4, 3), None, True, False),
        (TaskState(3, 2), None, True, False),
        (TaskState(3, 3), "c", True, True),
        (TaskState(4, 4), "c", True, True),
    ],
)
def test_a_sleeping_task_reconsiders_when_a_neighbour_has_changed(state, topics, wakes, relinks):
    task = asleep(NEEDED)
    task.on_heartbeat(1, state, TABLE.interest(topics) if topics else None)
    neighbor = task.neighbors[1]
    assert (neighbor.degree, neighbor.target) == (state.degree, state.target)
    assert neighbor.interest == TABLE.interest(topics or "a")
    assert task.runs_in() == (TIMEOUT if wakes else None)
    assert task.changes == ([1] if relinks else [])


def test_later_changes_do_not_put_off_the_reconsideration():
    task = asleep(NEEDED)
    task.on_heartbeat(1, TaskState(4, 3), None)
    task.outbox.clock.now = 60
    task.on_heartbeat(1, TaskState(5, 3), None)
    assert task.runs_in() == TIMEOUT - 60
    task.wake_up()
    task.on_heartbeat(1, TaskState(6, 3), None)
    assert task.runs_in() == 0


def test_a_heartbeat_from_a_stranger_says_nothing_to_the_task():
    task = asleep(NEEDED)
    task.on_heartbeat(7, TaskState(1, 1), OWN)
    assert (list(task.neighbors), task.runs_in()) == ([1, 2], None)


def test_a_sleeping_task_covers_again_what_a_neighbour_gave_up():
    task = asleep({1: (3, 3, "ab")})
    task.on_heartbeat(1, TaskState(3, 3), TABLE.interest("b"))
    assert task.round() == [(9, Connect)]


def test_a_new_link_makes_a_sleeping_task_reconsider_but_not_at_once():
    task = asleep({1: (3, 3, "ab")})
    task.on_connect(2, connect("ab", degree=5, target=4))
    assert task.runs_in() == TIMEOUT
    task.outbox.take()
    assert task.round() in ([(1, Disconnect)], [(2, Disconnect)])
