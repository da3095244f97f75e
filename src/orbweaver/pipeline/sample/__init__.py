"""Sample: a part of a large trace that a simulation can carry, by the papers' own methods.

- `bfs`: several breadth-first searches at once. Vitis (IV-E) starts from many random users
  and adds those they follow; OMen (6.1) starts from a few and goes on until there are
  enough. Both keep every relation among the nodes taken, and none that leads outside.
- `seed-universe` (Rappel 6.1.2): everybody who subscribes to at least one of a few random
  topics, and of what they want the topics that most of them want.
- `random-topics` (Magnet 4.5): a number of random topics, and everybody who wants one.
- `uniform`: random nodes with all they want.
- `machines` (OMen 6.1): random nodes among those up when a churn trace begins.

A random choice is the first in the order of a hash of the seed and the name, so that it
does not depend on how the rows lie in partitions, nor on their order. Nothing is collected
to the driver but counts.

Where we go beyond the papers: a sample has exactly the size asked for (the last layer of a
search is cut at random, and a search that has nowhere to go starts again elsewhere); and a
table whose topics are no nodes (groups, pages) is searched through shared topics.
"""
