"""These are the papers' models of subscriptions, as functions of the row. They need NumPy.

| model | paper | idea |
|---|---|---|
| uniform, zipf:A, rss, nyse, exponential:S | SpiderCast 3.1 | S topics by popularity |
| vitis-random, vitis-low, vitis-high | Vitis IV-A | S topics out of a few of many buckets |
| multi-modal | Magnet 4.2 | S topics by a power law inside a few categories |
| spatial | Magnet 4.3 | the topics of the users nearby, on a square |
| hierarchical | Magnet 4.4 | preferential attachment in a tree of topics |
| omen-unif, omen-zipf, omen-expo | OMen 6.1 | sizes by a power law, topics by popularity |

A model is an object whose `draw(rows)` gives the topics of these rows, as a function of the seed
and the row numbers alone (`chance`). Two models look global and are not: hierarchical growth
falls apart into independent nodes in continuous time (`hierarchy`), and places on the square are
hashed, so that each worker can index them by itself (`spatial`). A scenario names a model as the
law of its popularity (`workload.popularity.CORRELATED`), and `pipeline.synthesise` writes tables
of any size.

Where the papers leave something open, `catalog` and the models say what was chosen.
"""
