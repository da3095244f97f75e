"""Scribe (Castro, Druschel, Kermarrec, Rowstron; IEEE JSAC 20, 2002) over Pastry (Rowstron,
Druschel; Middleware 2001): what Rappel compares itself with.

Nodes have random identifiers of 128 bits. Pastry routes a message to the node whose identifier is
numerically closest to a key. Each hop shares at least one more digit (of base 16) with the key, so
there are about log16 N of them. Many nodes fit a place in the routing table, and the one with the
shortest round trip gets it. Scribe makes a tree for each topic of the routes from its subscribers
to the root, the node closest to the key of the topic: a subscriber sends JOIN towards the key, and
every node on the way becomes a forwarder and adds the one before to its children, up to the first
node that is a forwarder already. Trees are soft state. Forwarders need not subscribe, so Scribe is
not noiseless.

`node.Scribe` owns the parts: `pastry.PastryState` is the leaf set and the routing table,
`arrival.Arrival` joins, `links.PastryLinks` keeps the links and repairs the state,
`gossip.relays` has the trees, and `multicast.Dissemination` sends events along them, repeats those
that no root has confirmed (`events.Unconfirmed`) and pulls what was missed (`gossip.tree_events`).
docs/overlays/scribe.md maps every section to its function and tells where we deviate.
"""

from orbweaver.overlays.scribe.node import Scribe

__all__ = ["Scribe"]
