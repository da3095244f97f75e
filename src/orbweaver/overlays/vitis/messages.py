"""These are the messages of Vitis (its Algorithms 5 to 7)."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Message, Purpose
from orbweaver.gossip.descriptor import Descriptor


class Proposal(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Which node is to be the gateway of a cluster, for one topic."""

    topic: Topic
    gateway: NodeId
    parent: NodeId
    """The neighbour that the proposer has it from, or the proposer if it proposes itself."""
    hops: Annotated[int, Meta(ge=0)]


class Profile(Message, frozen=True, gc=False, tag="profile"):
    """The sender is alive, and tells its interest and proposals. Interest and proposals are sent
    when they are new to the receiver, not in every cycle."""

    purpose: ClassVar[Purpose] = "keepalive"
    chosen: bool
    """The receiver is in the sender's routing table."""
    about: Descriptor | None
    proposals: tuple[Proposal, ...]


class Goodbye(Message, frozen=True, gc=False, tag="goodbye"):
    """There is no link from the sender to the receiver."""

    leaving: bool
    """The sender leaves the network."""
