"""Vitis (Rahimian, Girdzijauskas, Payberah, Haridi; IPDPS 2011).

Nodes with similar interests choose each other as friends, so the subscribers of a topic gather in
clusters in which events spread over nodes that want them. A node's degree is bounded, so a topic
may have several clusters. Therefore nodes also form a ring with small-world links on a circle of
identifiers, on which each topic has a place. In every cluster some nodes are gateways: they ask
for a relay path towards the node nearest to the topic's place, the rendezvous node, and the paths
join the clusters. Relay nodes carry events that they do not want; the fewer clusters, the fewer.

Algorithm 1 is `node.Vitis.wake`, Algorithms 2, 3, 6 and 7 are in `table`, Algorithm 4 is in
`neighbors` and Algorithm 5 in `gateways`. RVR and OPT, the paper's baselines, are built of the same
parts. docs/overlays/vitis.md maps every section to its function. Where we deviate:

* Profiles carry what is new to the receiver, not everything in every cycle.
* The ring is closed by asking (BESIDE) rather than by gossip alone (decision 8).
* Notices and requests that led to nothing are repeated (`repair`), and neighbours that were lost
  without a word are called for a while, so that a network that was cut grows together again.
"""

from orbweaver.overlays.vitis.node import Vitis

__all__ = ["Vitis"]
