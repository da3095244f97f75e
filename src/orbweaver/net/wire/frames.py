"""The wire format: frames, and the messages of hosts beside the messages of overlays.

A frame is a length of four bytes, a kind of one byte, and a body. The body of a MESSAGES frame
is a msgpack array of overlay messages: all that one node has for another in one tick. The body of
a CONTROL frame is one of the structs below. A connection begins with a `Hello` from each side,
and a `Proof` from each side that it has the key in its card. Without TLS nothing is encrypted:
an eavesdropper on a handshake cannot repeat it in another node's name, but an attacker on the
path can change what is sent afterwards, except for events, which are signed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Union

import msgspec

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import EventId
from orbweaver.net.events.digests import WHOLE, Range
from orbweaver.net.peers.cards import Card

VERSION = 4
"""Version of the wire format; nodes of different versions refuse each other."""
CONTROL, MESSAGES = 0, 1
"""The kinds of frames."""
HEADER = 5
"""Bytes of a frame before its body."""
MESSAGES_HEADER = HEADER + 5
"""Bytes of a MESSAGES frame before its first message: the header and the head of an array."""
NONCE = 32
"""Bytes of a nonce."""


class Control(msgspec.Struct, frozen=True, array_like=True):
    """Base of the messages that hosts send to each other."""


class Hello(Control, frozen=True, tag="hello"):
    """The first message of each side: which node calls, and on what terms."""

    version: int
    cluster: str
    overlay: str
    card: Card
    nonce: bytes
    payload_bytes_max: int
    """Largest payload that the sender accepts, in bytes; its peers send no larger one."""


class Proof(Control, frozen=True, tag="proof"):
    """A `Proof` shows that the sender has the key of its card."""

    signature: bytes
    """The receiver's nonce and both ids, signed with the sender's key."""


class Refused(Control, frozen=True, tag="refused"):
    """A `Refused` tells why the sender closes the connection."""

    reason: str


class Bye(Control, frozen=True, tag="bye"):
    """A `Bye` tells that the sender is well and sends nothing more on this connection."""


class Ping(Control, frozen=True, tag="ping"):
    """A `Ping` asks for a `Pong`, as a sign of life."""


class Pong(Control, frozen=True, tag="pong"):
    """A `Pong` answers a `Ping`."""


class Cards(Control, frozen=True, tag="cards"):
    """A `Cards` tells where the nodes are that the following messages name."""

    cards: tuple[Card, ...]


class Seals(Control, frozen=True, tag="seals"):
    """A `Seals` brings the signatures of the events that follow."""

    seals: tuple[bytes, ...]


class Declined(Control, frozen=True, tag="declined"):
    """A `Declined` tells a publisher which of its events the sender does not accept, and why.
    Only the publisher is told, since no other peer can mend the cause."""

    reason: str
    events: tuple[EventId, ...]


class Position(msgspec.Struct, frozen=True, array_like=True):
    """A `Position` tells which events of one stream the sender has seen."""

    publisher: NodeId
    epoch: int
    edges: tuple[int, ...]
    """The edges between numbers seen and not seen (see `events.seen`)."""


class WantedTopic(msgspec.Struct, frozen=True, array_like=True):
    """A `WantedTopic` asks for the events of a topic that the receiver has and the sender has
    not."""

    topic: Topic
    age_ms_max: int
    """Largest age of wanted events: older ones were published before the sender subscribed."""
    have: tuple[Position, ...]
    ranges: tuple[Range, ...] = (WHOLE,)
    """Only streams with places in these ranges are wanted."""


class Sums(msgspec.Struct, frozen=True, array_like=True):
    """A `Sums` holds sums over what the sender's window has of a topic, for the receiver to
    compare."""

    topic: Topic
    age_ms_max: int
    ranges: tuple[Range, ...]
    sums: tuple[tuple[int, ...], ...]
    """For each range, the sums of its parts."""


class Ask(Control, frozen=True, tag="ask"):
    """An `Ask` asks for topics with few streams at once. Topics with many streams are compared
    first."""

    wanted: tuple[WantedTopic, ...]
    salt: int = 0
    """The salt that decides the places of streams; new in each comparison."""
    sums: tuple[Sums, ...] = ()


class Differing(msgspec.Struct, frozen=True, array_like=True):
    """The ranges of a topic in which two windows differ."""

    topic: Topic
    ranges: tuple[Range, ...]


class Differ(Control, frozen=True, tag="differ"):
    """A `Differ` answers sums: it tells in which ranges the two windows differ."""

    salt: int
    topics: tuple[Differing, ...]


class Answer(Control, frozen=True, tag="answer"):
    """An `Answer` brings one event out of the window, in answer to an `Ask`. The event's seal was
    sent before."""

    topic: Topic
    publisher: NodeId
    epoch: int
    seq: int
    payload: bytes
    seal: bytes
    """The name of the event's seal; empty where events are not signed."""
    age_ms: int


