"""One node as others know it: what peer sampling and topology gossip pass around."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from orbweaver.core.ids import NodeId
from orbweaver.core.topics import NOTHING, Interest

Version = Annotated[int, Meta(ge=0, le=1 << 62)]
"""Of a node's interest: grows with every start and every change, so the larger is the newer."""
LIFE = 1000
"""Versions grow by one with each change of interest, and with a new start by the milliseconds
since the last: fewer than this is the same life."""


class Descriptor(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a node says of itself. It is passed on as it is, and how old it is beside it: a
    simulation of ten thousand nodes has ten thousand of these in its views and tables, rather
    than half a million."""

    node: NodeId
    interest: Interest
    version: Version


AGE_MAX = 1 << 40
"""Entries older than any node are left out by who gets them. They are no reason to complain
of the sender: it may have got them a moment younger, from somebody who meant it ill."""

Descriptors = Annotated[tuple[Descriptor, ...], Meta(max_length=4096)]
"""In a message: no view is larger, and choosing among more would take long."""
Ages = Annotated[tuple[Annotated[int, Meta(ge=0)], ...], Meta(max_length=4096)]
"""Of as many descriptors, since the node itself was heard from: in cycles of whoever holds the
entry (Cyclon), or in milliseconds (Newscast, T-Man). Were one below 0 in what a peer sends, its
entry would be the youngest of all for ever. A descriptor without an age is overlooked."""

Aged = tuple[list[Descriptor], list[int]]
"""Descriptors and their ages."""


def stranger(node: NodeId) -> Descriptor:
    """A contact of whom nothing is known yet; anything heard is newer."""
    return Descriptor(node, NOTHING, -1)
