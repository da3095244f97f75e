"""SpiderCast (Chockler, Melamed, Tock, Vitenberg; DEBS 2007).

If every node has, for each of its topics, links to K other nodes interested in that
topic, and those links are random enough, then the nodes of each topic form a connected
graph of small diameter: three random links for each node are enough. SpiderCast gets
the K-coverage with few links because one link can cover many topics at once. A node
takes as its next neighbour the node that covers most of what it still lacks (*greedy*
coverage, K_g times), and, where interests are so alike that this leaves no randomness,
also random nodes that cover something it lacks (*random* coverage, K_r times). Nodes that
were chosen by many become over-covered and drop links that neither end needs.

Figures 1, 2 and 4 are in `maintenance`, since the paper runs the
overlays it compares itself with on the same code; Figures 3 and 5 are in `coverage`, the
adaptive K_r of Sec. 3.3.1 in `adaptive`. docs/overlays/spidercast.md maps every section
to its function and lists where we deviate.
"""

from orbweaver.overlays.spidercast.node import SpiderCast, SpiderCastParams

__all__ = ["SpiderCast", "SpiderCastParams"]
