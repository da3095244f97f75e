"""Rappel (Patel, Riviere, Gupta, Kermarrec; Computer Networks 53, 2009).

Every feed has a publisher and a tree of its subscribers alone, so no node receives or relays what
it does not want. A tree keeps one invariant: a parent is closer to the publisher than its child,
in network coordinates. A node asks for a parent anywhere in the tree and is passed on, up to a
node that is closer to the publisher and down to one that has room (Algorithm 2); it asks again
higher up from time to time, so that trees stay flat under churn. To find some node of a tree
without asking the publisher, each node keeps a few friends that are near and share its feeds. It
learns of candidates from the friends of its friends, which vote for them by the gossip on pings,
and audits one after another against a utility of proximity and shared interest.

docs/overlays/rappel.md maps every section to its function and tells where we deviate.
"""

from orbweaver.overlays.rappel.node import Rappel

__all__ = ["Rappel"]
