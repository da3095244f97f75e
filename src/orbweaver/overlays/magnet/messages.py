"""The messages of Magnet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, TypeVar

import msgspec
from msgspec import Meta

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, EventId, Message, Purpose
from orbweaver.core.topics import Interest
from orbweaver.gossip.descriptor import ENTRIES_MAX, Ages, Descriptor
from orbweaver.gossip.messages import Recent

T = TypeVar("T")
Place = Annotated[int, Meta(ge=0)]
"""A place on the skewed ring, of 64 bits. The wire has no larger numbers."""
SAMPLES_MAX = 256
"""Most samples of one topic in a message. No node keeps as many."""
TOPICS_MAX = 4096
"""Most topics in a message. What names more of them goes into several."""
Count = Annotated[int, Meta(ge=0)]


class RingDescriptor(Descriptor, frozen=True, array_like=True, gc=False):
    """A descriptor with the place on the skewed ring. The one on the control ring follows from the
    id. The interest is empty unless fingers are biased: interests travel in samples."""

    place: Place


class Sample(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What the membership service tells of one subscriber (Sec. 3.4)."""

    node: NodeId
    interest: Interest
    """Empty if `hashes` are given instead."""
    hashes: tuple[int, ...]
    """Hashes of the topics in place of their names, by option."""
    rates: tuple[tuple[Topic, float], ...]
    """Rates of publication that the subscriber has observed, where they are estimated."""
    place: Place
    placed: bool
    """The subscriber has run Algorithm 1. Its place means something."""
    version: Count


def in_parts(items: Sequence[T], most: int = TOPICS_MAX) -> list[tuple[T, ...]]:
    """Cut a sequence into the parts that one message each can carry."""
    return [tuple(items[at : at + most]) for at in range(0, len(items), most)]


class TopicSamples(msgspec.Struct, frozen=True, array_like=True, gc=False):
    topic: Topic
    samples: Annotated[tuple[Sample, ...], Meta(max_length=SAMPLES_MAX)]


# -- links and rings


class Ping(Message, frozen=True, gc=False, tag="ping"):
    """The heartbeat of a link. It also makes the link, when `chosen` is new."""

    purpose: ClassVar[Purpose] = "keepalive"
    chosen: bool
    """The receiver is in the sender's routing table."""
    about: RingDescriptor | None
    """The sender, when that is news to the receiver."""


class Unlink(Message, frozen=True, gc=False, tag="unlink"):
    """There is no link from the sender to the receiver."""

    leaving: bool
    """The sender leaves the network."""


class Ask(Message, frozen=True, gc=False, tag="ask"):
    """A question: which nodes that the receiver knows are next to the sender on a ring? It also
    tells the receiver that the sender is there (Chord's *notify*)."""

    purpose: ClassVar[Purpose] = "membership"
    skewed: bool
    """About the skewed ring, not the control ring."""
    about: RingDescriptor


class Told(Message, frozen=True, gc=False, tag="told"):
    """The answer to an ASK, with the ages of what is told in milliseconds."""

    purpose: ClassVar[Purpose] = "membership"
    skewed: bool
    about: RingDescriptor
    entries: Annotated[tuple[RingDescriptor, ...], Meta(max_length=ENTRIES_MAX)]
    ages: Ages


class Walk(Message, frozen=True, gc=False, tag="walk"):
    """A random walk among the nodes of a range of the skewed ring (Sec. 2.2)."""

    purpose: ClassVar[Purpose] = "membership"
    origin: NodeId
    ticket: Count
    after: Place
    """The range begins behind this place."""
    before: Place
    """The range ends before this place. The same as `after`: the whole ring."""
    hops: Count
    """Steps that are left."""


class Walked(Message, frozen=True, gc=False, tag="walked"):
    """The end of a random walk."""

    purpose: ClassVar[Purpose] = "membership"
    ticket: Count
    about: RingDescriptor


class Find(Message, frozen=True, gc=False, tag="find"):
    """A lookup on the control ring, for a finger there."""

    purpose: ClassVar[Purpose] = "membership"
    origin: NodeId
    place: Place
    hops: Count


