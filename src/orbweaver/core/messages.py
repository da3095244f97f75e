"""Messages and events are frozen structs, passed by reference or encoded on the wire."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, ClassVar, Literal, Union

import msgspec

from orbweaver.core.errors import ProtocolError, UsageError
from orbweaver.core.ids import TOPIC_BYTES_MAX, NodeId, Topic, check_topic
from orbweaver.core.topics import Interest, TopicTable

Purpose = Literal["build", "keepalive", "membership", "repair", "data"]
"""What a message is for: making and unmaking links, keeping them alive, learning of
other nodes, finding out which nodes lack an event, or carrying an event."""

PURPOSES: tuple[Purpose, ...] = ("build", "keepalive", "membership", "repair", "data")
"""Every purpose, in the order in which tables list them."""


class Seal:
    """A publisher's signature under a batch of events.

    Overlays pass the seal on with the event; hosts make and check it. A message holds only the
    seal's name; hosts ensure that the receiver has the seal itself.
    """

    __slots__ = ("name",)

    def __init__(self, name: bytes) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Seal) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


class Event(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An event is one publication. Its first four fields together identify it for ever."""

    topic: Topic
    publisher: NodeId
    epoch: int
    """When the publisher started, in milliseconds of its own clock. Sequence numbers begin anew
    with each epoch."""
    seq: int
    """Sequence number of the event, from 0 for each (publisher, epoch, topic)."""
    payload: bytes = b""
    seal: Seal | None = None
    """The signature, or None in a simulation and where events are not signed."""

    @property
    def stream(self) -> StreamId:
        return (self.publisher, self.epoch, self.topic)

    @property
    def id(self) -> EventId:
        return (self.publisher, self.epoch, self.topic, self.seq)


RUN_EVENTS_MAX = 256
"""Most events of one run."""


def run_of(first: Event, more: Iterable[bytes]) -> Iterator[Event]:
    """Yield the events of a run: the first one, and one for each of the payloads after it."""
    yield first
    for seq, payload in zip(count(first.seq + 1), more, strict=False):
        yield Event(first.topic, first.publisher, first.epoch, seq, payload, first.seal)


def part_of(
    first: Event, more: Sequence[bytes], seq: int, count: int
) -> tuple[Event, tuple[bytes, ...]]:
    """Return `count` events of a run, from number `seq` on, as the first one and the payloads of
    the others."""
    at = seq - first.seq
    if at:
        event = Event(first.topic, first.publisher, first.epoch, seq, more[at - 1], first.seal)
        return event, tuple(more[at : at + count - 1])
    return first, tuple(more[: count - 1])


StreamId = tuple[NodeId, int, Topic]
"""(publisher, epoch, topic): within one stream, sequence numbers count from 0 without gaps."""

EventId = tuple[NodeId, int, Topic, int]
"""(publisher, epoch, topic, sequence number): what identifies an event for ever."""


class Message(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Base of what one node sends to another. Subclasses set `tag` to their wire name."""

    purpose: ClassVar[Purpose] = "build"
    carries: ClassVar[bool] = False
    """True for a `Carrier`: reading a class attribute is cheaper than isinstance."""
    announces: ClassVar[bool] = False
    """True for a message that only says that an event exists; the message has a `topic`."""


class Carrier(Message, frozen=True, gc=False):
    """A message that carries an event, or a *run*: events that follow each other in one stream.

    Hosts inspect carriers to tell traffic that interests the receiver from traffic that does
    not; overlays only have to derive their own messages from this class.
    """

    purpose: ClassVar[Purpose] = "data"
    carries: ClassVar[bool] = True

    event: Event
    """The event, or the first one of the run."""
    hops: int
    """How many links the event has crossed when this message arrives."""
    age_ms: int
    """Milliseconds since publication that the event has waited at nodes. Time on the wire is not
    counted, since no clocks are compared."""

    @property
    def more(self) -> tuple[bytes, ...]:
        """Return the payloads of the events that follow the first one. Messages that carry runs
        have a field of this name."""
        return ()

    @property
    def count(self) -> int:
        """Return how many events the message carries."""
        return 1 + len(self.more)

    @property
    def size(self) -> int:
        """Return the bytes of all payloads."""
        return len(self.event.payload) + sum(map(len, self.more))

    def singles(self) -> Sequence[Carrier]:
        """Return a carrier for each event of the run."""
        return [Carrier(event, self.hops, self.age_ms) for event in run_of(self.event, self.more)]


INTEREST_BYTES_MAX = 1 << 15
"""Most bytes that the names in one node's interest may take. A message holds several dozen
interests, and the message has to fit into one frame."""
FEW = INTEREST_BYTES_MAX // (TOPIC_BYTES_MAX + 1)
"""How many topics are within `INTEREST_BYTES_MAX` however long their names are."""


def names_size(topics: Iterable[Any]) -> int:
    """Return how many bytes the given names take; entries that are not text count as nothing."""
    return sum(len(topic.encode("utf-8", "replace")) for topic in topics if isinstance(topic, str))


class Codec:
    """Encode and decode the message types of one overlay.

    An interest travels as a list of names; the receiver's table numbers the names again.
    """

    def __init__(self, messages: Iterable[type[Message]], topics: TopicTable) -> None:
        self._topics = topics
        union: Any = Union[tuple(messages)]  # noqa: UP007
        self.seals: Mapping[bytes, Seal] = {}
        """Seals by name, for the names in messages. An event whose seal is missing here gets a
        seal that has only the name."""
        self.room = 1 << 20
        """How many new topics messages may still name. Topics beyond `room`, or beyond the room
        in the table, are left out of interests: a peer that passes on the interests of others
        must not be blamed for their size."""
        self._encoder = msgspec.msgpack.Encoder(enc_hook=_encode_hook)
        self._decoder = msgspec.msgpack.Decoder(union, dec_hook=self._decode_hook)
        self._list_decoder = msgspec.msgpack.Decoder(list[union], dec_hook=self._decode_hook)
        self.encode = self._encoder.encode

    def decode(self, data: bytes) -> Message:
        message: Message = self._checked(self._decoder, data)
        return message

    def decode_list(self, data: bytes | memoryview) -> list[Message]:
        """Decode a msgpack array of messages."""
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
                raise ValueError(f"a seal's name is {type(value).__name__}; it should be bytes")
            return self.seals.get(value) or Seal(value)
        if kind is not Interest or not isinstance(value, list):
            raise ValueError("an interest is a list of topics")
        if len(value) > FEW and names_size(value) > INTEREST_BYTES_MAX:
            raise ValueError(
                f"an interest of {len(value)} topics takes more than {INTEREST_BYTES_MAX} bytes"
            )
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
    raise TypeError(
        f"{type(value).__name__} cannot be encoded; a message holds plain values, interests "
        "and seals"
    )
