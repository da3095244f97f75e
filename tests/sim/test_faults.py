"""The fate of single messages."""

from collections import Counter
from random import Random
from typing import Any

import pytest

from orbweaver.core.ids import NodeId
from orbweaver.sim.faults import Faults, any_faults
from orbweaver.workload.scenario import FaultSpec, PartitionSpec

MANY = 4000


def fates(spec: FaultSpec, now: int = 0, delay: int = 10) -> list[list[int] | str]:
    faults = Faults(spec, 10, Random(5))
    return [faults.fate(now, NodeId(0), NodeId(1), delay) for _ in range(MANY)]


def pairs(faults: Faults, now: int, nodes: int) -> dict[tuple[int, int], list[int] | str]:
    everyone = range(nodes)
    return {
        (a, b): faults.fate(now, NodeId(a), NodeId(b), 10)
        for a in everyone
        for b in everyone
        if a != b
    }


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, False),
        ({"reorder_ms": 50, "slow_ms": 7}, False),
        ({"loss": 0.1}, True),
        ({"duplicate": 0.1}, True),
        ({"reorder": 0.1}, True),
        ({"slow_share": 0.1}, True),
        ({"partitions": (PartitionSpec(0, 1),)}, True),
    ],
)
def test_whether_there_are_any(settings: dict[str, Any], expected: bool) -> None:
    assert any_faults(FaultSpec(**settings)) == expected


@pytest.mark.parametrize("loss", [0.0, 0.05, 0.5, 1.0])
def test_the_share_that_is_lost(loss: float) -> None:
    found = Counter(fate == "loss" for fate in fates(FaultSpec(loss=loss)))
    assert found[True] / MANY == pytest.approx(loss, abs=0.025)


def test_what_is_not_touched_arrives_once_in_time() -> None:
    assert all(fate == [10] for fate in fates(FaultSpec(slow_share=0.0)))


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_duplicates_come_later_than_the_original(share: float) -> None:
    found = fates(FaultSpec(duplicate=share, reorder_ms=30))
    twice = [fate for fate in found if len(fate) == 2]
    assert len(twice) / MANY == pytest.approx(share, abs=0.025)
    assert {fate[0] for fate in twice} == {10}
    assert {fate[1] for fate in twice} == set(range(11, 42))


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_reordering_holds_back_for_a_while(share: float) -> None:
    found = [fate[0] for fate in fates(FaultSpec(reorder=share, reorder_ms=30))]
    assert set(found) == set(range(10, 41))
    # One in 31 of those held back is held back by nothing.
    late = sum(delay > 10 for delay in found) / MANY
    assert late == pytest.approx(share * 30 / 31, abs=0.025)


@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_slow_nodes_are_slow_to_receive(share: float) -> None:
    faults = Faults(FaultSpec(slow_share=share, slow_ms=200), 10, Random(1))
    delays: dict[int, set[int]] = {}
    for (_, to), fate in pairs(faults, 0, 10).items():
        delays.setdefault(to, set()).add(fate[0])
    assert all(len(seen) == 1 for seen in delays.values()), "a node is slow always or never"
    slow = [to for to, seen in delays.items() if seen == {210}]
    assert len(slow) == round(share * 10)
    assert all(delays[to] == {10} for to in delays if to not in slow)


@pytest.mark.parametrize(
    ("now", "cut"), [(99, False), (100, True), (150, True), (199, True), (200, False)]
)
@pytest.mark.parametrize("share", [0.3, 0.5])
def test_a_partition_starts_and_heals(now: int, cut: bool, share: float) -> None:
    spec = FaultSpec(partitions=(PartitionSpec(100, 200, share),))
    found = pairs(Faults(spec, 10, Random(2)), now, 10)
    inside = round(share * 10)
    expected = 2 * inside * (10 - inside) if cut else 0
    assert sum(fate == "partition" for fate in found.values()) == expected


def test_a_partition_is_the_same_from_both_sides() -> None:
    spec = FaultSpec(partitions=(PartitionSpec(0, 100, 0.5),))
    found = pairs(Faults(spec, 10, Random(2)), 50, 10)
    assert all(found[(a, b)] == found[(b, a)] for a, b in found)
    side = {b for b in range(1, 10) if found[(0, b)] != "partition"} | {0}
    assert all(
        (fate == "partition") == ((a in side) != (b in side)) for (a, b), fate in found.items()
    )


def test_partitions_may_overlap() -> None:
    spec = FaultSpec(partitions=(PartitionSpec(0, 100, 0.5), PartitionSpec(50, 150, 0.5)))
    faults = Faults(spec, 20, Random(3))
    cut = {
        now: {p for p, f in pairs(faults, now, 20).items() if f == "partition"}
        for now in (25, 75, 125)
    }
    assert cut[75] == cut[25] | cut[125]
    assert cut[25] != cut[125]
