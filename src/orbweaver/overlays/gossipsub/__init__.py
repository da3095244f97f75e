"""GossipSub keeps a mesh for each topic, and announces events to some peers outside of the mesh.

What most applications of libp2p run, as a baseline that is widely known. Facts are from its
public specifications v1.0 to v1.2; peer scoring is left out. See docs/overlays/gossipsub.md.
"""

from orbweaver.overlays.gossipsub.node import GossipSub
from orbweaver.overlays.gossipsub.params import GossipSubParams

__all__ = ["GossipSub", "GossipSubParams"]
