"""The messages of Plumtree, for one topic each."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from orbweaver.core.ids import Topic
from orbweaver.core.messages import (
    RUN_EVENTS_MAX,
    Carrier,
    Event,
    Message,
    Purpose,
    StreamId,
    part_of,
    run_of,
)


class Push(Carrier, frozen=True, gc=False, tag="push"):
    """An event over an eager link, or in answer to a GRAFT (Plumtree's GOSSIP)."""

    def singles(self) -> list[Push]:
        return [Push(event, self.hops, self.age_ms) for event in run_of(self.event, self.more)]

    def part(self, first: int, count: int) -> Push:
        """Return `count` events of a run, from number `first` on."""
        event, more = part_of(self.event, self.more, first, count)
        return push(event, self.hops, self.age_ms, more)


class PushRun(Push, frozen=True, gc=False, tag="run"):
    """Events of one stream over an eager link (ours): those that were published in one tick."""

    more: Annotated[tuple[bytes, ...], Meta(max_length=RUN_EVENTS_MAX - 1)]


def push(event: Event, hops: int, age_ms: int, more: tuple[bytes, ...] = ()) -> Push:
    return PushRun(event, hops, age_ms, more) if more else Push(event, hops, age_ms)


class Newest(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A stream of which the sender has the events up to `seq`, and how old that event is."""

    stream: StreamId
    seq: int
    age_ms: int


class IHave(Message, frozen=True, gc=False, tag="announce"):
    """What the sender has. That the events before the newest exist follows from the numbers."""

    purpose: ClassVar[Purpose] = "repair"
    streams: tuple[Newest, ...]


class Graft(Message, frozen=True, gc=False, tag="graft"):
    """A request for these events, if they are no older than `age_ms_max`, and for pushes
    from now on. Without numbers it says that the sender is not fed, and only the topic counts."""

    purpose: ClassVar[Purpose] = "repair"
    stream: StreamId
    seqs: tuple[int, ...]
    age_ms_max: int


class Gone(Message, frozen=True, gc=False, tag="gone"):
    """The answer to a GRAFT (ours): the events of the stream before `below` are older than was
    asked for."""

    purpose: ClassVar[Purpose] = "repair"
    stream: StreamId
    below: int


class Prune(Message, frozen=True, gc=False, tag="prune"):
    """A request for no more pushes: the sender gets the topic's events from another node."""

    purpose: ClassVar[Purpose] = "repair"
    topic: Topic
