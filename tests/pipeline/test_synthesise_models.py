"""The models: structure exactly, distributions within what chance allows."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from orbweaver.core.errors import UsageError
from orbweaver.pipeline.characterise.powerlaw import fit
from orbweaver.pipeline.synthesise.traffic import OnOff, Rates, parse_churn
from orbweaver.workload.models.catalog import DEFAULTS, build, make_plan
from orbweaver.workload.models.distinct import Ragged
from orbweaver.workload.models.sizes import Sizes
from orbweaver.workload.models.spatial import places, radius, within
from orbweaver.workload.popularity import weights

SMALL = {
    "spatial": {"nodes": 3000},
    "hierarchical": {"topics": 1000},
}
"""What makes a model small enough to be drawn here at once."""


def draw(model: str, seed: int = 1, count: int = 2000, **given: object) -> Ragged:
    return build(make_plan(model, given), seed).draw(np.arange(count))


@pytest.mark.parametrize("model", sorted(DEFAULTS))
def test_every_model_is_a_function_of_the_row(model: str) -> None:
    name = {"zipf": "zipf:1", "exponential": "exponential:0.7"}.get(model, model)
    plan = make_plan(name, SMALL.get(model, {}))
    built = build(plan, 5)
    whole = built.draw(np.arange(3000)).rows()
    assert all(len(set(row)) == len(row) and row == sorted(row) for row in whole)
    assert max(map(max, whole)) < plan.topics
    assert built.draw(np.arange(1500, 1510)).rows() == whole[1500:1510]
    assert build(plan, 5).draw(np.array([2999, 7])).rows() == [whole[2999], whole[7]]
    other = build(plan, 6).draw(np.arange(3000)).rows()
    assert sum(a == b for a, b in zip(whole, other, strict=True)) < 300


@pytest.mark.parametrize("model", ["uniform", "rss", "nyse", "zipf:1"])
def test_single_subscriptions_have_the_popularity(model: str) -> None:
    """With one topic for each node there is no repetition to avoid: the law itself."""
    count = 50_000
    found = draw(model, count=count, nodes=count, topics=50, subscriptions_per_node="1")
    expected = np.array(weights(model, 50)) * count
    got = np.bincount(found.items, minlength=50)
    # Chi-square with 49 degrees of freedom: above 100 once in 30,000 seeds.
    assert ((got - expected) ** 2 / expected).sum() < 100


def test_sizes_are_fixed_even_or_by_a_power_law() -> None:
    assert set(draw("rss").counts) == {10}
    even = draw("rss", count=9000, subscriptions_per_node="10:30").counts
    assert (even.min(), even.max()) == (10, 30)
    # Sigma of a uniform on 10..30 is 6.06; of the mean of 9,000, 0.064. Four of those.
    assert abs(even.mean() - 20) < 0.26
    skewed = Counter(draw("omen-unif", count=20_000).counts.tolist())
    assert (min(skewed), max(skewed)) == (10, 90)
    # P(10)/P(20) = 2^2. About 2,300 and 570 draws: a relative error of 4.7 %, four times.
    assert skewed[10] / skewed[20] == pytest.approx(4, rel=0.19)
    law = {size: size**-2.0 for size in range(10, 91)}
    mean = sum(size * share for size, share in law.items()) / sum(law.values())
    assert Sizes("powerlaw:10:90").mean == pytest.approx(mean)


def test_omens_popularity_laws_differ() -> None:
    share = {}
    for model in ("omen-unif", "omen-zipf", "omen-expo"):
        popularity = np.bincount(draw(model).items, minlength=200)
        share[model] = popularity[:20].sum() / popularity.sum()
    # Uniform gives a tenth of the topics a tenth; Zipf 2 nearly fills them for everyone:
    # about 18 of 22 subscriptions. Exponential lies between.
    assert share["omen-unif"] == pytest.approx(0.1, abs=0.01)
    assert share["omen-unif"] < share["omen-expo"] < share["omen-zipf"] < 0.9


@pytest.mark.parametrize(
    ("model", "buckets", "each"), [("vitis-low", 5, 10), ("vitis-high", 2, 25)]
)
def test_vitis_buckets(model: str, buckets: int, each: int) -> None:
    found = draw(model)
    for row in found.rows():
        of_bucket = Counter(topic % 100 for topic in row)
        assert list(of_bucket.values()) == [each] * buckets
    # 2,000 nodes choose each of 100 buckets 2,000 * b / 100 times; five binomial sigmas.
    chosen = np.bincount(found.items % 100, minlength=100) / each
    expected = 20 * buckets
    assert np.abs(chosen - expected).max() < 5 * expected**0.5
    # Inside a bucket all topics are alike: means of 2,000 draws, five sigmas.
    inside = np.bincount(found.items // 100, minlength=50) / len(found.items)
    assert np.abs(inside - 0.02).max() < 5 * (0.02 / len(found.items)) ** 0.5


def test_vitis_random_is_fifty_of_five_thousand() -> None:
    found = draw("vitis-random")
    assert set(found.counts) == {50}
    # 100,000 draws over 5,000 topics: 20 for each; six Poisson sigmas over so many topics.
    assert np.abs(np.bincount(found.items, minlength=5000) - 20).max() < 6 * 20**0.5


def test_multi_modal_stays_in_its_categories_and_prefers_the_first_topics() -> None:
    found = draw("multi-modal", categories=50, categories_per_node=5, subscriptions_per_node="20")
    for row in found.rows():
        assert len(row) == 20
        assert len({topic % 50 for topic in row}) <= 5
    inside = np.bincount(found.items // 50, minlength=20)
    # Rank 1 has 20 times the weight of rank 20, but nobody takes a topic twice; in order.
    assert (np.diff(inside) < 0.1 * inside[0]).all()
    assert inside[0] > 3 * inside[-1]


def test_multi_modal_correlation_rises_as_categories_get_fewer() -> None:
    """Magnet 4.2: the same frequencies, more alike with b_p = 1 of 10 than with 5 of 50."""

    def alike(modes: int) -> float:
        rows = draw(
            "multi-modal", count=300, categories=10 * modes, categories_per_node=modes,
            subscriptions_per_node="20", alpha=0.0,
        ).rows()  # fmt: skip
        best = [max(len({*a} & {*b}) for b in rows if b is not a) for a in rows[:50]]
        return float(np.mean(best))

    assert alike(1) > alike(5) + 1


def test_spatial_neighbours_are_exactly_those_within_the_radius() -> None:
    nodes = 400
    model = build(make_plan("spatial", {"nodes": nodes, "subscriptions_per_node": "9"}), 2)
    place = places(2, np.arange(nodes))
    r = radius(nodes, 9)
    apart = np.hypot(*(place[:, None, :] - place[None, :, :]).transpose(2, 0, 1))
    expected = [np.flatnonzero(line <= r).tolist() for line in apart]
    assert model.draw(np.arange(nodes)).rows() == expected


@pytest.mark.parametrize("mean", [8, 16, 32])
def test_spatial_mean(mean: int) -> None:
    found = draw("spatial", count=10_000, nodes=10_000, subscriptions_per_node=str(mean))
    # Half the sum is the number of close pairs, 5,000 * mean of them and nearly Poisson:
    # a relative sigma of at most 0.5 % for 8. Crowding adds to it; four sigmas and a half.
    assert found.counts.mean() == pytest.approx(mean, rel=0.0225)


@pytest.mark.parametrize("r", [0.1, 0.5, 0.9, 1.0, 1.2, 1.4])
def test_how_many_are_within_a_distance(r: float) -> None:
    points = places(9, np.arange(200_000)).reshape(2, -1, 2)
    share = (((points[0] - points[1]) ** 2).sum(axis=1) <= r * r).mean()
    # 100,000 pairs: a sigma of at most 0.0016; four.
    assert within(r) == pytest.approx(share, abs=0.0064)


def test_hierarchical_topics_follow_the_paper() -> None:
    """Magnet Fig. 7: 2^14 nodes and topics, Z = 16, initFrac 10 %, alpha0 = lambda = 2."""
    nodes = 1 << 14
    found = draw("hierarchical", count=nodes)
    assert found.counts.mean() == pytest.approx(16, abs=0.001)
    assert found.counts.min() >= 1
    popularity = np.bincount(found.items, minlength=nodes)
    assert (popularity > 0).mean() > 0.98  # 4.4 populates all topics
    fitted = fit(Counter(popularity.tolist()))
    assert fitted is not None
    # The exponent of a density, which 4.1 expects to be 2 to 3. Fig. 7 has a fit line of 1.68.
    assert 2.0 < fitted.alpha < 2.4
    assert fitted.tail > 1000


@pytest.mark.parametrize("alpha0", [2.0, 3.0])
def test_the_first_topics_have_the_papers_density(alpha0: float) -> None:
    """Magnet 4.4 and its footnote 3: a share of about x^-alpha0 of the topics has x subscribers."""
    found = draw("hierarchical", count=1 << 14, init_frac=1.0, alpha0=alpha0)
    fitted = fit(Counter(popularity for popularity in np.bincount(found.items) if popularity))
    assert fitted is not None
    assert fitted.alpha == pytest.approx(alpha0, abs=0.1)


def test_hierarchical_growth_is_the_papers_process() -> None:
    """Against the process as the paper tells it, one global step after the other."""
    nodes = topics = 512
    sizes, sizes_paper, near, near_paper = [], [], [], []
    for seed in range(4):
        plan = make_plan(
            "hierarchical", {"nodes": nodes, "topics": topics, "subscriptions_per_node": "8",
                             "init_frac": 0.25, "homophily": 1.0, "alpha0": 2.0}
        )  # fmt: skip
        rows = build(plan, seed).draw(np.arange(nodes)).rows()
        paper = _one_by_one(nodes, topics, 8, 0.25, 1.0, seed)
        sizes.append(np.std([len(row) for row in rows]))
        sizes_paper.append(np.std([len(row) for row in paper]))
        near.append(_siblings(rows))
        near_paper.append(_siblings(paper))
    # Over 4 x 512 nodes, the spread of sizes (about 4.5) has a standard error of 2 to 3 %
    # on either side, the share of topics whose sibling is there of 1 %: three to four each.
    assert np.mean(sizes) == pytest.approx(np.mean(sizes_paper), rel=0.12)
    assert np.mean(near) == pytest.approx(np.mean(near_paper), abs=0.03)


def _one_by_one(
    nodes: int, topics: int, mean: int, init_frac: float, homophily: float, seed: int
) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    law = np.arange(1, topics + 1) ** -1.0
    leaf = rng.permutation(topics)
    links: list[tuple[int, int]] = []
    wanted: list[set[int]] = [set() for _ in range(nodes)]
    shares = np.exp(-homophily * np.arange(1, 10))

    def subscribe(node: int, topic: int) -> None:
        if topic not in wanted[node]:
            wanted[node].add(topic)
            links.append((node, topic))

    for node in range(nodes):
        subscribe(node, int(leaf[rng.choice(topics, p=law / law.sum())]))
    while len(links) < nodes * mean * init_frac:
        subscribe(int(rng.integers(nodes)), int(leaf[rng.choice(topics, p=law / law.sum())]))
    while len(links) < nodes * mean:
        node, topic = links[int(rng.integers(len(links)))]
        height = int(rng.choice(9, p=shares / shares.sum()))
        first = ((topic >> height) ^ 1) << height
        subscribe(node, first + int(rng.integers(1 << height)))
    return [sorted(row) for row in wanted]


def _siblings(rows: list[list[int]]) -> float:
    pairs = sum(a ^ 1 == b for row in rows for a, b in pairwise(row))
    return 2 * pairs / sum(map(len, rows))


def test_homophily_draws_topics_together() -> None:
    def spread(homophily: float) -> float:
        rows = draw("hierarchical", topics=1024, homophily=homophily).rows()
        return float(np.mean([row[-1] - row[0] for row in rows]))

    assert spread(3.0) < spread(1.0) < spread(0.1)


def test_rates_are_a_shuffled_power_law() -> None:
    found = Rates("powerlaw:0.75", 1000, 3).of(np.arange(1000))
    assert sorted(found, reverse=True) == pytest.approx(np.arange(1, 1001) ** -0.75)
    assert found.argmax() != Rates("powerlaw:0.75", 1000, 4).of(np.arange(1000)).argmax()
    # Rank and number have nothing to do with each other: sigma 0.032, four of those.
    assert abs(np.corrcoef(np.argsort(found), np.arange(1000))[0, 1]) < 0.13
    assert set(Rates("uniform", 10, 3).of(np.arange(10))) == {1.0}


def test_churn_alternates_with_the_right_means() -> None:
    end_ms = 10_000_000
    model = OnOff(on_ms=100_000, off_ms=25_000, end_ms=end_ms, seed=1)
    place, time_ms, leave = model.changes(np.arange(1000))
    assert time_ms.min() >= 1
    assert time_ms.max() < end_ms
    ups, downs, up_at_last = [], [], 0
    for node in range(1000):
        mine = place == node
        times, kinds = time_ms[mine], leave[mine]
        assert kinds.tolist() == [1 - i % 2 for i in range(len(kinds))]
        gaps = np.diff(times, prepend=0)
        assert gaps.min() >= 1
        ups.extend(gaps[0::2])
        downs.extend(gaps[1::2])
        up_at_last += 1 - kinds[-1]
    # 80,000 of each: a standard error of 0.4 %. That the end cuts the last one off, and the
    # longer the likelier, takes about 1 % away (on / end).
    assert np.mean(ups) == pytest.approx(100_000, rel=0.025)
    assert np.mean(downs) == pytest.approx(25_000, rel=0.025)
    # SpiderCast 3.8: 4/5 are up. 1,000 nodes, sigma 0.013; four.
    assert up_at_last / 1000 == pytest.approx(0.8, abs=0.05)


def test_churn_of_a_row_does_not_depend_on_others() -> None:
    model = parse_churn("exponential:20:5", 600, 3)
    place, time_ms, leave = model.changes(np.arange(100))
    alone = model.changes(np.array([42]))
    mine = place == 42
    assert (alone[1].tolist(), alone[2].tolist()) == (time_ms[mine].tolist(), leave[mine].tolist())


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        ("zipff:1", {}, "did you mean 'zipf'?"),
        ("vitis-lo", {}, "did you mean 'vitis-low'?"),
        ("wombat", {}, "known: exponential, hierarchical"),
        ("rss:3", {}, "takes nothing after ':'"),
        ("zipf:x", {}, "needs a number"),
        ("spatial", {"topics": 5}, "each user is a topic"),
        ("rss", {"categories": 5}, "model 'rss' has no --categories"),
        ("rss", {"nodes": 0}, "--nodes 0 should be from 1"),
        ("rss", {"topics": 5}, "cannot subscribe to 10 different topics out of 5"),
        ("rss", {"subscriptions_per_node": "9:3"}, "MIN should be from 1 to MAX"),
        ("rss", {"subscriptions_per_node": "some"}, "should be S, MIN:MAX or powerlaw"),
        ("rss", {"subscriptions_per_node": "powerlaw:1:5:x"}, "A should be a number"),
        ("vitis-low", {"topics": 5001}, "do not divide into 100 equal categories; 5000 would"),
        ("vitis-low", {"subscriptions_per_node": "51"}, "should be a multiple"),
        ("vitis-high", {"subscriptions_per_node": "200"}, "a bucket has 50 topics"),
        ("multi-modal", {"subscriptions_per_node": "101"}, "hold 100 topics, fewer than the 101"),
        ("multi-modal", {"categories_per_node": 11}, "cannot choose 11 categories out of 10"),
        ("spatial", {"nodes": 5}, "cannot have 32 neighbours"),
        ("spatial", {"subscriptions_per_node": "1:5"}, "takes a mean"),
        ("hierarchical", {"topics": 8}, "too many to grow to out of 8"),
    ],
)
def test_mistakes_are_told(model: str, given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as error:
        build(make_plan(model, given), 1)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["exponential:1", "weibull:1:2", "exponential:a:b", "x"])
def test_bad_churn(text: str) -> None:
    with pytest.raises(UsageError):
        parse_churn(text, 100, 1)


@pytest.mark.parametrize("text", ["powerlaw", "uniform:2", "zipf:1", "powerlaw:-1"])
def test_bad_rates(text: str) -> None:
    with pytest.raises(UsageError):
        Rates(text, 10, 1)
