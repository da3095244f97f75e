"""Facts are what one live node records: one JSON object on each line of the node's own file.

A node knows only its own side. What became of an event in the whole network is found when
the files of all nodes are gathered (`orbweaver.records.gather`).
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Event, Purpose

FILE_PREFIX, FILE_SUFFIX = "node-", ".jsonl"


def file_name(node: NodeId) -> str:
    """Return the name of the file in which a node records its facts."""
    return f"{FILE_PREFIX}{node:016x}{FILE_SUFFIX}"


class Fact(msgspec.Struct, frozen=True, gc=False, tag_field="what", omit_defaults=True):
    """Base of all facts."""

    at: int
    """Milliseconds since 1970, by the clock of the node's machine."""


class Joined(Fact, frozen=True, gc=False, tag="join"):
    """The first line of each life of a node."""

    node: NodeId
    overlay: str = ""
    params: dict[str, Any] = {}


class Left(Fact, frozen=True, gc=False, tag="leave"):
    """The last line of a life that ended in good order."""


class InterestChanged(Fact, frozen=True, gc=False, tag="interest"):
    """The node subscribed to a topic, unsubscribed, or published on it for the first time."""

    topic: str
    kind: Literal["subscribe", "unsubscribe", "publish"]


class Linked(Fact, frozen=True, gc=False, tag="link"):
    """The overlay made or dropped a link."""

    peer: NodeId
    kind: Literal["up", "down"]


class Published(Fact, frozen=True, gc=False, tag="publish"):
    """The node published an event."""

    event: str
    """publisher-epoch-seq-topic"""


class Delivered(Fact, frozen=True, gc=False, tag="deliver"):
    """The node delivered an event to the application."""

    event: str
    hops: int
    pulled: bool = False
    """True for an event from a neighbour's window: the overlay had not brought it, and how many
    links it had crossed is not known."""


class Relayed(Fact, frozen=True, gc=False, tag="relay"):
    """A copy arrived of an event that the node is not interested in."""

    event: str
    hops: int


class Copied(Fact, frozen=True, gc=False, tag="copies"):
    """Copies arrived of events that the node is interested in."""

    copies: dict[str, int]
    """How many copies of each event since the last `Copied` line."""


class Copy(Fact, frozen=True, gc=False, tag="copy"):
    """What the node sees of one copy of an event between it and a peer (table `copies`)."""

    event: str
    peer: NodeId
    hops: int
    kind: Literal["sent", "lost", "received", "refused", "pulled"]
    why: str = ""


class Sent(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """How many messages of one type the node has sent in this life, and their encoded size."""

    purpose: Purpose
    count: int
    bytes: int


class Noted(Fact, frozen=True, gc=False, tag="note"):
    """The counts of this life so far, and the overlay's status.

    A node writes a `Noted` line about once a second, also as a sign of life. The line holds only
    what has changed since the last one.
    """

    sends: dict[str, Sent] = {}
    notices: tuple[int, int] | None = None
    """Notices received on topics of the node's interest, and on other topics."""
    drops: dict[str, int] = {}
    status: dict[str, int] = {}
    received: int | None = None
    """How many messages the node has received in this life, of any type."""


class LostLines(Fact, frozen=True, gc=False, tag="missing"):
    """Lines could not be written, for example because the disk was full."""

    lines: int


AnyFact: TypeAlias = (
    Joined
    | Left
    | InterestChanged
    | Linked
    | Published
    | Delivered
    | Relayed
    | Copied
    | Copy
    | Noted
    | LostLines
)
decode_fact = msgspec.json.Decoder(AnyFact).decode
encode_fact = msgspec.json.Encoder().encode


def event_of(name: str) -> Event:
    """Return the event of this name, without its payload."""
    try:
        publisher, epoch, seq, topic = name.split("-", 3)
        return Event(topic, NodeId(int(publisher)), int(epoch), int(seq))
    except ValueError:
        raise ProtocolError(
            f"'{name}' names no event; a name is publisher-epoch-seq-topic"
        ) from None
