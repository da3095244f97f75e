"""What a peer may send, and how its score fades."""

import pytest

from orbweaver.net.gate import standing
from orbweaver.net.gate.standing import (
    ADDRESS_REFUSED,
    BURST_S,
    CUT_OFF,
    EFFORT,
    HALF_S,
    REFUSED,
    UPKEEP_BYTES,
    Fading,
    Standings,
)

HERE, THERE = "192.0.2.1", "192.0.2.2"
PER_S = 100.0


def test_a_sum_fades():
    fading = Fading(10.0)
    assert fading.value(5.0) == 0
    assert fading.add(8, 5.0) == 8
    assert fading.value(15.0) == pytest.approx(4)
    assert fading.add(1, 25.0) == pytest.approx(3)
    assert fading.value(35.0) == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("messages", "size", "seconds"),
    [
        (1000, 0, 0.0),
        (1, 1000 * UPKEEP_BYTES, 0.0),
        (1, 0, 1000 / PER_S * EFFORT),
    ],
)
def test_messages_count_by_number_by_size_or_by_time(messages, size, seconds):
    peer = Standings(PER_S, True).of(1, HERE, 0.0)
    burst = BURST_S * PER_S
    assert peer.charge(messages, size, seconds, 0.0) == pytest.approx((1000 - burst) / PER_S)


def test_a_peer_that_comes_again_finds_its_debt_and_its_score():
    standings = Standings(PER_S, True)
    first = standings.of(1, HERE, 0.0)
    first.charge(1000, 0, 0.0, 0.0)
    first.blame(5, 0.0)
    again = standings.of(1, THERE, 0.0)
    assert again.charge(0, 0, 0.0, 0.0) > 0
    assert again.score(0.0) == 5


def test_a_peer_is_cut_off_after_too_many_faults_and_refused_until_they_fade():
    standings = Standings(PER_S, True)
    peer = standings.of(1, HERE, 0.0)
    assert [peer.blame(1, n / 100) for n in range(CUT_OFF + 1)] == [False] * CUT_OFF + [True]
    assert standings.refuses(1, THERE, 1.0)
    assert not standings.refuses(2, HERE, 1.0)
    assert standings.refuses(1, None, HALF_S)
    assert not standings.refuses(1, None, 2 * HALF_S)
    assert REFUSED < CUT_OFF, "else a peer that was cut off would be back at once"


def test_faults_that_are_far_between_add_up_to_nothing():
    peer = Standings(PER_S, True).of(1, HERE, 0.0)
    assert not any(peer.blame(1, n * HALF_S) for n in range(1000))


def test_many_peers_at_one_address_are_counted_together():
    standings = Standings(PER_S, True)
    for node in range(ADDRESS_REFUSED):
        assert not standings.refuses(1000, HERE, 0.0)
        standings.of(node, HERE, 0.0).blame(1.01, 0.0)
    assert standings.refuses(1000, HERE, 0.0)
    assert not standings.refuses(1000, THERE, 0.0)
    assert not standings.refuses(1000, None, 0.0)
    assert not standings.refuses(1000, HERE, HALF_S)


def test_where_ids_are_certified_addresses_do_not_count():
    standings = Standings(PER_S, by_address=False)
    for node in range(ADDRESS_REFUSED):
        standings.of(node, HERE, 0.0).blame(1.01, 0.0)
    assert not standings.refuses(1000, HERE, 0.0)


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(standing, "KEPT_MAX", 3)
    standings = Standings(PER_S, True)
    for node in range(5):
        standings.of(node, f"192.0.2.{node}", 0.0).blame(60, 0.0)
        standings.of(0, "192.0.2.0", 0.0)  # in use, and therefore not forgotten
    assert [standings.refuses(node, None, 0.0) for node in range(5)] == [True, 0, 0, True, True]
    found = [standings.refuses(9, f"192.0.2.{node}", 0.0) for node in range(5)]
    assert found == [True, False, False, True, True]
