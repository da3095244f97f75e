"""What Scribe nodes say to each other. JOIN and LEAVE of a tree are `Relay` and `Unrelay`."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Carrier, EventId, Message, Purpose
from orbweaver.gossip.messages import Recent

NODES_MAX = 1024
"""Most nodes that a message names: a leaf set and all rows of a routing table have fewer."""
RECENT_MAX = 1024
"""Most streams in a message."""
ROWS = 32
"""How many rows a routing table has: one for each digit of an identifier."""

NodeIds = Annotated[tuple[NodeId, ...], Meta(max_length=NODES_MAX)]
Number = Annotated[int, Meta(ge=0)]


class PastryJoin(Message, frozen=True, gc=False, tag="pastry.join"):
    """A request of `node` to join, on its way to the node closest to its identifier."""

    purpose: ClassVar[Purpose] = "membership"
    node: NodeId
    hops: Number


class PastryRows(Message, frozen=True, gc=False, tag="pastry.rows"):
    """Rows of the sender's routing table, for a node that joins or mends its own."""

    purpose: ClassVar[Purpose] = "membership"
    nodes: NodeIds
    last: bool
    """The request to join ends at the sender. Its leaf set is among the nodes."""


class RowRequest(Message, frozen=True, gc=False, tag="pastry.row-request"):
    """Ask for one row of the receiver's routing table."""

    purpose: ClassVar[Purpose] = "membership"
    row: Annotated[int, Meta(ge=0, le=ROWS - 1)]


class PastryProbe(Message, frozen=True, gc=False, tag="pastry.probe"):
    """Ask whether the receiver is there. Its answer also gives the round trip."""

    leaves: NodeIds
    """The sender's leaf set, if the receiver may belong to it."""


class PastryProbeOk(Message, frozen=True, gc=False, tag="pastry.probe-ok"):
    leaves: NodeIds
    """The sender's leaf set, if the receiver may belong to it."""


class PastryAlive(Message, frozen=True, gc=False, tag="pastry.alive"):
    """The heartbeat of a link, and the notice that it begins or changes."""

    purpose: ClassVar[Purpose] = "keepalive"
    chosen: bool
    """The receiver is in the sender's leaf set or routing table."""


class PastryGone(Message, frozen=True, gc=False, tag="pastry.gone"):
    """There is no link from the sender to the receiver."""

    leaving: bool
    """The sender leaves the network."""


class ScribePublish(Carrier, frozen=True, gc=False, tag="scribe.publish"):
    """An event on its way to the root of its topic."""

    origin: NodeId
    """The node that sees to it that the root gets the event: the publisher, or a former root."""


class ScribePublished(Message, frozen=True, gc=False, tag="scribe.published"):
    """The root has the event. From now on, events of the topic go to the sender directly."""

    purpose: ClassVar[Purpose] = "repair"
    event: EventId


class ScribeMulticast(Carrier, frozen=True, gc=False, tag="scribe.multicast"):
    """An event along an edge of its topic's tree."""


class ScribeRecent(Message, frozen=True, gc=False, tag="scribe.recent"):
    """Tell a tree neighbour of recent events. It pulls those that it lacks."""

    purpose: ClassVar[Purpose] = "repair"
    recent: Annotated[tuple[Recent, ...], Meta(max_length=RECENT_MAX)]


MESSAGES = (PastryJoin, PastryRows, RowRequest, PastryProbe, PastryProbeOk, PastryAlive,
            PastryGone, ScribePublish, ScribePublished, ScribeMulticast, ScribeRecent)  # fmt: skip
