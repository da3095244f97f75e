"""Profiles: what a node tells its neighbours once a cycle (Vitis, Algorithms 5 to 7)."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Message, Purpose
from orbweaver.gossip.descriptor import Descriptor


class Proposal(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Who is to be the gateway of a cluster, for one topic."""

    topic: Topic
    gateway: NodeId
    parent: NodeId
    """From whom the proposer has it; itself, if it proposes itself."""
    hops: Annotated[int, Meta(ge=0)]


class Profile(Message, frozen=True, gc=False, tag="profile"):
    """Also a heartbeat. What the sender is and proposes is told when it is new to the
    receiver, not in every cycle."""

    purpose: ClassVar[Purpose] = "keepalive"
    chosen: bool
    """The receiver is in the sender's routing table."""
    about: Descriptor | None
    proposals: tuple[Proposal, ...]


class Goodbye(Message, frozen=True, gc=False, tag="goodbye"):
    """There is no link from me to you."""

    leaving: bool
    """And there will be none: I am going."""


class Peer:
    """A neighbour."""

    __slots__ = ("about", "chooses", "chosen", "heard_ms", "introduced", "node", "proposals",
                 "said", "shared")  # fmt: skip

    def __init__(self, about: Descriptor, heard_ms: int) -> None:
        self.node = about.node
        self.about = about
        self.said = -1
        """The latest version that it has told us itself: then others' word counts no more."""
        self.heard_ms = heard_ms
        """When it was last heard from, by us or by whoever told us of it."""
        self.chosen = False
        """It is in our routing table."""
        self.chooses = False
        """We are in its table."""
        self.introduced = False
        """It has our descriptor as it is now."""
        self.shared: tuple[Topic, ...] = ()
        """The topics that both want."""
        self.proposals: dict[Topic, Proposal] = {}
