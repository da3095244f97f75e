import pytest

from orbweaver.gossip.heartbeats import Heartbeats


@pytest.mark.parametrize(
    ("silence_ms", "suspected"), [(0, False), (999, False), (1000, False), (1001, True)]
)
def test_a_peer_is_suspected_after_more_than_the_timeout(silence_ms, suspected):
    beats = Heartbeats(timeout_ms=1000)
    beats.heard(1, now=500)
    assert beats.suspects([1], now=500 + silence_ms) == ([1] if suspected else [])


def test_only_the_silent_ones_among_those_asked_about_are_suspected():
    beats = Heartbeats(timeout_ms=100)
    for peer in (1, 2, 3):
        beats.heard(peer, now=0)
    beats.heard(2, now=150)
    assert beats.suspects([3, 2, 1], now=200) == [3, 1]
    assert beats.suspects([2, 1], now=200) == [1]


def test_whoever_was_never_heard_or_is_forgotten_is_not_suspected():
    beats = Heartbeats(timeout_ms=100)
    beats.heard(1, now=0)
    beats.forget(1)
    beats.forget(2)
    assert beats.suspects([1, 2], now=10_000) == []
