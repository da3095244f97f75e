"""The messages of OMen. Exchanges of T-Man and peer sampling use the shared ones."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Message, Purpose
from orbweaver.core.topics import Interest
from orbweaver.gossip.descriptor import Descriptor

Kind = Literal["join", "leave"]
Count = Annotated[int, Meta(ge=0, le=1 << 62)]


class ComponentLabel(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A topic, the least node of the component that the sender is in, and how fresh that is."""

    topic: Topic
    root: NodeId
    seq: Count
    """Grows each time the root speaks; a root that has gone falls silent."""


class Alive(Message, frozen=True, gc=False, tag="omen-alive"):
    """The sender is alive. Sent to ring neighbours and overlay neighbours each heartbeat, with what
    the receiver may not know yet."""

    purpose: ClassVar[Purpose] = "keepalive"
    linked: bool
    """Whether the sender counts the receiver as an overlay neighbour."""
    asks: bool
    """Whether the sender wants an answer; a receiver that sends beats itself gives none."""
    holds: Count
    """The number of the LOCAL that the sender holds of the receiver, or 0."""
    about: Descriptor | None
    """The sender's descriptor, for a while after it has changed."""
    successors: tuple[NodeId, ...]
    """The sender's successors on the ring, now and then, if the receiver is a neighbour."""
    labels: tuple[ComponentLabel, ...]
    """The safety net: the component that the sender is in, for topics shared with the receiver,
    where the receiver may know an older label."""


class LinkRequest(Message, frozen=True, gc=False, tag="omen-link"):
    """A request for an overlay link."""

    about: Descriptor


class LinkAccept(Message, frozen=True, gc=False, tag="omen-linked"):
    """The answer to a request for a link: the link is there."""

    about: Descriptor


class LinkDown(Message, frozen=True, gc=False, tag="omen-unlink"):
    """The sender holds no overlay link to the receiver (any more)."""


class HeldNeighbor(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One TCO neighbour of a node, and where to ask about it when it has left too."""

    about: Descriptor
    successors: tuple[NodeId, ...]


class Local(Message, frozen=True, gc=False, tag="omen-local"):
    """N(v'), told by v' to its L successors, which have to know it when v' leaves."""

    purpose: ClassVar[Purpose] = "membership"
    number: Count
    """Tells what v' said at one time from what it said at another, and is not 0."""
    incarnation: Count
    about: Descriptor
    neighbors: tuple[HeldNeighbor, ...]


class Join(Message, frozen=True, gc=False, tag="omen-join"):
    """A request to the sender's successor: link the sender up in these topics."""

    about: Descriptor
    topics: Interest
    number: Count
    """Tells the requests of a sender apart; later ones have larger numbers."""


class Leaving(Message, frozen=True, gc=False, tag="omen-leaving"):
    """The sender leaves in good order."""


class Handled(Message, frozen=True, gc=False, tag="omen-handled"):
    """notifySuccRange: the coordinator has handled this churn event (Alg. 6)."""

    node: NodeId
    incarnation: Count
    kind: Kind


class Enlist(Message, frozen=True, gc=False, tag="omen-enlist"):
    """The receiver is in the shadow set of a repair: report to the sender, its coordinator."""

    number: Count
    ties: bool
    """Whether to name the neighbours in the report."""
    starts: Interest
    """The topics in which the receiver starts a probe, because it has lost a neighbour there."""
    left: NodeId | None
    """The node that has left, if the report is to say whose news still comes without it. It is
    believed for this report only."""


class ProbeLabel(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A topic, and the least id of a node that is known to be in the component."""

    topic: Topic
    least: NodeId


class Probe(Message, frozen=True, gc=False, tag="omen-probe"):
    """Finds the components of topics: passed on over links that share them, if it is news."""

    purpose: ClassVar[Purpose] = "repair"
    coordinator: NodeId
    number: Count
    labels: tuple[ProbeLabel, ...]


class Tie(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A neighbour, and the topics that a node shares with it."""

    node: NodeId
    topics: Interest


class ShadowReport(Message, frozen=True, gc=False, tag="omen-report"):
    """What a shadow node tells its coordinator: its degree, its neighbours if they are asked for,
    and the probe labels it has seen. Sent again when they change."""

    number: Count
    degree: Count
    ties: tuple[Tie, ...]
    labels: tuple[ProbeLabel, ...]
    fresh: tuple[ProbeLabel, ...]
    """The roots of the safety net whose news still comes without the node that left."""


class Mend(Message, frozen=True, gc=False, tag="omen-mend"):
    """The new edges of a repair that end at the receiver: the nodes at their other ends."""

    peers: tuple[NodeId, ...]


class ViewAsk(Message, frozen=True, gc=False, tag="omen-view-ask"):
    """A coordinator asks for the local view of a node that left with a neighbour."""

    node: NodeId


class ViewTold(Message, frozen=True, gc=False, tag="omen-view"):
    """The answer: topics, N and B of the node."""

    node: NodeId
    topics: Interest
    neighbors: tuple[Descriptor, ...]
    backups: tuple[Descriptor, ...]


class Shed(Message, frozen=True, gc=False, tag="omen-shed"):
    """The sender offers to end its link to the receiver, which is to test whether the topics that
    they share stay connected without it."""

    number: Count


class ShedTested(Message, frozen=True, gc=False, tag="omen-shed-tested"):
    """The answer: the sender keeps probes off the link now, and waits for the receiver's probe."""

    number: Count


class Meet(Message, frozen=True, gc=False, tag="omen-meet"):
    """The safety net: as ALIVE, to a node that is no neighbour. Different labels mean that the
    two are in different components, and they link up."""

    purpose: ClassVar[Purpose] = "keepalive"
    about: Descriptor
    labels: tuple[ComponentLabel, ...]
