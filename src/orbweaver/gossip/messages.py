"""The messages of the shared parts, other than Plumtree's.

Membership and topology messages are generic: an overlay whose descriptors carry more than
`Descriptor` (a place on a ring, say) names `News[RingDescriptor]` among its messages, and nothing
changes on the wire of the others.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Generic, TypeVar

import msgspec
from msgspec import Meta

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, Message, Purpose, StreamId
from orbweaver.gossip.descriptor import ENTRIES_MAX, Ages, Descriptor

D = TypeVar("D", bound=Descriptor)

EventId = tuple[NodeId, int, Topic, int]
"""(publisher, epoch, topic, sequence number)"""


class Shuffle(Message, Generic[D], frozen=True, gc=False, tag="shuffle"):
    """Cyclon: some entries of the sender's view, and one of itself."""

    purpose: ClassVar[Purpose] = "membership"
    entries: Annotated[tuple[D, ...], Meta(max_length=ENTRIES_MAX)]
    ages: Ages


class ShuffleReply(Message, Generic[D], frozen=True, gc=False, tag="shuffle-reply"):
    """Cyclon: what the answering node gives in exchange."""

    purpose: ClassVar[Purpose] = "membership"
    entries: Annotated[tuple[D, ...], Meta(max_length=ENTRIES_MAX)]
    ages: Ages


class News(Message, Generic[D], frozen=True, gc=False, tag="news"):
    """Newscast: the sender's view, and an entry of itself."""

    purpose: ClassVar[Purpose] = "membership"
    entries: Annotated[tuple[D, ...], Meta(max_length=ENTRIES_MAX)]
    ages: Ages


class NewsReply(Message, Generic[D], frozen=True, gc=False, tag="news-reply"):
    """Newscast: the view of the answering node."""

    purpose: ClassVar[Purpose] = "membership"
    entries: Annotated[tuple[D, ...], Meta(max_length=ENTRIES_MAX)]
    ages: Ages


class Exchange(Message, Generic[D], frozen=True, gc=False, tag="exchange"):
    """T-Man: the candidates that the sender knows."""

    purpose: ClassVar[Purpose] = "membership"
    entries: Annotated[tuple[D, ...], Meta(max_length=ENTRIES_MAX)]
    ages: Ages


class ExchangeReply(Message, Generic[D], frozen=True, gc=False, tag="exchange-reply"):
    """T-Man: the candidates that the answering node knows. Also the answer to BESIDE."""

    purpose: ClassVar[Purpose] = "membership"
    entries: Annotated[tuple[D, ...], Meta(max_length=ENTRIES_MAX)]
    ages: Ages


class Beside(Message, frozen=True, gc=False, tag="beside"):
    """A question to a node next to the sender on the ring: which nodes does it know that are
    nearer to the sender?

    Sent when a successor or predecessor is new, and once a cycle to the successor, as in Chord.
    Gossip alone brings such news by chance. A node that asks also asks each node it is told of,
    so that a ring closes as fast as lookups reach their ends."""

    purpose: ClassVar[Purpose] = "membership"


class Relay(Message, frozen=True, gc=False, tag="relay"):
    """Relay paths: put the sender on the trees of these topics, below the receiver."""

    purpose: ClassVar[Purpose] = "build"
    topics: tuple[Topic, ...]


class Unrelay(Message, frozen=True, gc=False, tag="unrelay"):
    """Relay paths: take the sender off these trees."""

    purpose: ClassVar[Purpose] = "build"
    topics: tuple[Topic, ...]


class Notice(Message, frozen=True, gc=False, tag="notice"):
    """Notice and pull: the sender has this event, or will have it in a moment."""

    purpose: ClassVar[Purpose] = "repair"
    announces: ClassVar[bool] = True
    event: EventId

    @property
    def topic(self) -> Topic:
        return self.event[2]


class Pull(Message, frozen=True, gc=False, tag="pull"):
    """Notice and pull: a request for an event."""

    purpose: ClassVar[Purpose] = "repair"
    event: EventId


class Recent(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A stream of which the sender has recent events, from `first` to `last`."""

    stream: StreamId
    first: Annotated[int, Meta(ge=0)]
    last: Annotated[int, Meta(ge=0)]


class Pulled(Carrier, frozen=True, gc=False, tag="pulled"):
    """Notice and pull: the event that was asked for."""
