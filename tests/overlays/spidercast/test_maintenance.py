"""The routines of SpiderCast's Figures 2 and 3, one situation each."""

import pytest

from orbweaver.overlays.spidercast.messages import Connect, Disconnect, Redirect, TaskState
from tests.overlays.spidercast.naive_task import (
    COVERING,
    ME,
    NEEDED,
    NUMBER,
    QUARANTINE,
    TABLE,
    TIMEOUT,
    Task,
    connect,
)

# -- Fig. 2: MAINTAINNEIGHBORS and CONNECT


def test_start_waits_for_a_random_part_of_the_period():
    phases = set()
    for seed in range(50):
        task = Task(seed=seed)
        task.start()
        phases.add(task.runs_in())
    assert len(phases) > 20
    assert phases <= set(range(1, TIMEOUT + 1))


def test_a_task_that_lacks_coverage_asks_the_next_node():
    task = Task({1: (3, 3, "a")})
    task.aim.view = [ME, 1, 7]
    sent = task.sends(task.maintain_neighbors)
    assert sent == [(7, Connect(NUMBER, 1, 2, TABLE.interest("ab")))]
    assert (task.target, task.covered) == (2, False)


@pytest.mark.parametrize(
    ("neighbors", "k", "sent", "target", "runs_in"),
    [
        ({}, 1, [Connect], 2, TIMEOUT),
        ({1: (3, 3, "a"), 2: (3, 3, "a")}, 1, [], 2, TIMEOUT),  # gap = 0: wait for a change
        (dict.fromkeys((1, 2, 3), (3, 3, "a")), 1, [Disconnect], 2, TIMEOUT),  # gap < 0
        (NEEDED, 1, [], 2, None),  # covered, nothing to shed: sleep
        ({1: (3, 3, "ab")}, 1, [], 1, None),  # L = |neighbors| < L^max
        (COVERING, 1, [Disconnect], 2, TIMEOUT),  # over-covered
        (dict.fromkeys((1, 2, 3), (3, 3, "ab")), 1, [Disconnect], 2, TIMEOUT),  # L <= L^max
        ({}, 0, [], 0, None),  # K = 0 switches the task off
    ],
)
def test_one_round_connects_disconnects_or_waits(neighbors, k, sent, target, runs_in):
    task = Task(neighbors, k=k)
    task.aim.view = [9]
    done = task.round()
    assert [kind for _, kind in done] == sent
    assert (task.target, task.runs_in()) == (target, runs_in)
    assert task.state() == TaskState(len(neighbors), target)


def test_with_no_node_to_ask_it_tries_again_later():
    task = Task()
    assert task.round() == []
    assert task.runs_in() == TIMEOUT


def test_redirects_are_followed_first_and_once():
    task = Task()
    task.aim.view = [9]
    for peer in (5, 4):
        task.on_redirect(8, Redirect(NUMBER, peer, TABLE.interest("a")))
    assert [task.round() for _ in range(3)] == [[(p, Connect)] for p in (5, 4, 9)]


@pytest.mark.parametrize("peer", [None, ME, 1], ids=["no node", "this node", "a neighbour"])
def test_a_redirect_to_no_new_node_is_ignored(peer):
    task = Task({1: (3, 3, "a")})
    task.aim.view = [9]
    task.on_redirect(8, Redirect(NUMBER, peer, None))
    assert task.round() == [(9, Connect)]


def test_a_peer_that_was_asked_is_in_quarantine_for_a_while():
    task = Task()
    task.aim.view = [9]
    assert task.round() == [(9, Connect)]
    for now, sent, asked in [
        (QUARANTINE - 1, [], True),
        (QUARANTINE, [(9, Connect)], False),
        (QUARANTINE + 1, [], True),
    ]:
        task.outbox.clock.now = now
        assert task.was_asked(9) == asked
        assert task.round() == sent
    assert not task.was_asked(8)


# -- Fig. 2, DISCONNECT, and Fig. 3, DISCONNECTCANDIDATE


@pytest.mark.parametrize(
    ("shed_at", "below", "at", "above"),
    [("reached", False, True, True), ("exceeded", False, False, True), ("never",) + (False,) * 3],
)
def test_only_a_neighbour_that_can_spare_the_link_is_asked(shed_at, below, at, above):
    for degree, asked in [(2, below), (3, at), (4, above)]:
        task = Task({1: (1, 9, "ab"), 2: (degree, 3, "ab")}, shed_at=shed_at)
        assert task.round() == ([(2, Disconnect)] if asked else [])


@pytest.mark.parametrize("seed", range(10))
def test_of_the_candidates_one_that_covers_least_is_asked(seed):
    # Without 1 or 2 a topic would be uncovered; 4 covers as little as 3, but has no link
    # to spare.
    neighbors = {1: (3, 3, "a"), 2: (3, 3, "b"), 3: (3, 3, "c"), 4: (1, 3, "c")}
    assert Task(neighbors, seed=seed).round() == [(3, Disconnect)]


def test_ties_between_candidates_are_broken_by_chance():
    asked = {Task(COVERING, seed=seed).round()[0][0] for seed in range(20)}
    assert asked == {1, 2}


def test_above_the_limit_a_needed_neighbour_is_asked_too():
    neighbors = {1: (3, 3, "a"), 2: (1, 3, "b"), 3: (1, 3, "b")}
    assert Task(neighbors).round() == [(1, Disconnect)]
    del neighbors[3]
    assert Task(neighbors).round() == []


def test_a_neighbour_that_refused_is_asked_again_only_when_its_degree_has_grown():
    task = Task({1: (3, 3, "ab"), 2: (1, 9, "ab")})
    asked = []
    for degree in (3, 3, 2, 3, 4, 4, 5):
        task.on_heartbeat(1, TaskState(degree, 2), None)
        asked.append(bool(task.round()))
    assert asked == [True, False, False, False, True, False, True]


def test_a_refusal_is_forgotten_with_the_link():
    task = Task({1: (3, 3, "ab"), 2: (1, 9, "ab")})
    assert task.round() == [(1, Disconnect)]
    task.remove_connection(1)
    task.on_connect(1, connect(degree=3, target=3))
    task.outbox.take()
    assert task.round() == [(1, Disconnect)]
