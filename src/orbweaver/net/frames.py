"""The wire: frames, and what hosts say to each other beside the messages of overlays.

A frame is a length of four bytes, a kind of one, and a body. The body of a MESSAGES frame
is a msgpack array of overlay messages, all that one node has for another in one tick; that
of a CONTROL frame is one of the structs below. A connection begins with a `Hello` from each
side, and a `Proof` that the key in the other's card is its own. Without TLS all of it is in
plain sight: who overhears a handshake cannot shake hands in another's name, but who stands
on the way can change what is said afterwards, except for events, which are signed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Union

import msgspec

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId, Topic
from orbweaver.net.cards import Card
from orbweaver.net.digests import WHOLE, Range

VERSION = 3
CONTROL, MESSAGES = 0, 1
HEADER = 5
"""Bytes before the body."""
MESSAGES_HEADER = HEADER + 5
"""The same and the head of an array."""
NONCE = 32


class Control(msgspec.Struct, frozen=True, array_like=True):
    pass


class Hello(Control, frozen=True, tag="hello"):
    """Who calls, and what it takes to understand each other."""

    version: int
    cluster: str
    overlay: str
    card: Card
    nonce: bytes
    payload_bytes_max: int
    """Largest payload that the sender takes; its peers send it no larger one."""


class Proof(Control, frozen=True, tag="proof"):
    """The receiver's nonce and both ids, signed with the sender's key."""

    signature: bytes


class Refused(Control, frozen=True, tag="refused"):
    """I am closing this connection, and why."""

    reason: str


class Bye(Control, frozen=True, tag="bye"):
    """Nothing more comes from me on this connection, and I am well."""


class Ping(Control, frozen=True, tag="ping"):
    """Say something, so that I know that you are there."""


class Pong(Control, frozen=True, tag="pong"):
    pass


class Cards(Control, frozen=True, tag="cards"):
    """Where the nodes are that following messages name."""

    cards: tuple[Card, ...]


class Seals(Control, frozen=True, tag="seals"):
    """Signatures of the events that follow."""

    seals: tuple[bytes, ...]


EventId = tuple[NodeId, int, Topic, int]
"""(publisher, epoch, topic, sequence number)"""


class Declined(Control, frozen=True, tag="declined"):
    """Events of yours that I do not take, and why. Only said to their publisher: whoever else
    brought them can do nothing about it."""

    reason: str
    events: tuple[EventId, ...]


class Position(msgspec.Struct, frozen=True, array_like=True):
    """What one has of a stream of the topic: edges between seen and not seen."""

    publisher: NodeId
    epoch: int
    edges: tuple[int, ...]


class WantedTopic(msgspec.Struct, frozen=True, array_like=True):
    """Give me what you have of this topic that I have not."""

    topic: Topic
    age_ms_max: int
    """Nothing older: it was published before I subscribed."""
    have: tuple[Position, ...]
    ranges: tuple[Range, ...] = (WHOLE,)
    """Only of streams with places in these."""


class Sums(msgspec.Struct, frozen=True, array_like=True):
    """What my window holds of a topic, in sums: tell me where yours differ."""

    topic: Topic
    age_ms_max: int
    ranges: tuple[Range, ...]
    sums: tuple[tuple[int, ...], ...]
    """For each range the sums of its parts."""


class Ask(Control, frozen=True, tag="ask"):
    """Topics with few streams are asked for at once, those with many are compared first."""

    wanted: tuple[WantedTopic, ...]
    salt: int = 0
    """By which streams have their places; new in each comparison."""
    sums: tuple[Sums, ...] = ()


class Differing(msgspec.Struct, frozen=True, array_like=True):
    topic: Topic
    ranges: tuple[Range, ...]


class Differ(Control, frozen=True, tag="differ"):
    """The answer to sums: in these parts my window has something else than yours."""

    salt: int
    topics: tuple[Differing, ...]


class Answer(Control, frozen=True, tag="answer"):
    """One event out of the window, in answer to an `Ask`; its seal has gone before."""

    topic: Topic
    publisher: NodeId
    epoch: int
    seq: int
    payload: bytes
    seal: bytes
    """Its name; empty where events are not signed."""
    age_ms: int


class Way(msgspec.Struct, frozen=True, array_like=True):
    """Events on these topics go from the sender to this node, whose card has gone before."""

    node: NodeId
    topics: tuple[Topic, ...]


class Elsewhere(Control, frozen=True, tag="elsewhere"):
    """The answer to an `Ask` about topics to which the sender does not subscribe: these nodes
    are nearer to a subscriber, or are one."""

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
"""What nodes say to each other to catch up."""
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
        raise ProtocolError(f"undecodable control frame: {error}") from None
    return message


def messages_header(count: int, size: int) -> bytes:
    """What goes before `count` encoded messages of together `size` bytes: header and the
    head of a msgpack array."""
    return b"".join(((size + 6).to_bytes(4, "big"), b"\1\xdd", count.to_bytes(4, "big")))


class FrameReader:
    """Bytes as they come, to frames. Nothing beyond the largest frame is ever kept."""

    def __init__(self, size_max: int) -> None:
        self.size_max = size_max
        """May change between frames."""
        self._rest = bytearray()
        self._need = 4
        """Bytes that must have come before there is anything to do: otherwise a large frame
        that comes in many small pieces would be copied for each of them."""

    def __len__(self) -> int:
        """Bytes that wait for the rest of their frame."""
        return len(self._rest)

    def feed(self, data: bytes) -> Iterator[tuple[int, memoryview]]:
        """(kind, body) of each whole frame. A body is valid until the next is asked for."""
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
                raise ProtocolError(f"a frame of {size} bytes; at most {self.size_max} are read")
            if end - at < 4 + size:
                self._need = 4 + size
                break
            yield data[at + 4], view[at + HEADER : at + 4 + size]
            at += 4 + size
        if at < end:
            self._rest += view[at:]
