"""These are the messages of the shared parts, other than Plumtree's.

Membership and topology messages are generic: an overlay whose descriptors carry more than
`Descriptor` (a place on a ring, say) names `News[RingDescriptor]` among its messages, and nothing
changes on the wire of the others.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Generic, TypeVar

import msgspec
from msgspec import Meta

from orbweaver.core.ids import Topic
from orbweaver.core.messages import Carrier, EventId, Message, Purpose, StreamId
from orbweaver.gossip.descriptor import ENTRIES_MAX, Ages, Descriptor

D = TypeVar("D", bound=Descriptor)


class Descriptors(Message, Generic[D], frozen=True, gc=False):
    """Base of messages that carry entries of the sender's views and tables, with their ages."""

    purpose: ClassVar[Purpose] = "membership"
    entries: Annotated[tuple[D, ...], Meta(max_length=ENTRIES_MAX)]
    ages: Ages


class Shuffle(Descriptors[D], Generic[D], frozen=True, gc=False, tag="shuffle"):
    """Cyclon sends some entries of the sender's view, and one of the sender."""


class ShuffleReply(Descriptors[D], Generic[D], frozen=True, gc=False, tag="shuffle-reply"):
    """Cyclon answers with the entries that the receiver of a shuffle gives in exchange."""


class News(Descriptors[D], Generic[D], frozen=True, gc=False, tag="news"):
    """Newscast sends the sender's view, and an entry of the sender."""


class NewsReply(Descriptors[D], Generic[D], frozen=True, gc=False, tag="news-reply"):
    """Newscast answers with the view of the receiver of the news, and an entry of it."""


class Exchange(Descriptors[D], Generic[D], frozen=True, gc=False, tag="exchange"):
    """T-Man sends the candidates that the sender knows."""


class ExchangeReply(Descriptors[D], Generic[D], frozen=True, gc=False, tag="exchange-reply"):
    """T-Man answers with the candidates that the receiver knows. BESIDE is answered with it too."""


class Beside(Message, frozen=True, gc=False, tag="beside"):
    """The sender asks a node next to it on the ring which nodes it knows that are nearer.

    Sent when a successor or predecessor is new, and once a cycle to the successor, as in Chord.
    Gossip alone brings such news by chance. A node that asks also asks each node it is told of,
    so that a ring closes as fast as lookups reach their ends."""

    purpose: ClassVar[Purpose] = "membership"


class Relay(Message, frozen=True, gc=False, tag="relay"):
    """The sender asks to be put on the trees of these topics, below the receiver."""

    purpose: ClassVar[Purpose] = "build"
    topics: tuple[Topic, ...]


class Unrelay(Message, frozen=True, gc=False, tag="unrelay"):
    """The sender asks to be taken off these trees."""

    purpose: ClassVar[Purpose] = "build"
    topics: tuple[Topic, ...]


class Notice(Message, frozen=True, gc=False, tag="notice"):
    """The sender has this event, or will have it in a moment (notice and pull)."""

    purpose: ClassVar[Purpose] = "repair"
    announces: ClassVar[bool] = True
    event: EventId

    @property
    def topic(self) -> Topic:
        return self.event[2]


class Pull(Message, frozen=True, gc=False, tag="pull"):
    """The sender requests an event (notice and pull)."""

    purpose: ClassVar[Purpose] = "repair"
    event: EventId


class Recent(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The sender has recent events of a stream, from `first` to `last`."""

    stream: StreamId
    first: Annotated[int, Meta(ge=0)]
    last: Annotated[int, Meta(ge=0)]


class Pulled(Carrier, frozen=True, gc=False, tag="pulled"):
    """The sender gives an event that was requested (notice and pull)."""
