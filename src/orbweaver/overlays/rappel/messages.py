"""What Rappel nodes say to each other. The paper names the messages of Algorithm 2 only."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Message, Purpose
from orbweaver.gossip.bloom import BYTES
from orbweaver.gossip.vivaldi import Coordinates

ANCESTORS_MAX = 256
"""Longest ancestor list that is read. No tree of five children and a million nodes is deeper."""
NODES_MAX = 256
"""Most nodes that a message names."""
FEEDS_MAX = 8192
"""Most feeds that a message names."""

Nodes = Annotated[tuple[NodeId, ...], Meta(max_length=NODES_MAX)]
Version = Annotated[int, Meta(ge=0, le=1 << 62)]
EventName = tuple[NodeId, int, Topic, int]
"""Publisher, epoch, topic and sequence number of an event."""
Names = Annotated[tuple[EventName, ...], Meta(max_length=FEEDS_MAX)]


class Descent(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Where a parent stands in the tree of a feed (section 4.1)."""

    topic: Topic
    root: NodeId
    """The publisher of the feed."""
    root_place: Coordinates
    place: Coordinates
    """The coordinates of the parent itself."""
    ancestors: Annotated[tuple[NodeId, ...], Meta(max_length=ANCESTORS_MAX)]
    """The parent, its parent, and so on up to the root."""


class PlaceProbe(Message, frozen=True, tag="rappel.probe"):
    """Ask for the receiver's coordinates while the sender finds its own (section 6.1.4)."""

    purpose: ClassVar[Purpose] = "build"


class PlaceProbeOk(Message, frozen=True, tag="rappel.probe-ok"):
    place: Coordinates
    error: float
    settled: bool
    """Whether the sender is online, and so holds these coordinates."""
    others: Nodes
    """A few nodes that the sender may probe too."""


class PingRequest(Message, frozen=True, tag="rappel.ping"):
    """One ping serves every relation of two nodes (section 3.3 and 4.1)."""

    purpose: ClassVar[Purpose] = "keepalive"

    version: Version
    """Version of the sender's filter and coordinates."""
    friend: bool
    """Whether the receiver is a friend of the sender."""
    feeds: Annotated[tuple[Topic, ...], Meta(max_length=FEEDS_MAX)]
    """Feeds in which the receiver is the sender's parent."""
    have: Names
    """Updates of these feeds in the sender's cache."""


class PingAck(Message, frozen=True, tag="rappel.ping-ack"):
    purpose: ClassVar[Purpose] = "keepalive"

    version: Version
    fan: bool
    """Whether the receiver is a fan of the sender."""
    friends: Nodes
    """The sender's friends: the gossip that votes for candidates."""
    lines: Annotated[tuple[Descent, ...], Meta(max_length=FEEDS_MAX)]
    """Feeds in which the receiver is a child of the sender."""
    have: Names


class Fetch(Message, frozen=True, tag="rappel.fetch"):
    """Ask for the receiver's filter and coordinates (section 3.4)."""


class Fetched(Message, frozen=True, tag="rappel.fetched"):
    version: Version
    place: Coordinates
    bloom: Annotated[bytes, Meta(min_length=BYTES, max_length=BYTES)]


class Befriend(Message, frozen=True, tag="rappel.befriend"):
    """Request friendship (section 3.4)."""


class BefriendOk(Message, frozen=True, tag="rappel.befriend-ok"):
    friends: Nodes


class BefriendDeny(Message, frozen=True, tag="rappel.befriend-deny"):
    """The sender's fans set is full."""

    friends: Nodes


class Unfriend(Message, frozen=True, tag="rappel.unfriend"):
    """The receiver is no friend of the sender any more."""


class Departing(Message, frozen=True, tag="rappel.departing"):
    """The sender goes offline."""


class JoinRequest(Message, frozen=True, tag="rappel.join"):
    """Request the receiver as the parent in the tree of a feed (Algorithm 2)."""

    topic: Topic
    root: NodeId
    """The publisher of the feed, or the root of the sender's part of the tree."""
    place: Coordinates


class JoinOk(Message, frozen=True, tag="rappel.join-ok"):
    line: Descent
    have: Names


class JoinForward(Message, frozen=True, tag="rappel.join-forward"):
    topic: Topic
    to: NodeId


class JoinDeny(Message, frozen=True, tag="rappel.join-deny"):
    topic: Topic


class ChangeParent(Message, frozen=True, tag="rappel.change-parent"):
    """Tell a child to join the tree at another node (Fig. 4(d) and section 4.4)."""

    topic: Topic
    to: NodeId


class Adopt(Message, frozen=True, tag="rappel.adopt"):
    """Tell the parent of a leaving node to take this child of it, even in excess of `children`
    (section 4.4)."""

    topic: Topic
    child: NodeId


class LeaveParent(Message, frozen=True, tag="rappel.leave-parent"):
    """The sender is no child of the receiver any more."""

    topic: Topic


class Lineage(Message, frozen=True, tag="rappel.lineage"):
    """Tell a child at once that the ancestors have changed."""

    line: Descent


class OtherRoot(Message, frozen=True, tag="rappel.other-root"):
    """Tell the root of a part of a tree that there is a part with a lower root."""

    topic: Topic
    root: NodeId


class Update(Carrier, frozen=True, tag="rappel.update"):
    """An update of a feed, pushed or pulled."""


class FeedPull(Message, frozen=True, tag="rappel.feed-pull"):
    """Ask a parent or child for updates."""

    purpose: ClassVar[Purpose] = "repair"

    names: Names


MESSAGES = (
    PlaceProbe, PlaceProbeOk, PingRequest, PingAck, Fetch, Fetched, Befriend, BefriendOk,
    BefriendDeny, Unfriend, Departing, JoinRequest, JoinOk, JoinForward, JoinDeny, ChangeParent,
    Adopt, LeaveParent, Lineage, OtherRoot, Update, FeedPull,
)  # fmt: skip
