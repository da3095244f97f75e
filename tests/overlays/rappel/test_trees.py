"""Dissemination trees: Algorithm 2, rejoins and the cache (Rappel, section 4)."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event
from orbweaver.core.seeds import generator
from orbweaver.gossip.cache import Held
from orbweaver.gossip.vivaldi import Coordinates
from orbweaver.overlays.rappel.messages import Descent
from orbweaver.overlays.rappel.trees import DENY, OK, FeedTree

ROOT, ME = NodeId(1), NodeId(10)


def at(x: float, y: float = 0.0) -> Coordinates:
    return Coordinates((x, y))


def make(fanout: int = 2, parent: int = 5, mine: float = 10.0) -> tuple[FeedTree, Coordinates]:
    tree = FeedTree("news", ME, fanout, 10)
    tree.parent = NodeId(parent)
    tree.descend(Descent("news", ROOT, at(0), at(5.0), (NodeId(parent), ROOT)))
    return tree, at(mine)


def test_a_node_closer_to_the_publisher_is_passed_up() -> None:
    tree, mine = make()
    found = tree.receive_join(mine, NodeId(20), at(9.0))
    assert (found.answer, found.forward_to) == ("forward", 5)
    assert tree.requests == 1


def test_where_there_is_room_it_may_stay() -> None:
    tree, mine = make()
    assert tree.receive_join(mine, NodeId(20), at(11.0)) == OK


def test_when_every_child_is_closer_the_closest_of_them_gets_it() -> None:
    tree, mine = make()
    tree.children = {NodeId(20): at(12.0), NodeId(21): at(0.0, 13.0)}
    found = tree.receive_join(mine, NodeId(22), at(0.0, 20.0))
    assert (found.answer, found.forward_to, found.evicted) == ("forward", 21, None)


def test_the_farthest_child_is_evicted_to_the_sibling_closest_to_it() -> None:
    tree, mine = make()
    tree.children = {NodeId(20): at(12.0), NodeId(21): at(0.0, 30.0)}
    found = tree.receive_join(mine, NodeId(22), at(0.0, 20.0))
    assert (found.answer, found.evicted, found.evicted_to) == ("ok", 21, 22)


def test_equal_distances_are_ordered_by_id() -> None:
    tree, mine = make()
    assert tree.receive_join(mine, NodeId(9), at(-10.0)).answer == "forward"
    assert tree.receive_join(mine, NodeId(11), at(-10.0)) == OK


def test_an_ancestor_and_a_node_without_a_tree_are_denied() -> None:
    tree, mine = make()
    assert tree.receive_join(mine, NodeId(5), at(5.0)) == DENY
    tree.parent = None
    assert tree.receive_join(mine, NodeId(20), at(11.0)) == DENY
    assert FeedTree("news", ME, 2, 10).receive_join(mine, NodeId(20), at(11.0)) == DENY


def test_an_adopted_child_finds_room_in_any_case() -> None:
    tree, mine = make()
    tree.children = {NodeId(20): at(12.0), NodeId(21): at(13.0)}
    tree.adopted[NodeId(22)] = None
    assert tree.receive_join(mine, NodeId(22), at(99.0)) == OK


def test_the_heir_is_the_child_closest_to_the_publisher() -> None:
    tree, _ = make()
    assert tree.heir() is None
    tree.children = {NodeId(20): at(14.0), NodeId(21): at(13.0)}
    assert tree.heir() == 21


def test_the_invariant_is_seen_to_be_broken() -> None:
    tree, mine = make()
    assert tree.holds_invariant(mine)
    tree.descend(Descent("news", ROOT, at(0), at(11.0), (NodeId(5), ROOT)))
    assert not tree.holds_invariant(mine)


PLACES = st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=1, max_size=30)


@given(places=PLACES, fanout=st.integers(1, 5))
def test_any_order_of_joins_ends_in_one_tree_that_holds_the_invariant(
    places: list[tuple[int, int]], fanout: int
) -> None:
    where = {NodeId(n): at(float(x), float(y)) for n, (x, y) in enumerate(places)}
    root = NodeId(0)
    trees = {node: FeedTree("news", node, fanout, 10) for node in where}
    for tree in trees.values():
        tree.root, tree.root_place = root, where[root]
    todo = [(node, root) for node in where if node != root]
    for _ in range(10_000):
        if not todo:
            break
        node, asked = todo.pop(0)
        tree = trees[asked]
        found = tree.receive_join(where[asked], node, where[node])
        assert found.answer != "deny"
        if found.answer == "forward":
            assert found.forward_to is not None
            todo.insert(0, (node, found.forward_to))
            continue
        tree.children[node] = where[node]
        trees[node].parent = asked
        trees[node].parent_place = where[asked]
        if found.evicted is not None:
            assert found.evicted_to not in (None, found.evicted)
            del tree.children[found.evicted]
            todo.append((found.evicted, found.evicted_to))  # type: ignore[arg-type]
    assert not todo
    for node, tree in trees.items():
        assert len(tree.children) <= fanout
        assert (tree.parent is None) == (node == root)
        assert tree.holds_invariant(where[node])


def test_the_ancestor_for_a_rejoin_is_drawn_with_falling_probability() -> None:
    tree = FeedTree("news", ME, 5, 10)
    tree.ancestors = tuple(NodeId(n) for n in (9, 8, 7, 6))
    rng = generator("rejoin")
    counts = Counter(tree.rejoin_at(rng) for _ in range(10_000))
    assert counts[NodeId(9)] == 0
    weights = {8: 25 / 31, 7: 5 / 31, 6: 1 / 31}
    for node, share in weights.items():
        assert counts[NodeId(node)] / 10_000 == pytest.approx(share, abs=0.01)
    tree.ancestors = (NodeId(9),)
    assert tree.rejoin_at(rng) is None


def event(seq: int) -> Event:
    return Event("news", NodeId(7), 1000, seq)


def test_the_cache_holds_ten_updates() -> None:
    tree, _ = make()
    for seq in range(25):
        assert tree.news(event(seq).stream, seq)
        tree.put(Held(event(seq), 1, 0, 0))
    assert [name[3] for name in tree.names] == list(range(15, 25))
    assert not tree.news(event(3).stream, 3)


def test_gaps_within_the_window_are_asked_for_once() -> None:
    tree, _ = make()
    for seq in (0, 1, 5):
        tree.news(event(seq).stream, seq)
    gaps = tree.gaps(event(5).stream, 5)
    assert [name[3] for name in gaps] == [2, 3, 4]
    assert tree.lacking(gaps, 0, 1000) == gaps
    assert tree.lacking(gaps, 999, 1000) == []
    assert tree.lacking(gaps, 1000, 1000) == gaps
    tree.news(event(3).stream, 3)
    assert [name[3] for name in tree.lacking(gaps, 5000, 1000)] == [2, 4]
