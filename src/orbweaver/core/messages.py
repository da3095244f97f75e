"""Messages and events: frozen structs, passed by reference or encoded on the wire."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Literal, Union

import msgspec

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.topics import Interest, TopicTable

Purpose = Literal["build", "keepalive", "membership", "repair", "data"]
"""What a message is for: making and unmaking links, keeping them alive, learning of
other nodes, finding out who lacks an event, or carrying one."""

PURPOSES: tuple[Purpose, ...] = ("build", "keepalive", "membership", "repair", "data")


class Event(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Something published. The first four fields together name it for ever."""

    topic: Topic
    publisher: NodeId
    epoch: int
    """When the publisher started, in its own milliseconds: sequences begin anew then."""
    seq: int
    """Counts from 0 for each (publisher, epoch, topic)."""
    payload: bytes = b""

    @property
    def stream(self) -> StreamId:
        return (self.publisher, self.epoch, self.topic)


StreamId = tuple[NodeId, int, Topic]
"""(publisher, epoch, topic): within it, sequence numbers count from 0 without gaps."""


class Message(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What one node sends to another. Subclasses set `tag` to their wire name."""

    purpose: ClassVar[Purpose] = "build"
    carries: ClassVar[bool] = False
    """True for a `Carrier`: a class attribute is cheaper to ask than isinstance."""
    announces: ClassVar[bool] = False
    """True for a message that only says that there is an event; it has a `topic`."""


class Carrier(Message, frozen=True, gc=False):
    """A message with an event in it. Hosts look at these to tell traffic that interests
    the receiver from traffic that does not; overlays only have to use them."""

    purpose: ClassVar[Purpose] = "data"
    carries: ClassVar[bool] = True

    event: Event
    hops: int
    """How many links the event has crossed when this message arrives."""
    age_ms: int
    """Time since publication as far as the senders could tell: time spent waiting at
    nodes, without time on the wire, since no clocks are compared."""


class Codec:
    """Messages to bytes and back, for the message types of one overlay.

    Interests go as lists of names and are numbered again by the receiver's table.
    """

    def __init__(self, messages: Iterable[type[Message]], topics: TopicTable) -> None:
        self._topics = topics
        union: Any = Union[tuple(messages)]  # noqa: UP007
        self._encoder = msgspec.msgpack.Encoder(enc_hook=_encode_interest)
        self._decoder = msgspec.msgpack.Decoder(union, dec_hook=self._decode_interest)
        self.encode = self._encoder.encode

    def decode(self, data: bytes) -> Message:
        try:
            message: Message = self._decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ProtocolError(f"undecodable message: {error}") from None
        return message

    def _decode_interest(self, kind: type, value: Any) -> Interest:
        if kind is not Interest or not isinstance(value, list):
            raise ValueError("an interest is a list of topics")
        if not all(isinstance(topic, str) for topic in value):
            raise ValueError("a topic is a string")
        return self._topics.interest(value)


def _encode_interest(value: Any) -> Any:
    if isinstance(value, Interest):
        return value.topics
    raise TypeError(f"{type(value).__name__} does not belong in a message")
