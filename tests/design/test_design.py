"""Designs: links under which each topic is connected, whatever the rule and the start."""

from __future__ import annotations

from itertools import combinations
from random import Random

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.errors import UsageError
from orbweaver.design.bounds import lower_bounds
from orbweaver.design.fast import as_arrays, check_memory, choose_links, count_contributions
from orbweaver.design.plan import Plan, design
from orbweaver.design.rules import ALGORITHMS, Rule
from orbweaver.design.textbook import choose_links as choose_links_plainly
from orbweaver.workload.dialect import Reading
from orbweaver.workload.links import Link
from orbweaver.workload.sampling import breadth_first
from orbweaver.workload.subscriptions import load_subscriptions, make_model, synthesise
from tests.pipeline.real_traces import FOLDER, needs_traces

RULES = [Rule("gm"), Rule("minmaxoda"), Rule("lowoda"), Rule("lowoda", 1.5), Rule("lowoda", 1)]

interests_of_few = st.lists(st.sets(st.integers(0, 7)), min_size=1, max_size=12)


def some_links(nodes: int, rng: Random) -> list[Link]:
    pairs = list(combinations(range(nodes), 2))
    return rng.sample(pairs, min(len(pairs), rng.randrange(0, 2 * nodes)))


def is_topic_connected(interests: list[set[str]], links: tuple[Link, ...]) -> bool:
    overlay = networkx.Graph(links)
    overlay.add_nodes_from(range(len(interests)))
    for topic in set().union(*interests):
        subscribers = [node for node, topics in enumerate(interests) if topic in topics]
        if not networkx.is_connected(overlay.subgraph(subscribers)):
            return False
    return True


@given(interests_of_few, st.sampled_from(RULES), st.randoms(use_true_random=False))
@settings(max_examples=300)
def test_the_same_links_in_the_same_order_as_the_textbook(
    interests: list[set[int]], rule: Rule, rng: Random
) -> None:
    start = some_links(len(interests), rng) if rng.random() < 0.5 else []
    arrays = as_arrays([sorted(topics) for topics in interests])
    chosen = choose_links(count_contributions(arrays), arrays, rule, start)
    assert chosen == choose_links_plainly(interests, rule, start)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_and_for_more_nodes_than_are_compared_at_once(rule: Rule) -> None:
    subscriptions = synthesise(make_model(40, "zipf:1", 2, 6), 300, "design")
    interests = [[int(topic[1:]) for topic in topics] for topics in subscriptions.of_node]
    arrays = as_arrays(interests)
    chosen = choose_links(count_contributions(arrays), arrays, rule)
    assert chosen == choose_links_plainly(interests, rule)


@given(interests_of_few, st.sampled_from(RULES), st.randoms(use_true_random=False))
def test_each_topic_is_connected_and_no_link_was_needless(
    interests: list[set[int]], rule: Rule, rng: Random
) -> None:
    named = [{f"t{topic}" for topic in topics} for topics in interests]
    start = some_links(len(interests), rng) if rng.random() < 0.5 else []
    plan = design(named, rule, seed=rng.randrange(5), given=start)
    assert list(plan.given) == start
    assert len(set(plan.links)) == len(plan.links)
    assert is_topic_connected(named, plan.links)
    # The last link closed the last gap.
    assert not plan.added or not is_topic_connected(named, plan.links[:-1])
    assert design(named, rule, given=plan.links).added == ()


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_thousand_nodes(rule: Rule) -> None:
    subscriptions = synthesise(make_model(100, "zipf:0.5", 5, 15), 1000, "design")
    plan = design(subscriptions.of_node, rule)
    assert is_topic_connected([set(topics) for topics in subscriptions.of_node], plan.links)
    degree = networkx.Graph(plan.links).degree
    assert plan.degrees == tuple(degree[node] for node in range(1000))
    assert plan.degree_max == max(plan.degrees)
    assert plan.degree_mean == sum(plan.degrees) / 1000 == 2 * len(plan.links) / 1000
    assert plan.bounds.degree_max <= plan.degree_max
    assert plan.bounds.degree_mean <= plan.degree_mean


