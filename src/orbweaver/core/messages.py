"""Messages and events: frozen structs, passed by reference or encoded on the wire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, Union

import msgspec

from orbweaver.core.errors import ProtocolError, UsageError
from orbweaver.core.ids import TOPIC_BYTES_MAX, NodeId, Topic, check_topic
from orbweaver.core.topics import Interest, TopicTable

Purpose = Literal["build", "keepalive", "membership", "repair", "data"]
"""What a message is for: making and unmaking links, keeping them alive, learning of
other nodes, finding out who lacks an event, or carrying one."""

PURPOSES: tuple[Purpose, ...] = ("build", "keepalive", "membership", "repair", "data")


class Seal:
    """A publisher's signature under a batch of events. Overlays pass it on with the event;
    hosts make and check it. In a message it is only named; hosts see to it that the
    receiver has it."""

    __slots__ = ("name",)

    def __init__(self, name: bytes) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Seal) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


class Event(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Something published. The first four fields together name it for ever."""

    topic: Topic
    publisher: NodeId
    epoch: int
    """When the publisher started, in its own milliseconds: sequences begin anew then."""
    seq: int
    """Counts from 0 for each (publisher, epoch, topic)."""
    payload: bytes = b""
    seal: Seal | None = None
    """None in a simulation, and where events are not signed."""

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


INTEREST_BYTES_MAX = 1 << 15
"""Names of the topics that one node wants. Some dozens of interests go in one message, and
the message has to go in one frame."""
FEW = INTEREST_BYTES_MAX // (TOPIC_BYTES_MAX + 1)
"""Topics that are within that bound however long their names."""


def names_size(topics: Iterable[Any]) -> int:
    """Bytes of these names."""
    return sum(len(topic.encode("utf-8", "replace")) for topic in topics if isinstance(topic, str))


class Codec:
    """Messages to bytes and back, for the message types of one overlay.

    Interests go as lists of names and are numbered again by the receiver's table.
    """

    def __init__(self, messages: Iterable[type[Message]], topics: TopicTable) -> None:
        self._topics = topics
        union: Any = Union[tuple(messages)]  # noqa: UP007
        self.seals: Mapping[bytes, Seal] = {}
        """Where the seals that messages name are found. Of one that is not there the event
        only gets the name."""
        self.room = 1 << 20
        """New topics that may still be named. What is beyond, here or in the table, is left out
        of interests: whoever passes on what others want must not be blamed for it."""
        self._encoder = msgspec.msgpack.Encoder(enc_hook=_encode_hook)
        self._decoder = msgspec.msgpack.Decoder(union, dec_hook=self._decode_hook)
        self._list_decoder = msgspec.msgpack.Decoder(list[union], dec_hook=self._decode_hook)
        self.encode = self._encoder.encode

    def decode(self, data: bytes) -> Message:
        message: Message = self._checked(self._decoder, data)
        return message

    def decode_list(self, data: bytes | memoryview) -> list[Message]:
        """The messages of an array."""
        messages: list[Message] = self._checked(self._list_decoder, data)
        return messages

    def _checked(self, decoder: Any, data: bytes | memoryview) -> Any:
        try:
            return decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ProtocolError(f"undecodable message: {error}") from None

    def _decode_hook(self, kind: type, value: Any) -> Any:
        if kind is Seal:
            if not isinstance(value, bytes):
                raise ValueError("a seal is named by bytes")
            return self.seals.get(value) or Seal(value)
        if kind is not Interest or not isinstance(value, list):
            raise ValueError("an interest is a list of topics")
        if len(value) > FEW and names_size(value) > INTEREST_BYTES_MAX:
            raise ValueError(f"an interest of {len(value)} topics")
        return self._topics.interest([topic for topic in value if self._has_room(topic)])

    def _has_room(self, topic: Any) -> bool:
        topics = self._topics
        if topic in topics:
            return True
        try:
            check_topic(topic)
        except UsageError as error:
            raise ValueError(str(error)) from None
        if self.room <= 0 or not topics.learn(topic):
            return False
        self.room -= 1
        return True


def _encode_hook(value: Any) -> Any:
    if isinstance(value, Interest):
        return value.topics
    if isinstance(value, Seal):
        return value.name
    raise TypeError(f"{type(value).__name__} does not belong in a message")
