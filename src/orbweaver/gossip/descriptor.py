"""A descriptor is what a node tells of itself. Peer sampling and topology gossip pass it on."""

from __future__ import annotations

from typing import Annotated, Protocol

import msgspec
from msgspec import Meta

from orbweaver.core.ids import NodeId
from orbweaver.core.topics import NOTHING, Interest

Version = Annotated[int, Meta(ge=0, le=1 << 62)]
"""Version of a node's interest. It grows with every start and every change, so the larger one is
the newer."""
AHEAD_MS = 600_000
"""How many milliseconds a version that another node tells of may be ahead of this node's time. A
version is a time, plus one for each change. Descriptors are not signed: without the bound one lie
about a node would be the newest word on it for ever."""
LIFE = 1000
"""Difference between two versions from which they are of different lives of a node. A version
grows by one with each change of interest, and with a restart by the milliseconds since the last
start."""


class Descriptor(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A descriptor is what a node says of itself. It is passed on unchanged, with its age beside
    it. So all views and tables of a simulation share one object for each node."""

    node: NodeId
    interest: Interest
    version: Version


AGE_MAX = 1 << 40
"""Age beyond which an entry is ignored. The sender is not blamed for it: it may have got the entry
a moment younger from a malicious peer."""

ENTRIES_MAX = 4096
"""Most descriptors in a message. No view is larger, and choosing among more would take long."""
Ages = Annotated[tuple[Annotated[int, Meta(ge=0)], ...], Meta(max_length=ENTRIES_MAX)]
"""The ages of the descriptors in a message: the time since the node itself was heard from, in
cycles of the node that holds the entry (Cyclon) or in milliseconds (Newscast, T-Man). An age below
0 would make an entry the youngest of all for ever, so none is read. A descriptor without an age is
ignored."""

Aged = tuple[list[Descriptor], list[int]]
"""Descriptors and their ages."""


class Described(Protocol):
    """What knows the present descriptor of this node."""

    @property
    def about(self) -> Descriptor: ...


def stranger(node: NodeId) -> Descriptor:
    """Return a descriptor for a contact of which nothing is known. Any other one is newer."""
    return Descriptor(node, NOTHING, -1)
