"""These are the messages of GossipSub. The specification sends several of them in one RPC."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from orbweaver.core.ids import Topic
from orbweaver.core.messages import Carrier, Message, Purpose, StreamId
from orbweaver.core.topics import Interest


class MeshSubscriptions(Message, frozen=True, gc=False, tag="gossipsub.subscriptions"):
    """The sender is connected to the receiver and subscribes to these topics. With `ask` the
    receiver answers with its own."""

    interest: Interest
    ask: bool


class Disconnected(Message, frozen=True, gc=False, tag="gossipsub.disconnected"):
    """The sender has ended the connection."""


class KeepAlive(Message, frozen=True, gc=False, tag="gossipsub.alive"):
    """The sender had nothing else to send during a heartbeat interval."""

    purpose: ClassVar[Purpose] = "keepalive"


class MeshGraft(Message, frozen=True, gc=False, tag="gossipsub.graft"):
    """The sender has taken the receiver into its mesh for these topics."""

    topics: tuple[Topic, ...]


class MeshPrune(Message, frozen=True, gc=False, tag="gossipsub.prune"):
    """The receiver is no longer in the sender's mesh for these topics. The sender accepts no GRAFT
    for `backoff_ms`."""

    topics: tuple[Topic, ...]
    backoff_ms: int


class EventIds(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Names some events of one stream."""

    stream: StreamId
    seqs: tuple[int, ...]


class MeshIHave(Message, frozen=True, gc=False, tag="gossipsub.ihave"):
    """Events that the sender has had during the last heartbeats."""

    purpose: ClassVar[Purpose] = "repair"
    events: tuple[EventIds, ...]


class IWant(Message, frozen=True, gc=False, tag="gossipsub.iwant"):
    """A request for events that the receiver has announced."""

    purpose: ClassVar[Purpose] = "repair"
    events: tuple[EventIds, ...]


class IDontWant(Message, frozen=True, gc=False, tag="gossipsub.idontwant"):
    """The sender has this event already (v1.2)."""

    purpose: ClassVar[Purpose] = "repair"
    stream: StreamId
    seq: int


class MeshEvent(Carrier, frozen=True, gc=False, tag="gossipsub.event"):
    """The sender forwards an event, along the mesh or in answer to an IWANT."""
