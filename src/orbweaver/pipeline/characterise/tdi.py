"""tdi(d), exactly or from a sample (SpiderCast 3.4; `metrics.similarity` defines it).

tdi is a mean over nodes, and a mean can be had from a sample of them. Each sampled node
is held against every other node, so its own value is exact and the only error is that of
sampling, which comes with the answer. MinHash bands (`minhash`) can pick the pairs to
look at; that saves work only where interests are long and alike, and misses neighbours
where they are not, so it is there to be chosen and is not the default. (Measured by
benchmarks/bench_characterise.py.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, Protocol

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from orbweaver.core.errors import UsageError
from orbweaver.metrics.similarity import top_intersection
from orbweaver.pipeline.characterise.interests import NODES_AT_ONCE, Batch, Index, Ints, sample
from orbweaver.pipeline.characterise.minhash import Bands

SAMPLE = 4000
"""Nodes: half a point of error, at 95 %, where nodes differ by 16 points."""
EXACT_MAX = 20_000
"""Nodes up to which exact takes seconds; the time grows with the square."""

EXACT_LIMIT = 200_000
"""Nodes above which exact would take hours, and fill the driver's memory."""

Method = Literal["exact", "sample", "minhash"]


class Tdi(msgspec.Struct, frozen=True):
    d: int
    percent: float
    method: Method
    nodes: int
    """Nodes whose own tdi went into the mean."""
    interval95: float | None
    """Half-width of the 95 % interval; None when every node was counted."""


class Pairs(Protocol):
    """Finds pairs of a sampled node and a node of a batch, and what they share."""

    def shared(self, batch: Batch) -> tuple[Ints, Ints, Ints]: ...


def exact(interests: DataFrame, d: int) -> Tdi:
    """Brings the interests to the driver."""
    if interests.count() > EXACT_LIMIT:
        raise UsageError(f"exact tdi is for at most {EXACT_LIMIT:,} nodes: use --approximate")
    lists = [row[0] for row in interests.select("topics").toLocalIterator()]
    return Tdi(d, top_intersection(lists, d), "exact", len(lists), None)


def approximate(
    interests: DataFrame, d: int, seed: int = 0, count: int = SAMPLE, bands: Bands | None = None
) -> Tdi:
    """From `count` nodes against all; with `bands`, against those that share a band."""
    asked = sample(interests, count, seed)
    values = of_sample(interests, asked, d, bands)
    total = interests.count()
    # Of a sample that is most of the whole, less is left to chance.
    left = max(0.0, 1 - len(values) / total)
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    interval = None if left == 0 else 1.96 * spread * math.sqrt(left / len(values))
    method: Method = "sample" if bands is None else "minhash"
    return Tdi(d, float(values.mean()), method, len(values), interval)


def of_sample(
    interests: DataFrame, asked: Batch, d: int, bands: Bands | None = None
) -> NDArray[np.float64]:
    """The tdi of each sampled node. Every task finds the d best among its own nodes."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from best_rows(Best(asked, d, bands), batches)

    found = (
        interests.select("node", "topics")
        .mapInArrow(run, "asked long, best array<double>")
        .groupBy("asked")
        .agg(F.flatten(F.collect_list("best")).alias("best"))
        .select("asked", F.slice(F.sort_array("best", asc=False), 1, d).alias("best"))
        .select("asked", F.expr("aggregate(best, 0D, (sum, x) -> sum + x)").alias("sum"))
        .toArrow()
    )
    values = np.zeros(len(asked.nodes))
    values[found.column("asked").to_numpy()] = found.column("sum").to_numpy() / d
    return values


class Best:
    """The d highest intersections, in percent, of each sampled node so far."""

    def __init__(self, asked: Batch, d: int, bands: Bands | None = None) -> None:
        self._index = Index(asked)
        self._pairs: Pairs = self._index if bands is None else bands.finder(asked, self._index)
        self.values = np.zeros((len(asked.nodes), d))

    def see(self, batch: Batch) -> None:
        for part in batch.parts(NODES_AT_ONCE):
            asked, node, shared = self._pairs.shared(part)
            value = 100.0 * shared / np.minimum(self._index.sizes[asked], part.sizes[node])
            # After a few batches hardly anything is better than what is there.
            better = value > self.values[asked, -1]
            self._merge(asked[better], value[better])

    def _merge(self, asked: Ints, value: NDArray[np.float64]) -> None:
        touched = np.unique(asked)
        d = self.values.shape[1]
        who = np.concatenate((asked, np.repeat(touched, d)))
        what = np.concatenate((value, self.values[touched].ravel()))
        order = np.lexsort((-what, who))
        who, what = who[order], what[order]
        first = np.searchsorted(who, touched)
        self.values[touched] = what[first[:, None] + np.arange(d)]


def best_rows(best: Best, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        best.see(Batch.of(batch))
    asked = np.flatnonzero(best.values[:, 0] > 0)
    values = pa.array(list(best.values[asked]), pa.list_(pa.float64()))
    yield pa.RecordBatch.from_arrays([pa.array(asked), values], ["asked", "best"])
