"""One node as others know it: what peer sampling and topology gossip pass around."""

from __future__ import annotations

import msgspec

from orbweaver.core.ids import NodeId
from orbweaver.core.topics import NOTHING, Interest


class Descriptor(msgspec.Struct, frozen=True, array_like=True, gc=False):
    node: NodeId
    interest: Interest
    version: int
    """Grows with every start and every change of interest: the larger is the newer."""
    age: int
    """Since the node itself was heard from: in cycles of whoever holds the entry (Cyclon),
    or in milliseconds (Newscast, T-Man)."""


def stranger(node: NodeId) -> Descriptor:
    """A contact of whom nothing is known yet; anything heard is newer."""
    return Descriptor(node, NOTHING, -1, 0)
