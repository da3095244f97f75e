"""Sec. 3.3.1: the adaptive setting of K_r."""

import pytest

from orbweaver.overlays.spidercast import SpiderCast
from orbweaver.overlays.spidercast.adaptive import KR_MAX, next_kr
from tests.overlays.overlay_net import OverlayNet


@pytest.mark.parametrize(
    ("kr", "degree", "subscriptions", "expected"),
    [
        (0, 3, 10, 1),  # covered by exactly K_g neighbours: interests are too alike
        (0, 3, 2, 1),  # whatever the number of subscriptions
        (0, 4, 10, 0),
        (0, 2, 10, 0),
        (1, 6, 10, 2),  # fewer links than subscriptions: go on
        (2, 9, 10, 3),
        (1, 10, 10, 1),  # as many links as subscriptions: enough
        (2, 11, 10, 2),
        (3, 4, 10, 3),  # three random links are enough for any graph
        (5, 4, 10, 5),
    ],
)
def test_kr_grows_while_links_are_fewer_than_subscriptions(kr, degree, subscriptions, expected):
    assert next_kr(kr, 3, degree, subscriptions) == expected


def crowd(**params):
    """Ten nodes of equal interests: K_g neighbours cover everything."""
    interests = dict.fromkeys(range(10), "abcdef")
    return OverlayNet(SpiderCast, interests, kg=1, margin=1, **params).start().run(20_000)


def random_coverage(net):
    return {node: overlay.random.k for node, overlay in net.nodes.items()}


def test_nodes_of_equal_interests_add_random_coverage_up_to_three():
    grown = random_coverage(crowd(adaptive=True))
    assert max(grown.values()) <= KR_MAX
    assert max(grown.values()) > 0


def test_without_the_option_kr_stays_and_no_random_links_are_made():
    net = crowd(adaptive=False)
    assert set(random_coverage(net).values()) == {0}
    assert all(not overlay.tasks.all[1].neighbors for overlay in net.nodes.values())


def test_random_coverage_adds_links():
    degrees = {
        adaptive: sum(len(overlay.links()) for overlay in crowd(adaptive=adaptive).nodes.values())
        for adaptive in (False, True)
    }
    assert degrees[True] > degrees[False]
