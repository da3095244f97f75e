"""Magnet (Girdzijauskas, Chockler, Vigfusson, Tock, Melamed; DEBS 2010).

Nodes with similar interests stand side by side on a ring, so that a tree that follows the ring's
routes passes few nodes that do not want its messages. A node takes the place next to the most
similar node that it knows (Algorithm 1); a membership service brings it a sample of the
subscribers of each of its topics. Places that are acquired in this way are anything but evenly
spread. OSCAR therefore chooses fingers by sampled medians, and greedy routing takes O(log^2 N / k)
hops all the same. The tree of a topic is rooted at home(t), the node nearest to the topic's hash
on a second, *control* ring, and the path from there to each subscriber is the greedy path
(Algorithm 2). Nodes on it that do not subscribe are relays; to have few of them is all that
clustering is for.

`node.Magnet` is the whole protocol: `wake` is one cycle, Algorithm 1 is in `acquire_identifier`
and `identifier`, Algorithm 2 in `trees`, Sec. 3.4 in `membership`, Sec. 2.2 in `fingers` and
`gossip.oscar`. `strawman` is what the paper compares itself with. docs/overlays/magnet.md maps
every section to its function. Where we deviate:

* Many nodes that start at once take turns to acquire an identifier, in numbers that double. In the
  paper one joins after the other.
* A node in a tree knows the range of places that it serves. With the printed condition alone, paths
  are not always the greedy ones.
* The home pulls an event from its publisher, so that no node carries it there.
* Beats go down the trees. They find loops and lost roots, and name the events that a branch missed.
"""

from orbweaver.overlays.magnet.node import Magnet
from orbweaver.overlays.magnet.params import MagnetParams
from orbweaver.overlays.magnet.strawman import MagnetStrawman

__all__ = ["Magnet", "MagnetParams", "MagnetStrawman"]
