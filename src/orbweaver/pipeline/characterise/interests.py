"""Gathers subscriptions by node, and compares a batch of nodes with a sample.

Topics travel as 64-bit hashes, which need no common table of numbers (among ten million topics two
collide with a chance of 3 in a million). A task that has the sample's topics in a sparse matrix
counts the topics that each of its nodes shares with each sampled node by one matrix product.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from scipy.sparse import csr_array

Ints = NDArray[np.int64]

NODES_AT_ONCE = 2000
"""How many nodes a product takes: with a sample of 4,000 it has at most 8 M cells, 100 MB."""


def interests(pairs: DataFrame) -> DataFrame:
    """Return one row for each node: `node` and `topics`, each topic once, in the order of hashes.

    Rows are spread by node first, so that dropping duplicates and gathering need no second shuffle.
    """
    hashed = pairs.select("node", F.xxhash64("topic").alias("topic"))
    return (
        hashed.repartition("node")
        .groupBy("node")
        .agg(F.sort_array(F.collect_set("topic")).alias("topics"))
    )


def sample(interests: DataFrame, count: int, seed: int, size_min: int = 1) -> Batch:
    """Return `count` nodes with at least `size_min` topics: the nodes with the smallest hashes of
    seed and name, so that neither partitions nor their order matter."""
    chosen = (
        interests.where(F.size("topics") >= size_min)
        .select("node", "topics", F.xxhash64(F.lit(seed), "node").alias("lot"))
        .orderBy("lot", "node")
        .limit(count)
        .toArrow()
    )
    return Batch.of(chosen.select(["node", "topics"]))


class Batch(NamedTuple):
    """A batch has nodes and their topics, one list after the other."""

    nodes: pa.Array
    starts: Ints
    topics: Ints

    @staticmethod
    def of(table: Any) -> Batch:
        """Make a batch from an Arrow table with columns node, topics."""
        if isinstance(table, pa.Table):
            table = table.combine_chunks()
        nodes, lists = table.column(0), table.column(1)
        if isinstance(lists, pa.ChunkedArray):
            nodes = (
                pa.concat_arrays(nodes.chunks) if nodes.num_chunks else pa.array([], pa.string())
            )
            lists = (
                pa.concat_arrays(lists.chunks)
                if lists.num_chunks
                else pa.array([], pa.list_(pa.int64()))
            )
        offsets = lists.offsets.to_numpy().astype(np.int64)
        topics = lists.values.to_numpy()[offsets[0] : offsets[-1]]
        return Batch(nodes, offsets - offsets[0], topics)

    @property
    def sizes(self) -> Ints:
        return np.diff(self.starts)

    def parts(self, size: int) -> Iterator[Batch]:
        for first in range(0, len(self.nodes), size):
            last = min(first + size, len(self.nodes))
            low, high = self.starts[first], self.starts[last]
            yield Batch(
                self.nodes[first:last], self.starts[first : last + 1] - low, self.topics[low:high]
            )


class Index:
    """An index of the sample; its columns are the topics that occur in the sample."""

    def __init__(self, asked: Batch) -> None:
        self.sizes = asked.sizes
        self._known, columns = np.unique(asked.topics, return_inverse=True)
        self.rows = _matrix(columns, asked.starts, len(self._known))
        self.place = {name: i for i, name in enumerate(asked.nodes.to_pylist())}

    def encode(self, batch: Batch) -> csr_array:
        """Return the matrix nodes x known topics. Topics that no sampled node has are left out."""
        columns = np.searchsorted(self._known, batch.topics)
        columns[columns == len(self._known)] = 0
        found = self._known[columns] == batch.topics
        starts = np.concatenate(([0], np.cumsum(found)))[batch.starts]
        return _matrix(columns[found], starts, len(self._known))

    def shared(self, batch: Batch) -> tuple[Ints, Ints, Ints]:
        """Return (place in the sample, place in the batch, topics in common) for each pair of
        different nodes that share a topic."""
        product = (self.rows @ self.encode(batch).T).tocoo()
        asked, node = product.row.astype(np.int64), product.col.astype(np.int64)
        apart = self.itself(batch)[node] != asked
        return asked[apart], node[apart], product.data[apart].astype(np.int64)

    def itself(self, batch: Batch) -> Ints:
        """Return the place in the sample of each node of a batch, or -1."""
        return np.array([self.place.get(name, -1) for name in batch.nodes.to_pylist()], np.int64)


def _matrix(columns: Ints, starts: Ints, width: int) -> csr_array:
    ones = np.ones(len(columns), dtype=np.int32)
    return csr_array((ones, columns, starts), shape=(len(starts) - 1, width))
