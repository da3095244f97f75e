"""OMen: overlay mending (Chen, Vitenberg, Jacobsen; DEBS 2016).

Centralised algorithms build topic-connected overlays with low degrees, but are too slow to run
again whenever a node comes or goes. Decentralised repair is fast, but degrees grow with it. OMen
runs the centralised algorithm on a small *shadow set*: when a node leaves, its successor on a
ring of identifiers, the *coordinator* of this churn event, joins what the node held together
among the node's neighbours and its *backup set*. That is a set of nodes which covers the node's
topics several times, and which gossip (T-Man) has prepared long before it is needed. The next L
successors know the same and take over, so that L concurrent events are survived.

`backups` has Sec. 4.2, `repair` Algorithm 1, `churn` Algorithms 5 and 6. docs/overlays/omen.md
maps every section to its function and lists what the paper leaves open and what we chose.
"""

from orbweaver.overlays.omen.node import OMen
from orbweaver.overlays.omen.params import OMenParams

__all__ = ["OMen", "OMenParams"]
