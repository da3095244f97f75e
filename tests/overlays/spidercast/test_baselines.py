"""similarity(x, y) and random(y), Sec. 3.9.1."""

from random import Random

import pytest

from orbweaver.core.topics import TopicTable
from orbweaver.overlays.spidercast.baselines import CountAim, RandomLinks, Similarity
from orbweaver.overlays.spidercast.maintenance import Neighbor
from tests.gossip.fake_outbox import FakeDirectory, own_interest
from tests.overlays.overlay_net import NAMES, OverlayNet

TABLE = TopicTable(NAMES)
VIEW = FakeDirectory(TABLE, {1: "a", 2: "ab", 3: "bc", 4: "def", 5: ""})


@pytest.mark.parametrize(
    ("wanted", "neighbors", "under", "without"),
    [(3, 0, 3, 4), (3, 2, 1, 2), (3, 3, 0, 1), (3, 4, 0, 0), (3, 6, 0, 0), (0, 1, 0, 0)],
)
def test_what_is_missing_is_a_plain_number(wanted, neighbors, under, without):
    neighborhood = [Neighbor(1, 1, TABLE.interest("a")) for _ in range(neighbors)]
    aim = CountAim(wanted, VIEW, Random(1))
    audit = aim.audit(neighborhood)
    assert aim.limit() == wanted
    assert audit.under == under
    if neighborhood:
        assert audit.under_without(neighborhood[0]) == without


def choices(aim, exclude):
    return {aim.next_node((), exclude) for _ in range(200)}


@pytest.mark.parametrize(
    ("exclude", "expected"), [(set(), {2, 3}), ({2}, {3}), ({2, 3}, {1}), ({1, 2, 3}, {None})]
)
def test_a_similar_node_shares_most_topics(exclude, expected):
    aim = CountAim(1, VIEW, Random(1), own_interest(TABLE, "abc"))
    assert choices(aim, exclude) == expected


@pytest.mark.parametrize(
    ("exclude", "expected"), [(set(), {1, 2, 3, 4, 5}), ({1, 2, 3, 4, 5}, {None})]
)
def test_a_random_node_is_any_node(exclude, expected):
    assert choices(CountAim(1, VIEW, Random(1)), exclude) == expected


def degrees(net):
    net.links()
    return {node: len(overlay.links()) for node, overlay in net.nodes.items()}


@pytest.mark.parametrize("seed", range(5))
def test_random_links_reach_their_number_within_the_bound(seed):
    net = OverlayNet(RandomLinks, {n: "abcdef"[n % 6] for n in range(20)}, seed, random=4, margin=2)
    found = degrees(net.start().run(20_000))
    assert min(found.values()) >= 4
    # No node asks for similar links here, so only one of the two margins can be used.
    assert max(found.values()) <= 4 + 2


def test_similar_links_are_among_those_alike():
    net = OverlayNet(Similarity, {n: "abc" if n < 6 else "def" for n in range(12)}, similar=3)
    net.start().run(20_000)
    assert min(degrees(net).values()) >= 3
    assert all((a < 6) == (b < 6) for a, b in net.links())


def test_similarity_adds_its_random_links():
    net = OverlayNet(
        Similarity, {n: "abc" if n < 6 else "def" for n in range(12)}, similar=3, random=2
    )
    net.start().run(20_000)
    assert any((a < 6) != (b < 6) for a, b in net.links())
    for overlay in net.nodes.values():
        assert len(overlay.tasks.all[0].neighbors) >= 3
        assert len(overlay.tasks.all[1].neighbors) >= 2


@pytest.mark.parametrize(
    ("overlay", "params", "bound"),
    [
        (Similarity, {}, 10 + 0 + 2 * 5),
        (Similarity, {"similar": 4, "random": 3, "margin": 1}, 4 + 3 + 2),
        (RandomLinks, {}, 10 + 2 * 5),
        (RandomLinks, {"random": 3, "margin": 0}, 3),
    ],
)
def test_the_degree_bound_does_not_depend_on_the_interest(overlay, params, bound):
    for topics in ("", "abc"):
        assert overlay.degree_bound(overlay.Params(**params), TABLE.interest(topics)) == bound
