"""Computes tdi(d), exactly or from a sample (SpiderCast 3.4; `metrics.similarity` defines it).

tdi is a mean over nodes, so it can be estimated from a sample of nodes. Each sampled node is
compared with every other node, so its own value is exact, and the only error is the sampling error,
which comes with the answer. MinHash bands (`minhash`) can choose the pairs to compare. They save
work only where interests are long and similar, and miss neighbours elsewhere, so they are optional
and not the default. What the bands miss is estimated from a part of the sample, by comparing its
nodes with every other node as well, and added. (Measured by benchmarks/bench_characterise.py.)
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
from scipy.sparse import csr_array

from orbweaver.core.errors import UsageError
from orbweaver.metrics.averages import student95
from orbweaver.pipeline.characterise.interests import NODES_AT_ONCE, Batch, Index, Ints, sample
from orbweaver.pipeline.characterise.minhash import Bands
from orbweaver.pipeline.workers import freeze_imports

SAMPLE = 4000
"""Number of nodes in a sample: an error of half a point, at 95 %, if nodes differ by 16 points."""
CHECKED = 400
"""Nodes of a sample that are compared with all nodes even where bands choose the pairs."""

EXACT_MAX = 50_000
"""Most nodes for which exact tdi is the default: a minute of one core; the time grows with the
square."""

EXACT_LIMIT = 200_000
"""Most nodes for exact tdi; more would take hours, and fill the driver's memory."""

DRIVER_MAX = 5000
"""Most nodes that the driver compares by itself; more are left to Spark tasks."""

CELLS = 4_000_000
"""Number of pairs of nodes that are compared at once: 32 MB for each array of them."""

Method = Literal["exact", "sample", "minhash"]


class Tdi(msgspec.Struct, frozen=True):
    d: int
    percent: float
    method: Method
    nodes: int
    """Number of nodes that the mean is taken over."""
    interval95: float | None
    """Half-width of the 95 % interval; None if all nodes were counted, or only one."""


class Pairs(Protocol):
    """Finds pairs of a sampled node and a node of a batch, and the topics that they share."""

    def shared(self, batch: Batch) -> tuple[Ints, Ints, Ints]: ...


def exact(interests: DataFrame, d: int) -> Tdi:
    """Return exact tdi(d). The interests come to the driver, and go to every task."""
    count = interests.count()
    if count > EXACT_LIMIT:
        raise UsageError(f"exact tdi is for at most {EXACT_LIMIT:,} nodes: use --approximate")
    rows = Index(Batch.of(interests.select("node", "topics").toArrow())).rows
    step = max(1, CELLS // max(1, count))

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_imports()
        for batch in batches:
            for part in batch.column(0).to_pylist():
                found = nearest(rows, slice(part * step, (part + 1) * step), d)
                yield pa.RecordBatch.from_pydict({"sum": [float(found.sum())]})

    parts = -(-count // step)
    if count <= DRIVER_MAX:
        sums = [
            float(nearest(rows, slice(i * step, (i + 1) * step), d).sum()) for i in range(parts)
        ]
    else:
        spark = interests.sparkSession
        found = spark.range(0, parts, 1, parts).mapInArrow(run, "sum double").collect()
        sums = [row["sum"] for row in found]
    return Tdi(d, math.fsum(sums) / max(1, count), "exact", count, None)


def nearest(rows: csr_array, some: slice, d: int) -> NDArray[np.float64]:
    """Return, for some of the nodes, the mean intersection with the d most similar nodes of all.
    Each row of the matrix has the topics of a node."""
    sizes = np.diff(rows.indptr)
    shared = (rows[some] @ rows.T).toarray()
    value = 100.0 * shared / np.minimum(sizes[some, None], sizes)
    own = np.arange(len(value))
    value[own, own + some.start] = 0
    if d < value.shape[1]:
        value = np.partition(value, -d, axis=1)[:, -d:]
    mean: NDArray[np.float64] = value.sum(axis=1) / d
    return mean


def approximate(
    interests: DataFrame, d: int, seed: int = 0, count: int = SAMPLE, bands: Bands | None = None
) -> Tdi:
    """Return tdi(d) from `count` nodes compared with all nodes. With `bands` they are compared with
    the nodes that share a band, and corrected by what the bands miss."""
    asked = sample(interests, count, seed)
    values = of_sample(interests, asked, d, bands)
    method: Method = "sample"
    exact_values = values
    if bands is not None:
        method = "minhash"
        exact_values = of_sample(interests, next(asked.parts(CHECKED)), d)
    percent, interval = corrected(values, exact_values, interests.count())
    return Tdi(d, percent, method, len(values), interval)


def corrected(
    values: NDArray[np.float64], exact_values: NDArray[np.float64], total: int
) -> tuple[float, float | None]:
    """Return the mean over `total` nodes and half its 95 % interval, from values of a sample, which
    may all be too low, and the exact values of the sample's first nodes.

    The mean of the differences is added to the mean of the sample: the difference estimator of
    two-phase sampling. The interval is None if all nodes were counted exactly, which leaves no
    error, and if one of several was, which says nothing about the error.
    """
    count, checked = len(values), len(exact_values)
    missed = exact_values - values[:checked]
    percent = float(values.mean() + missed.mean())
    if checked in (1, total):
        return percent, None
    # Of a sample that is most of the whole, less is left to chance.
    of_sampling = float(exact_values.var(ddof=1)) * max(0.0, 1 / count - 1 / total)
    of_correction = float(missed.var(ddof=1)) * (1 / checked - 1 / count)
    return percent, student95(checked - 1) * math.sqrt(of_sampling + of_correction)


def of_sample(
    interests: DataFrame, asked: Batch, d: int, bands: Bands | None = None
) -> NDArray[np.float64]:
    """Return the tdi of each sampled node. Every task finds the d best among its own nodes."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_imports()
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
    """Keeps the d highest intersections, in percent, of each sampled node so far."""

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
