"""Algorithm 1: topic-connected again, by the LowODA rule, and fast."""

from __future__ import annotations

import time
from itertools import combinations
from statistics import median

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from orbweaver.core.seeds import generator, sample
from orbweaver.overlays.omen.backups import build_backups_primal_dual
from orbweaver.overlays.omen.repair import repair_tco_on_churn
from tests.overlays.omen.test_backups import uniform

SHADOWS = st.lists(st.integers(0, 63), min_size=1, max_size=8)
LINKS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(0, 63)), max_size=8)
DEGREES = st.dictionaries(st.integers(0, 7), st.integers(0, 9))


def graph_of(topic: int, interests: dict, joined: list, edges: list) -> nx.Graph:
    members = [node for node, mask in interests.items() if mask & topic]
    graph = nx.Graph()
    graph.add_nodes_from(members)
    links = [(a, b) for a, b, mask in joined if mask & topic] + edges
    graph.add_edges_from((a, b) for a, b in links if a in graph and b in graph)
    return graph


def naive(interests: dict, topics: int, joined: list, degrees: dict, rho: float) -> list:
    """The rule as printed: look at each potential edge in each step."""
    nodes = list(interests)
    places = {node: place for place, node in enumerate(nodes)}
    degree = {node: degrees.get(node, 0) for node in nodes}
    before = dict(degree)
    new: list = []
    while True:
        graphs = [graph_of(1 << t, interests, joined, new) for t in range(6) if topics >> t & 1]
        gains = {}
        for a, b in combinations(nodes, 2):
            gains[a, b] = sum(a in g and b in g and not nx.has_path(g, a, b) for g in graphs)
        order = sorted(
            (edge for edge in gains if gains[edge]),
            key=lambda e: (-gains[e], max(before[e[0]], before[e[1]]), places[e[0]], places[e[1]]),
        )
        if not order:
            return new
        most = max(degree.values())
        raising = [e for e in order if max(degree[e[0]], degree[e[1]]) == most]
        others = [e for e in order if e not in raising]
        if raising and (not others or gains[raising[0]] > rho * gains[others[0]]):
            edge = raising[0]
        else:
            edge = others[0]
        new.append(edge)
        for node in edge:
            degree[node] += 1


@given(SHADOWS, st.integers(0, 63), LINKS, DEGREES, st.sampled_from([1.0, 1.5, 3.0]))
def test_it_is_the_textbook_rule(
    masks: list, topics: int, joined: list, degrees: dict, rho: float
) -> None:
    interests = dict(enumerate(masks))
    joined = [(a, b, m & interests.get(a, 0) & interests.get(b, 0)) for a, b, m in joined]
    found = repair_tco_on_churn(interests, topics, joined, degrees, rho)
    assert found == naive(interests, topics, joined, degrees, rho)
    for t in range(6):
        if topics >> t & 1 and any(mask >> t & 1 for mask in masks):
            assert nx.is_connected(graph_of(1 << t, interests, joined, found))


def test_rho_weighs_contribution_against_degree() -> None:
    # The hub 0 shares all three topics with each other node, the others one with each other.
    interests = {0: 0b111, 1: 0b111, 2: 0b101}
    assert repair_tco_on_churn(interests, 0b111, [], {0: 5}, 3)[0] == (1, 2)
    assert repair_tco_on_churn(interests, 0b111, [], {0: 5}, 1)[0] == (0, 1)


def test_nothing_is_added_where_the_rest_of_the_overlay_connects() -> None:
    interests = {1: 0b1, 2: 0b1, 3: 0b1}
    assert repair_tco_on_churn(interests, 0b1, [(1, 2, 0b1), (2, 3, 0b1)], {}, 3) == []
    assert repair_tco_on_churn(interests, 0b1, [(1, 2, 0b1)], {}, 3) == [(1, 3)]


def test_a_dozen_repairs_take_under_ten_milliseconds_each() -> None:
    """Processor time, at coverage 5 on the uniform workload (Sec. 6.1)."""
    nodes = uniform(1000)
    rng = generator("repairs")
    spent = []
    for node, wanted in sample(rng, nodes, 12):
        others = [other for other in nodes if other[0] != node]
        backups = build_backups_primal_dual(wanted, others, 5, rng)
        neighbors = sample(rng, [other for other in others if other[1] & wanted], 10)
        interests = dict([*neighbors, *backups])
        # Leaving cut each topic at most into as many parts as there were neighbours with it.
        joined = []
        for t in range(200):
            reached = [n for n, mask in neighbors if mask & wanted >> t & 1 and mask >> t & 1]
            parts = reached or [backups[0][0]]
            for place, (backup, _) in enumerate(backups):
                joined.append((parts[place % len(parts)], backup, 1 << t))
        by_pair: dict = {}
        for a, b, bit in joined:
            by_pair[a, b] = by_pair.get((a, b), 0) | bit
        known = [(a, b, mask) for (a, b), mask in by_pair.items()]
        begin = time.process_time()
        repair_tco_on_churn(interests, wanted, known, {}, 3)
        spent.append(time.process_time() - begin)
    assert median(spent) < 0.010