class Found(Message, frozen=True, gc=False, tag="found"):
    """The end of a lookup: the sender is nearest to the place."""

    purpose: ClassVar[Purpose] = "membership"
    place: Place
    about: RingDescriptor


# -- membership (Sec. 3.4) and identifiers (Algorithm 1)


class Report(Message, frozen=True, gc=False, tag="report"):
    """Samples on their way up the control trees. A leaf's own sample is given once, with all topics
    that it stands for."""

    purpose: ClassVar[Purpose] = "membership"
    own: Sample | None
    leaf_of: Annotated[tuple[Topic, ...], Meta(max_length=TOPICS_MAX)]
    combined: Annotated[tuple[TopicSamples, ...], Meta(max_length=TOPICS_MAX)]


class View(Message, frozen=True, gc=False, tag="view"):
    """The result of a round on its way down the control trees."""

    purpose: ClassVar[Purpose] = "membership"
    topics: Annotated[tuple[TopicSamples, ...], Meta(max_length=TOPICS_MAX)]


class Acquire(Message, frozen=True, gc=False, tag="acquire"):
    """A request for a place next to the receiver (Algorithm 1, line 3)."""


class Acquired(Message, frozen=True, gc=False, tag="acquired"):
    """A place next to the sender. None: it has none to give."""

    place: Place | None


# -- multicast trees (Algorithm 2)


class JoinTree(Message, frozen=True, gc=False, tag="join-tree"):
    """Phases 1 and 2: a search for the node of the tree from which the path to `origin` is to grow.
    It goes to nodes that are no neighbours, so it counts as membership: a network sends it without
    a connection."""

    purpose: ClassVar[Purpose] = "membership"
    topic: Topic
    origin: NodeId
    place: Place
    home: bool
    """The search has turned to the topic's home."""
    hops: Count


class Grow(Message, frozen=True, gc=False, tag="grow"):
    """Phase 3: the receiver is the sender's child in the tree, and the path goes on to `origin`."""

    topic: Topic
    origin: NodeId
    place: Place
    end: Place
    """The receiver is on the greedy paths from the home to all places from its own to below this
    one."""
    root: NodeId
    beat: Count
    depth: Count
    """Edges from the root to the receiver."""
    hops: Count


class Branching(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A parent's news for a child in one tree."""

    topic: Topic
    end: Place
    """As in `Grow`. The child's own place: the greedy path to the child no longer comes here."""
    root: NodeId
    beat: Count
    """Counts the beats of the root. A branch that hears no new one has lost its root."""
    depth: Count
    """As in `Grow`."""
    recent: tuple[Recent, ...]


class Beat(Message, frozen=True, gc=False, tag="beat"):
    """A parent's heartbeat to a child, for the trees in which it is one."""

    purpose: ClassVar[Purpose] = "keepalive"
    all: bool
    """All trees are named. Otherwise those with news or recent events are."""
    branches: Annotated[tuple[Branching, ...], Meta(max_length=TOPICS_MAX)]


class Have(Message, frozen=True, gc=False, tag="have"):
    """A child's answer to a BEAT: events that the parent did not name."""

    purpose: ClassVar[Purpose] = "repair"
    recent: tuple[Recent, ...]


class LeaveTree(Message, frozen=True, gc=False, tag="leave-tree"):
    """The sender is not the receiver's child in these trees (any more)."""

    topics: Annotated[tuple[Topic, ...], Meta(max_length=TOPICS_MAX)]


# -- events


class Publishing(Message, frozen=True, gc=False, tag="publishing"):
    """Tells the home of a topic that there is an event. It is routed over the control ring, and the
    home pulls the event if it has not got it. Nodes on the way never carry the event itself."""

    purpose: ClassVar[Purpose] = "repair"
    event: EventId
    hops: Count


class Publish(Carrier, frozen=True, gc=False, tag="publish"):
    """An event from its publisher to the home of its topic."""


class Multicast(Carrier, frozen=True, gc=False, tag="multicast"):
    """An event along an edge of its topic's tree."""


MESSAGES = (Ping, Unlink, Ask, Told, Walk, Walked, Find, Found, Report, View, Acquire, Acquired,
            JoinTree, Grow, Beat, Have, LeaveTree, Publishing, Publish, Multicast)  # fmt: skip
