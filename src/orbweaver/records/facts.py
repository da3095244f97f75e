"""What one live node writes down: facts, one JSON object on each line of its own file.

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
    return f"{FILE_PREFIX}{node:016x}{FILE_SUFFIX}"


class Fact(msgspec.Struct, frozen=True, gc=False, tag_field="what", omit_defaults=True):
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
    topic: str
    kind: Literal["subscribe", "unsubscribe", "publish"]


class Linked(Fact, frozen=True, gc=False, tag="link"):
    peer: NodeId
    kind: Literal["up", "down"]


class Published(Fact, frozen=True, gc=False, tag="publish"):
    event: str
    """publisher-epoch-seq-topic"""


class Delivered(Fact, frozen=True, gc=False, tag="deliver"):
    event: str
    hops: int
    pulled: bool = False
    """Got by catching up, out of a neighbour's window: the overlay had not brought it, and
    how far it had come by then is not known."""


class Relayed(Fact, frozen=True, gc=False, tag="relay"):
    """A copy of an event that the node is not interested in."""

    event: str
    hops: int


class Copied(Fact, frozen=True, gc=False, tag="copies"):
    """Copies of events of its interest since the last such line, by event."""

    copies: dict[str, int]


class Sent(msgspec.Struct, frozen=True, gc=False, array_like=True):
    purpose: Purpose
    count: int
    bytes: int


class Noted(Fact, frozen=True, gc=False, tag="note"):
    """Every second or so, and a sign of life besides: what was counted in this life up to
    now, and what the overlay says of itself. Only what has changed since the last one."""

    sends: dict[str, Sent] = {}
    notices: tuple[int, int] | None = None
    """On topics of its interest, and on others."""
    drops: dict[str, int] = {}
    status: dict[str, int] = {}


class LostLines(Fact, frozen=True, gc=False, tag="missing"):
    """Lines that could not be written, with a full disk for example."""

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
    | Noted
    | LostLines
)
decode_fact = msgspec.json.Decoder(AnyFact).decode
encode_fact = msgspec.json.Encoder().encode


def event_of(name: str) -> Event:
    """The event of this name, without what was in it."""
    try:
        publisher, epoch, seq, topic = name.split("-", 3)
        return Event(topic, NodeId(int(publisher)), int(epoch), int(seq))
    except ValueError:
        raise ProtocolError(f"'{name}' names no event") from None
