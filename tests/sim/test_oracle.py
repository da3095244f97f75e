"""The directory of a simulation against a plain dictionary."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweaver.core.ids import NodeId
from orbweaver.core.topics import TopicTable
from orbweaver.sim.oracle import Oracle

TOPICS = [f"t{i}" for i in range(6)]
NODES = 20
node = st.integers(0, NODES - 1)
interest = st.sets(st.sampled_from(TOPICS))
step = st.one_of(
    st.tuples(st.just("put"), node, interest),
    st.tuples(st.just("remove"), node, st.just(frozenset())),
)


def build(
    loaded: dict[int, set[str]], steps: list[tuple[str, int, set[str]]], known: int = len(TOPICS)
) -> tuple[Oracle, TopicTable, dict[int, set[str]]]:
    """An oracle and the dictionary that it should be; `known` topics are numbered early."""
    table = TopicTable(TOPICS[:known])
    oracle = Oracle(NODES, table)
    oracle.load((NodeId(n), table.interest(sorted(topics))) for n, topics in loaded.items())
    up = dict(loaded)
    for what, which, topics in steps:
        if what == "put":
            oracle.put(NodeId(which), table.interest(sorted(topics)))
            up[which] = topics
        else:
            oracle.remove(NodeId(which))
            up.pop(which, None)
    return oracle, table, up


HISTORIES = {
    "loaded": st.dictionaries(node, interest),
    "steps": st.lists(step, max_size=25),
    "known": st.integers(0, len(TOPICS)),
}


@settings(deadline=None, max_examples=200)
@given(**HISTORIES, wanted=interest, exclude=st.lists(node, max_size=8), seed=st.integers(0, 2**16))
def test_matches_are_the_naive_ones(loaded, steps, known, wanted, exclude, seed) -> None:
    oracle, table, up = build(loaded, steps, known)
    mask = table.interest(sorted(wanted)).mask
    others = {n: len(topics & wanted) for n, topics in up.items() if n not in exclude}
    best = max(others.values(), default=0)
    rng = Random(seed)

    equal = [n for n, shared in others.items() if shared == best] if best else [None]
    assert oracle.best_match(mask, exclude, rng) in equal
    assert oracle.best_match(mask, exclude, None) == min(equal)
    found = oracle.any_match(mask, exclude, rng)
    assert found in ([n for n, shared in others.items() if shared] if best else [None])
    assert oracle.any_peer(exclude, rng) in (list(others) or [None])


@settings(deadline=None, max_examples=200)
@given(**HISTORIES, topic=st.sampled_from(TOPICS), start=node)
def test_the_successor_is_the_naive_one(loaded, steps, known, topic, start) -> None:
    oracle, _, up = build(loaded, steps, known)
    ring = sorted(n for n, topics in up.items() if topic in topics and n != start)
    expected = next((n for n in ring if n > start), ring[0] if ring else None)
    assert oracle.successor(topic, NodeId(start)) == expected


@settings(deadline=None, max_examples=100)
@given(**HISTORIES, fraction=st.floats(0, 1), seed=st.integers(0, 2**16))
def test_a_sample_is_of_nodes_that_are_up(loaded, steps, known, fraction, seed) -> None:
    oracle, _, up = build(loaded, steps, known)
    found = oracle.sample(fraction, Random(seed))
    assert len(found) == len(set(found)) == round(fraction * len(up))
    assert set(found) <= set(up)


@settings(deadline=None, max_examples=100)
@given(**HISTORIES)
def test_interests_are_those_last_put(loaded, steps, known) -> None:
    oracle, table, up = build(loaded, steps, known)
    for which in range(NODES):
        found = oracle.interest_of(NodeId(which))
        assert (None if found is None else set(found)) == up.get(which)
        assert oracle.mask_of(which) == table.interest(up.get(which, set())).mask


@settings(deadline=None, max_examples=100)
@given(loaded=st.dictionaries(node, interest), wanted=interest)
def test_loading_and_putting_come_to_the_same(loaded, wanted) -> None:
    once, table, _ = build(loaded, [])
    slowly, _, _ = build({}, [("put", n, topics) for n, topics in loaded.items()])
    mask = table.interest(sorted(wanted)).mask
    for seed in range(5):
        answers = [
            (o.best_match(mask, (), Random(seed)), o.any_match(mask, (), Random(seed)))
            for o in (once, slowly)
        ]
        assert answers[0] == answers[1]


@pytest.mark.parametrize("question", ["best_match", "any_match", "any_peer"])
def test_ties_are_broken_evenly(question: str) -> None:
    oracle, table, _ = build({n: {"t0"} for n in (1, 5, 11, 19)}, [])
    rng = Random(4)
    arguments = [] if question == "any_peer" else [table.bit("t0")]
    ask = getattr(oracle, question)
    counts = Counter(ask(*arguments, [NodeId(5)], rng) for _ in range(3000))
    assert set(counts) == {1, 11, 19}
    assert all(count == pytest.approx(1000, rel=0.1) for count in counts.values())
