"""Measures interest locality (Rappel, Fig. 1): how few friends cover all topics of a node.

A friend covers the topics that both nodes have. Each node chooses greedily, k times, the node that
covers most of its uncovered topics. As in the paper, nodes with fewer than five subscriptions are
left out and about a thousand of the others are measured; any node may be a friend.

A possible friend is fully described by which of the node's topics it shares: a bit mask. Thousands
of nodes come down to a few distinct masks, and only the masks leave a task. Between equal gains the
smallest mask wins, which settles ties the same way on any cluster (the paper leaves them open).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from orbweaver.pipeline.characterise.interests import Batch, Index, Ints, sample
from orbweaver.pipeline.workers import freeze_imports

FRIENDS_MAX = 10
"""Most friends that a node chooses."""
SIZE_MIN = 5
"""Least number of topics of a measured node."""
USERS = 1000
"""How many nodes are measured."""


class Locality(msgspec.Struct, frozen=True):
    users: int
    """How many nodes were measured."""
    size_min: int
    fully_covered: list[float]
    """Share of these nodes that k = 1, 2, ... friends cover completely."""
    coverage: list[float]
    """Mean share of a node's topics that k friends cover."""
    points: list[tuple[int, int]]
    """(topics, topics covered by six friends) of each node; Fig. 1b."""


def locality(interests: DataFrame, seed: int = 0, friends: int = FRIENDS_MAX) -> Locality | None:
    """Return the locality, or None if no node has at least `SIZE_MIN` topics."""
    asked = sample(interests, USERS, seed, SIZE_MIN)
    if not len(asked.nodes):
        return None

    def masks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_imports()
        yield from mask_rows(Masks(asked), batches)

    def choose(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_imports()
        for batch in batches:
            yield covered_rows(batch, friends)

    found = (
        interests.select("node", "topics")
        .mapInArrow(masks, "asked long, mask binary")
        .groupBy("asked")
        .agg(F.sort_array(F.collect_set("mask")).alias("masks"))
        .mapInArrow(choose, "asked long, covered array<int>")
        .toArrow()
    )
    covered = np.zeros((len(asked.nodes), friends), dtype=np.int64)
    for row in found.to_pylist():
        covered[row["asked"]] = row["covered"]
    sizes = asked.sizes[:, None]
    sixth = covered[:, min(6, friends) - 1]
    return Locality(
        len(covered),
        SIZE_MIN,
        [float(share) for share in (covered == sizes).mean(axis=0)],
        [float(share) for share in (covered / sizes).mean(axis=0)],
        [(int(size), int(of)) for size, of in zip(asked.sizes, sixth, strict=True)],
    )


def greedy(masks: Iterable[bytes], friends: int) -> list[int]:
    """Return how many topics are covered after 1, 2, ... `friends` choices. Of equal masks, the
    first in `masks` is chosen."""
    left = [int.from_bytes(mask, "little") for mask in masks]
    covered, counts = 0, []
    for _ in range(friends):
        best = max(left, key=lambda mask: (mask & ~covered).bit_count(), default=0)
        covered |= best
        counts.append(covered.bit_count())
    return counts


class Masks:
    """Collects, for each sampled node, the distinct masks of the nodes seen so far."""

    def __init__(self, asked: Batch) -> None:
        self._index = Index(asked)
        self.of: list[set[bytes]] = [set() for _ in range(len(asked.nodes))]

    def see(self, batch: Batch) -> None:
        for part in batch.parts(10_000):
            wanted = self._index.encode(part).tocsc()
            itself = self._index.itself(part)
            for asked, seen in enumerate(self.of):
                columns = self._index.rows.indices[self._of(asked)]
                seen.update(_masks(wanted.indptr, wanted.indices, columns, itself == asked))

    def _of(self, asked: int) -> slice:
        starts = self._index.rows.indptr
        return slice(int(starts[asked]), int(starts[asked + 1]))


def _masks(starts: Ints, nodes: Ints, columns: Ints, but: Ints) -> list[bytes]:
    """Return the distinct masks over `columns`, bit j for the j-th, of all nodes `but` one."""
    bits = np.zeros((len(but), (len(columns) + 7) // 8), dtype=np.uint8)
    for j, column in enumerate(columns):
        bits[nodes[starts[column] : starts[column + 1]], j // 8] |= np.uint8(1 << j % 8)
    bits[but] = 0
    rows = bits[bits.any(axis=1)]
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, bits.shape[1]))).ravel()
    return [bytes(mask) for mask in set(whole.tolist())]


def mask_rows(masks: Masks, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        masks.see(Batch.of(batch))
    counts = [len(found) for found in masks.of]
    asked = pa.array(np.repeat(np.arange(len(counts)), counts))
    flat = [mask for found in masks.of for mask in sorted(found)]
    yield pa.RecordBatch.from_arrays([asked, pa.array(flat, pa.binary())], ["asked", "mask"])


def covered_rows(batch: pa.RecordBatch, friends: int) -> pa.RecordBatch:
    covered = [greedy(masks, friends) for masks in batch.column(1).to_pylist()]
    return pa.RecordBatch.from_arrays(
        [batch.column(0), pa.array(covered, pa.list_(pa.int32()))], ["asked", "covered"]
    )
