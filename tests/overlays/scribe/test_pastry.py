"""The leaf set, the routing table and the routes of Pastry, with states made by hand."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean

import pytest

from orbweaver.core.identifiers import PLACE_OF_NODE
from orbweaver.core.ids import NodeId
from orbweaver.core.seeds import generator
from orbweaver.overlays.scribe.pastry import (
    COLUMNS,
    ID_SPACE,
    PastryState,
    id_distance,
    pastry_id,
    shared_digits,
)

NODES = [NodeId(n) for n in range(400)]
IDS = {node: pastry_id(PLACE_OF_NODE[node]) for node in NODES}


def state(me: int, nodes: Iterable[int], leaf_set: int = 8, proximity: bool = True) -> PastryState:
    made = PastryState(NodeId(me), PLACE_OF_NODE, leaf_set, proximity)
    for node in nodes:
        made.put(NodeId(node), None)
    return made


def same_place(made: PastryState) -> list[NodeId]:
    """Return nodes that all fit one place of the routing table and are far away in the leaf
    set."""
    by_slot: dict[int, list[NodeId]] = {}
    for node in NODES[1:]:
        if not made.is_near(node):
            by_slot.setdefault(made._slot_of(node), []).append(node)
    return max(by_slot.values(), key=len)


def test_an_identifier_has_32_digits() -> None:
    assert all(0 <= identifier < ID_SPACE for identifier in IDS.values())
    assert len(set(IDS.values())) == len(NODES)
    a = 0xABC << 116
    assert shared_digits(a, a) == 32
    assert shared_digits(a, a ^ 1) == 31
    assert shared_digits(a, a ^ 0b1000 << 116) == 2
    assert shared_digits(a, a ^ 1 << 127) == 0
    assert id_distance(0, ID_SPACE - 3) == 3


def test_the_leaf_set_is_the_nearest_nodes_on_either_side() -> None:
    made = state(0, NODES[1:])
    order = sorted(NODES[1:], key=lambda node: (IDS[node] - IDS[NodeId(0)]) % ID_SPACE)
    assert list(made.leaves) == [*order[:4], *order[-4:]]
    assert made.edges() == [order[3], order[-4]]
    few = state(0, NODES[1:6])
    assert sorted(few.leaves) == NODES[1:6]


def test_an_entry_of_the_table_shares_as_many_digits_as_its_row_says() -> None:
    made = state(0, NODES[1:])
    for slot, node in made.table.items():
        row, column = divmod(slot, COLUMNS)
        assert shared_digits(made.id, IDS[node]) == row == made.row_of(node)
        assert IDS[node] >> (124 - 4 * row) & 15 == column
    assert len(made.row(0)) == 15, "with 400 nodes, every column of the first row has some"
    assert made.rows() == list(range(len(made.rows())))


def test_routes_end_at_the_numerically_closest_node_after_about_log16_n_hops() -> None:
    states = {node: state(node, [n for n in NODES if n != node]) for node in NODES}
    rng = generator("routes")
    hops = []
    for _ in range(300):
        key, at, count = rng.getrandbits(128), rng.choice(NODES), 0
        while (hop := states[at].next_hop(key)) is not None:
            before = (shared_digits(IDS[at], key), -id_distance(IDS[at], key))
            after = (shared_digits(IDS[hop], key), -id_distance(IDS[hop], key))
            assert after > before or id_distance(IDS[hop], key) < id_distance(IDS[at], key)
            at, count = hop, count + 1
        assert at == min(NODES, key=lambda node: id_distance(IDS[node], key))
        hops.append(count)
    assert mean(hops) < 2.6  # log16 400 = 2.16
    assert max(hops) <= 4


def test_a_route_may_pass_over_the_node_that_it_looks_up() -> None:
    made = state(0, NODES[1:])
    leaf = made.leaves[0]
    assert made.next_hop(IDS[leaf]) == leaf
    assert made.next_hop(IDS[leaf], but=leaf) in (made.leaves[1], None)
    far = next(node for node in made.table.values() if node not in made.leaves)
    assert made.next_hop(IDS[far]) == far
    other = made.next_hop(IDS[far], but=far)
    assert other is None or (other != far and made.closer(other, IDS[far]))


def test_without_an_entry_a_node_that_is_closer_will_do() -> None:
    made = state(0, NODES[1:])
    far = next(node for node in made.table.values() if node not in made.leaves)
    while (slot := made._slot_of(far)) in made.table:
        made.drop(made.table[slot])
    key = IDS[far]
    hop = made.next_hop(key)
    closer = [node for node in made.ids if id_distance(IDS[node], key) < id_distance(made.id, key)]
    row = shared_digits(made.id, key)
    assert hop in [node for node in closer if shared_digits(IDS[node], key) >= row]


def test_of_the_nodes_that_fit_a_place_the_one_with_the_shortest_round_trip_stays() -> None:
    made = state(0, NODES[1:9])
    first, second, third = same_place(made)[:3]
    slot = made._slot_of(first)
    made.table.pop(slot, None)
    assert made.put(first, 30.0)
    assert made.wanted([second]) == [second]
    assert not made.put(second, 40.0)
    assert made.wanted([second]) == [], "its round trip is known"
    assert not made.put(third, None), "it was not measured"
    assert made.wanted([third]) == [third]
    assert made.put(third, 10.0)
    assert made.table[slot] == third
    assert first not in made.ids


def test_without_proximity_the_first_stays() -> None:
    made = state(0, NODES[1:9], proximity=False)
    first, second = same_place(made)[:2]
    made.table.pop(made._slot_of(first), None)
    made.put(first, 30.0)
    assert made.wanted([second]) == []
    assert not made.put(second, 1.0)


@pytest.mark.parametrize("proximity", [True, False])
def test_a_node_that_is_dropped_leaves_no_trace(proximity: bool) -> None:
    made = state(0, NODES[1:60], proximity=proximity)
    for node in list(made.ids):
        slot = made._slot_of(node)
        in_table = made.table.get(slot) == node
        assert made.drop(node) == (slot // COLUMNS if in_table else None)
        assert node not in made.ids
        assert node not in made.leaves
        assert node not in made.table.values()
    assert made.next_hop(IDS[NodeId(5)]) is None, "it is alone"
    assert made.drop(NodeId(5)) is None


def test_of_many_nodes_only_those_that_would_get_a_place_are_wanted() -> None:
    made = state(0, [], leaf_set=8, proximity=False)
    order = sorted(NODES[1:], key=lambda node: (IDS[node] - IDS[NodeId(0)]) % ID_SPACE)
    wanted = made.wanted([NodeId(0), *NODES[1:], *NODES[1:]])
    assert set(wanted) >= {*order[:4], *order[-4:]}
    assert NodeId(0) not in wanted
    assert len(set(wanted)) == len(wanted)
    for node in NODES[1:]:
        made.put(node, None)
    assert made.wanted(NODES) == []
    made.drop(order[0])
    assert made.wanted(NODES) == [order[0]]