class Way(msgspec.Struct, frozen=True, array_like=True):
    """A `Way` names the node to which the sender passes events on these topics. The node's card
    was sent before."""

    node: NodeId
    topics: tuple[Topic, ...]


class Elsewhere(Control, frozen=True, tag="elsewhere"):
    """An `Elsewhere` answers an `Ask` about topics to which the sender does not subscribe: the
    named nodes are nearer to a subscriber, or are subscribers."""

    ways: tuple[Way, ...]


ControlMessage = (
    Hello
    | Proof
    | Refused
    | Bye
    | Ping
    | Pong
    | Cards
    | Seals
    | Ask
    | Answer
    | Elsewhere
    | Differ
    | Declined
)
CatchingUp = Ask | Answer | Elsewhere | Differ
"""The messages by which nodes catch up with each other."""
CONTROL_TYPES: tuple[type[Control], ...] = (
    Hello, Proof, Refused, Bye, Ping, Pong, Cards, Seals, Ask, Answer, Elsewhere, Differ,
    Declined,
)  # fmt: skip

_encoder = msgspec.msgpack.Encoder()
_decoder: Any = msgspec.msgpack.Decoder(Union[CONTROL_TYPES])  # noqa: UP007


def control_frame(message: Control) -> bytes:
    body = _encoder.encode(message)
    return (len(body) + 1).to_bytes(4, "big") + b"\0" + body


def read_control(body: bytes | memoryview) -> ControlMessage:
    try:
        message: ControlMessage = _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"a control frame cannot be decoded: {error}") from None
    return message


def messages_header(count: int, size: int) -> bytes:
    """Return what precedes `count` encoded messages of `size` bytes in all: the frame's header and
    the head of a msgpack array."""
    return b"".join(((size + 6).to_bytes(4, "big"), b"\1\xdd", count.to_bytes(4, "big")))


class FrameReader:
    """Split bytes into frames as they come. It never keeps more than one frame of `size_max`."""

    def __init__(self, size_max: int) -> None:
        self.size_max = size_max
        """Largest frame, in bytes; the owner may change it between frames."""
        self._rest = bytearray()
        self._need = 4
        """How many bytes must have come before a frame can be complete. Without it, a large frame
        in many small pieces would be copied for each piece."""

    def __len__(self) -> int:
        """Return how many bytes wait for the rest of their frame."""
        return len(self._rest)

    def feed(self, data: bytes) -> Iterator[tuple[int, memoryview]]:
        """Yield (kind, body) of each complete frame. A body is valid until the next frame is
        taken."""
        if self._rest:
            self._rest += data
            if len(self._rest) < self._need:
                return
            data = bytes(self._rest)
            self._rest.clear()
        view = memoryview(data)
        at, end = 0, len(data)
        self._need = 4
        while end - at >= 4:
            size = int.from_bytes(view[at : at + 4], "big")
            if not 0 < size <= self.size_max:
                raise ProtocolError(
                    f"a frame of {size} bytes; it should have 1 to {self.size_max} bytes"
                )
            if end - at < 4 + size:
                self._need = 4 + size
                break
            yield data[at + 4], view[at + HEADER : at + 4 + size]
            at += 4 + size
        if at < end:
            self._rest += view[at:]