@needs_traces
def test_followers_in_a_social_graph() -> None:
    """Users that subscribe to the users that they follow, sampled breadth-first (OMen 6.1)."""
    file = FOLDER / "social/twitter_followers_bofa_careers.csv.gz"
    graph = load_subscriptions(file, Reading("trg,src"))
    sample = breadth_first(graph, 1000, Random(1))
    interests = [set(topics) for topics in sample.of_node]
    assert len(interests) > 500
    for rule in (Rule("gm"), Rule("lowoda"), Rule("minmaxoda")):
        assert is_topic_connected(interests, design(sample.of_node, rule).links)


def test_what_each_rule_is_for() -> None:
    """GM makes the fewest links and MinMaxODA the lowest maximum degree; LowODA's are between."""
    of_node = synthesise(make_model(200, "zipf:1", 1, 60), 500, "design").of_node
    gm, low, minmax = (design(of_node, Rule(name)) for name in ("gm", "lowoda", "minmaxoda"))
    assert gm.degree_mean < low.degree_mean < minmax.degree_mean
    assert gm.degree_max > low.degree_max > minmax.degree_max


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_only_the_seed_decides_among_equal_links(algorithm: str) -> None:
    of_node = synthesise(make_model(10, "uniform", 3, 3), 60, "design").of_node
    rule = Rule(algorithm)  # type: ignore[arg-type]
    first = design(of_node, rule, seed=1)
    assert design([reversed(topics) for topics in of_node], rule, seed=1) == first
    assert design(of_node, rule, seed=2).links != first.links


def test_given_links_may_be_told_twice_and_either_way() -> None:
    plan = design([["a"], ["a"], ["a"]], Rule("gm"), given=[(1, 0), (0, 1)])
    assert plan.given == ((0, 1),)
    assert len(plan.added) == 1


@pytest.mark.parametrize(
    ("interests", "degree_max", "degree_mean"),
    [
        ([["a"]], 0, 0),
        ([["a"], ["b"]], 0, 0),
        ([["a"], ["a"]], 1, 1),
        # A tree is needed, and trees of more than two nodes have a node of degree two.
        ([["a"]] * 5, 2, 1.6),
        # The first node shares one topic with each of the others: a star.
        ([["a", "b", "c"], ["a"], ["b"], ["c"]], 3, 1.5),
    ],
)
def test_bounds_that_are_reached(
    interests: list[list[str]], degree_max: int, degree_mean: float
) -> None:
    plan = design(interests, Rule("minmaxoda"))
    assert (plan.bounds.degree_max, plan.bounds.degree_mean) == (degree_max, degree_mean)
    assert (plan.degree_max, plan.degree_mean) == (degree_max, degree_mean)


@given(st.lists(st.sets(st.integers(0, 3)), min_size=1, max_size=5))
@settings(max_examples=50)
def test_no_overlay_is_below_the_bounds(interests: list[set[int]]) -> None:
    named = [{str(topic) for topic in topics} for topics in interests]
    arrays = as_arrays([sorted(topics) for topics in interests])
    bounds = lower_bounds(count_contributions(arrays), arrays)
    pairs = list(combinations(range(len(interests)), 2))
    for count in range(len(pairs) + 1):
        for links in combinations(pairs, count):
            if is_topic_connected(named, links):
                ends = [node for link in links for node in link]
                assert bounds.degree_mean <= len(ends) / len(interests)
                assert bounds.degree_max <= max(map(ends.count, ends), default=0)


def test_interests_of_any_size() -> None:
    """Beyond 32,767 topics a contribution does not fit into 16 bits."""
    topics = [str(number) for number in range(40_000)]
    plan = design([topics, topics, topics], Rule("lowoda"))
    assert len(plan.added) == 2
    assert plan.bounds.degree_max == 2


def test_more_nodes_than_memory() -> None:
    with pytest.raises(UsageError, match=r"needs 200,000 GB.*take a sample"):
        check_memory(10_000_000, 2)


@pytest.mark.parametrize(
    ("algorithm", "rho", "said"),
    [
        ("lowodda", 3, "unknown algorithm 'lowodda': did you mean 'lowoda'?"),
        ("lowoda", 0.5, "rho should be a number of 1 or more, not 0.5"),
        ("lowoda", float("inf"), "rho should be"),
        ("lowoda", float("nan"), "rho should be"),
    ],
)
def test_a_rule_that_makes_no_sense(algorithm: str, rho: float, said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("?", r"\?")):
        Rule(algorithm, rho)  # type: ignore[arg-type]


def test_plan_without_links() -> None:
    plan = design([["a"], []], Rule("gm"))
    assert isinstance(plan, Plan)
    assert plan.degrees == (0, 0)
