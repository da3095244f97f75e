"""Takes a part of a large trace that a simulation can carry, by the methods of the papers.

- `bfs`: several breadth-first searches at once. Vitis (IV-E) starts from many random users
  and adds the users they follow. OMen (6.1) starts from a few and goes on until there are
  enough. Both keep every relation among the nodes taken, and no relation that leads outside.
- `seed-universe` (Rappel 6.1.2): all nodes that subscribe to at least one of a few random
  topics, and the topics that most of these nodes subscribe to.
- `random-topics` (Magnet 4.5): a number of random topics and all their subscribers.
- `uniform`: random nodes with all their subscriptions.
- `machines` (OMen 6.1): random nodes among those that are up when a churn trace begins.

A random choice is the first in the order of a hash of the seed and the name, so that it does not
depend on the order of rows or on partitions. Nothing but counts is collected to the driver.

We go beyond the papers in two points. A sample has exactly the size asked for: the last layer of a
search is cut at random, and a search that ends early starts again from a further node. A table of
topics that are not nodes (groups, pages) is searched through shared topics.
"""
