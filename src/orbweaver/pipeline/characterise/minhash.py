"""Finds candidate pairs by MinHash bands: pairs that agree in a band are likely similar.

The chance that two sets have the same minimum under a random hash is their Jaccard similarity J. A
band is `rows` such minima; with `bands` bands a pair becomes a candidate with probability 1 - (1 -
J^rows)^bands. The topics that candidates share are then counted exactly, so the error is one-sided:
neighbours that no band found.

tdi looks at the nearest of thousands of nodes, which in the papers' workloads still have a J of
only 0.05 to 0.3; hence single rows by default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from orbweaver.workload.models.chance import mix, states

if TYPE_CHECKING:
    from orbweaver.pipeline.characterise.interests import Batch, Index, Ints

Words = NDArray[np.uint64]


class Bands(msgspec.Struct, frozen=True):
    bands: int = 64
    rows: int = 1
    seed: int = 0

    def signatures(self, batch: Batch) -> Words:
        """Return one key for each node and band; shape (bands, nodes). No node may be empty."""
        words = batch.topics.astype(np.uint64)
        lots = states(self.seed, "minhash", "band", np.arange(self.bands * self.rows))
        keys = np.zeros((self.bands, len(batch.nodes)), dtype=np.uint64)
        for number, lot in enumerate(lots):
            least = np.minimum.reduceat(mix(words ^ lot), batch.starts[:-1])
            band = number // self.rows
            keys[band] = mix(keys[band] + least)
        return keys

    def finder(self, asked: Batch, index: Index) -> Finder:
        return Finder(self, asked, index)


class Finder:
    """Finds candidates for a sample, and the topics that they share with it."""

    def __init__(self, bands: Bands, asked: Batch, index: Index) -> None:
        self._bands = bands
        self._index = index
        keys = bands.signatures(asked)
        self._order = np.argsort(keys, axis=1)
        self._keys = np.take_along_axis(keys, self._order, axis=1)

    def shared(self, batch: Batch) -> tuple[Ints, Ints, Ints]:
        asked, node = self._candidates(batch)
        apart = self._index.itself(batch)[node] != asked
        asked, node = asked[apart], node[apart]
        encoded = self._index.encode(batch)
        counts = np.zeros(len(asked), dtype=np.int64)
        step = 1 << 16
        for start in range(0, len(asked), step):
            part = slice(start, start + step)
            both = self._index.rows[asked[part]].multiply(encoded[node[part]])
            counts[part] = both.sum(axis=1)
        return asked, node, counts

    def _candidates(self, batch: Batch) -> tuple[Ints, Ints]:
        """Return the pairs that agree in some band, each once."""
        found = []
        for known, order, keys in zip(
            self._keys, self._order, self._bands.signatures(batch), strict=True
        ):
            first = np.searchsorted(known, keys, side="left")
            count = np.searchsorted(known, keys, side="right") - first
            inner = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
            asked = order[np.repeat(first, count) + inner]
            found.append(asked * len(keys) + np.repeat(np.arange(len(keys)), count))
        pairs = np.unique(np.concatenate(found))
        asked, node = np.divmod(pairs, max(1, len(batch.nodes)))
        return asked, node
