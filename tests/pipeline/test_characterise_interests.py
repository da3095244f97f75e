"""What is said of interests, on plain arrays: likeness and locality, no Spark."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from orbweaver.metrics.similarity import top_intersection
from orbweaver.pipeline.characterise.interests import Batch, Index
from orbweaver.pipeline.characterise.locality import Masks, covered_rows, greedy, mask_rows
from orbweaver.pipeline.characterise.minhash import Bands
from orbweaver.pipeline.characterise.tdi import Best
from orbweaver.workload.models.catalog import build, make_plan


def batch(interests: dict[str, list[int]]) -> Batch:
    """Topics as they come from Spark: hashes, ascending."""
    lists = pa.array([sorted(topics) for topics in interests.values()], pa.list_(pa.int64()))
    return Batch.of(pa.table({"node": list(interests), "topics": lists}))


def drawn(model: str, nodes: int, **given: object) -> dict[str, list[int]]:
    rows = build(make_plan(model, {"nodes": nodes, **given}), 1).draw(np.arange(nodes)).rows()
    return {str(i): [topic * 1_000_003 - 5_000_000 for topic in row] for i, row in enumerate(rows)}


SMALL = {"a": [1, 2, 3], "b": [2, 3, 4, 5], "c": [9], "d": [1, 9]}


def test_shared_topics_by_hand() -> None:
    asked, node, shared = Index(batch(SMALL)).shared(batch(SMALL))
    found = {("abcd"[a], "abcd"[n]): int(s) for a, n, s in zip(asked, node, shared, strict=True)}
    expected = {("a", "b"): 2, ("a", "d"): 1, ("c", "d"): 1}
    assert found == expected | {(n, a): s for (a, n), s in expected.items()}


def test_parts_of_a_batch_are_batches() -> None:
    whole = batch(SMALL)
    parts = list(whole.parts(3))
    assert [part.nodes.to_pylist() for part in parts] == [["a", "b", "c"], ["d"]]
    assert parts[1].topics.tolist() == [1, 9]
    # Arrow slices share their memory with the whole; offsets then do not begin at 0.
    table = pa.table({"node": whole.nodes, "topics": pa.array(list(SMALL.values()))})
    assert Batch.of(table.slice(1, 2).to_batches()[0]).topics.tolist() == [2, 3, 4, 5, 9]


def test_tdi_by_hand() -> None:
    best = Best(batch(SMALL), 2)
    best.see(batch(SMALL))
    # a: b shares 2 of 3, d 1 of 2. b: only a. c: d has its one topic. d: c, then a.
    assert best.values == pytest.approx(
        np.array([[200 / 3, 50], [200 / 3, 0], [100, 0], [100, 50]])
    )


@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("rss", {}),
        ("zipf:1", {"subscriptions_per_node": "1:40"}),
        ("spatial", {"subscriptions_per_node": "10"}),
        ("omen-zipf", {}),
    ],
)
def test_tdi_of_all_nodes_is_that_of_the_metrics(model: str, given: dict[str, object]) -> None:
    interests = drawn(model, 250, **given)
    everyone = batch(interests)
    best = Best(everyone, 20)
    for part in everyone.parts(60):
        best.see(part)
    expected = top_intersection([list(map(str, topics)) for topics in interests.values()], 20)
    assert best.values.mean() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("model", ["rss", "spatial", "vitis-low"])
def test_minhash_finds_most_of_the_likeness(model: str) -> None:
    interests = drawn(model, 300)
    everyone = batch(interests)
    expected = top_intersection([list(map(str, topics)) for topics in interests.values()], 10)
    best = Best(everyone, 10, Bands(bands=64))
    best.see(everyone)
    found = best.values.mean()
    # Neighbours can be missed, never invented. The ten nearest of 300 nodes have a Jaccard
    # similarity of 0.045 on average in vitis-low (more in the others), which 64 bands miss
    # with a chance of 0.955^64 = 5 %; the next best, nearly as good, then takes its place.
    assert 0.96 * expected < found <= expected + 1e-9


def test_the_chance_of_a_band_is_the_jaccard_similarity() -> None:
    """J = 10 / 30 for each pair; 4,000 bands have a standard error of 0.0075; four."""
    pair = batch({"a": list(range(20)), "b": list(range(10, 30))})
    keys = Bands(bands=4000).signatures(pair)
    assert (keys[:, 0] == keys[:, 1]).mean() == pytest.approx(1 / 3, abs=0.03)
    twos = Bands(bands=4000, rows=2).signatures(pair)
    assert (twos[:, 0] == twos[:, 1]).mean() == pytest.approx(1 / 9, abs=0.02)


def test_greedy_by_hand() -> None:
    """Six topics. The best single friend has the four in the middle, and greed then needs
    three friends where two would do."""
    masks = [0b000111, 0b111000, 0b011110, 0b000001, 0b100000]
    as_bytes = [mask.to_bytes(1, "little") for mask in masks]
    assert greedy(as_bytes, 4) == [4, 5, 6, 6]
    assert greedy(as_bytes[:2], 3) == [3, 6, 6]
    assert greedy([], 2) == [0, 0]
    # Between equals the first wins: 0b0011 first, which leaves one more for each other.
    assert greedy([b"\x03", b"\x06", b"\x0c"], 2) == [2, 4]


def test_masks_by_hand() -> None:
    """A node with ten topics needs two bytes; it is no friend of its own."""
    topics = list(range(100, 110))
    asked = batch({"me": topics})
    others = batch({"me": topics, "x": [100, 109], "y": [5, 101], "z": [100, 109, 7], "w": [3]})
    masks = Masks(asked)
    masks.see(others)
    found = [{j for j in range(10) if int.from_bytes(m, "little") >> j & 1} for m in masks.of[0]]
    assert sorted(map(sorted, found)) == [[0, 9], [1]]


def test_masks_leave_a_task_and_meet_again() -> None:
    asked = batch({"a": [1, 2, 3], "b": [7]})
    rows = list(mask_rows(Masks(asked), iter([_record({"c": [1, 2], "d": [3], "e": [1, 2]})])))
    assert rows[0].column("asked").to_pylist() == [0, 0]
    assert sorted(rows[0].column("mask").to_pylist()) == [b"\x03", b"\x04"]
    lists = pa.array([[b"\x03", b"\x04"]], pa.list_(pa.binary()))
    together = pa.RecordBatch.from_arrays([pa.array([0]), lists], ["asked", "masks"])
    assert covered_rows(together, 3).to_pydict() == {"asked": [0], "covered": [[2, 3, 3]]}


def _record(interests: dict[str, list[int]]) -> pa.RecordBatch:
    lists = pa.array(list(interests.values()), pa.list_(pa.int64()))
    return pa.RecordBatch.from_arrays([pa.array(list(interests)), lists], ["node", "topics"])
