"""Makes workloads from the papers' models, as distributed generators.

| model | paper | idea |
|---|---|---|
| uniform, zipf:A, rss, nyse, exponential:S | SpiderCast 3.1 | S topics by popularity |
| vitis-random, vitis-low, vitis-high | Vitis IV-A | S topics out of a few of many buckets |
| multi-modal | Magnet 4.2 | S topics by a power law inside a few categories |
| spatial | Magnet 4.3 | the topics of the users nearby, on a square |
| hierarchical | Magnet 4.4 | preferential attachment in a tree of topics |
| omen-unif, omen-zipf, omen-expo | OMen 6.1 | sizes by a power law, topics by popularity |

A model is an object without Spark: `draw(rows)` gives the topics of these rows, as a
function of the seed and the row numbers alone (`chance`). The `stage` calls it on slices
of a range of row numbers, so ten million nodes are only a longer range, and no slicing
changes a row. Two models look global and are not: hierarchical growth falls apart into
independent nodes in continuous time (`hierarchy`), and places on the square are hashed,
so that each worker can index them by itself (`spatial`).

Where the papers leave something open, `catalog` and the models say what was chosen.
"""
