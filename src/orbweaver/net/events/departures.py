"""Track which of a node's own events have left it, and wait until all have.

An event has left once it has been written to the socket of a neighbour: pushed, sent to a
neighbour that pulled it, or given out of the window. An event that is only queued, or only
announced, has not left, and neither has an event published while there was no neighbour.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from orbweaver.core.errors import NotDrained
from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Event
from orbweaver.gossip.streams import add_number

if TYPE_CHECKING:
    from orbweaver.net.events.window import EventLog
    from orbweaver.net.host import Host
    from orbweaver.net.wire.connection import Connection

LOOK_S = 0.01
"""Seconds between two checks of what is still unsent."""
LOST_S = 1.0
"""Seconds between two checks of whether the window still has the unsent events."""


Written = tuple[Event, int]
"""(the first event of a run, how many events the run has)"""


class Departures:
    """The events that this node has published in this life, and which of them have left."""

    def __init__(self, me: NodeId) -> None:
        self._me = me
        self._epoch = 0
        self._published: dict[Topic, int] = {}
        """Topic -> the number of the next event."""
        self._left: dict[Topic, list[int]] = {}
        """Topic -> edges of the numbers that have left, as in `seen`."""
        self.on_written: Callable[[Connection, Sequence[Written]], None] = lambda *written: None
        """Called with what was written to a peer, this node's own or not."""

    def published(self, first: Event, count: int) -> None:
        """Note a run of events that have been published."""
        self._epoch = first.epoch
        self._published[first.topic] = first.seq + count
        self._left.setdefault(first.topic, [0])

    def written(self, connection: Connection, runs: Sequence[Written]) -> None:
        """Note what was written to a peer."""
        for first, count in runs:
            if first.publisher == self._me and first.epoch == self._epoch:
                edges, end = self._left[first.topic], first.seq + count
                if edges[-1] == first.seq:
                    edges[-1] = end
                elif end > edges[0]:
                    for seq in range(first.seq, end):
                        self.give_up(first.topic, seq)
        self.on_written(connection, runs)

    def give_up(self, topic: Topic, seq: int) -> None:
        """Count an event as one that has left."""
        edges = self._left[topic]
        at = bisect_right(edges, seq)
        if at % 2 == 1:
            add_number(edges, at, seq)

    def due(self) -> dict[Topic, int]:
        """Return how many events have been published so far, by topic."""
        return dict(self._published)

    def unsent(self, due: Mapping[Topic, int]) -> Iterator[tuple[Topic, int]]:
        """Yield topic and number of those among the first `due` events that have not left."""
        for topic, end in due.items():
            edges = self._left[topic]
            for first, after in zip_longest(edges[::2], edges[1::2], fillvalue=end):
                for seq in range(first, min(after, end)):
                    yield topic, seq


async def drain(host: Host, log: EventLog, timeout: float | None) -> None:
    """Wait until all events have left and neighbours have read them (see `NetworkNode.drain`)."""
    departures = host.outgoing.departures
    due, lost = departures.due(), 0
    try:
        async with asyncio.timeout(timeout):
            # Two rounds: a neighbour that has read a notice pulls the event before it answers.
            for _ in range(2):
                await _written(host)
                lost += await _sent(host, log, due)
                await _read(host)
            await _written(host)
    except TimeoutError:
        pass
    else:
        if not lost:
            return
    unsent = lost + sum(1 for _ in departures.unsent(due))
    raise NotDrained(unsent, host.outgoing.queued(), lost, timeout)


async def _written(host: Host) -> None:
    """Wait until all events that are queued now have been written, or dropped with their peer."""
    marks = [(peer.queue, peer.queue.mark()) for peer in host.peers]
    while any(queue.passed < mark for queue, mark in marks):
        await asyncio.sleep(LOOK_S)


async def _sent(host: Host, log: EventLog, due: Mapping[Topic, int]) -> int:
    """Wait until each of these events has left, and return how many never can, since they are
    neither in a queue nor in the window any more."""
    departures, loop = host.outgoing.departures, asyncio.get_running_loop()
    lost, look_at = 0, loop.time() + LOST_S
    while next(departures.unsent(due), None) is not None:
        await asyncio.sleep(LOOK_S)
        if loop.time() >= look_at and not host.outgoing.queued() and not host.overlay.backlog():
            kept = _kept(log, host, due)
            for event in list(departures.unsent(due)):
                if event not in kept:
                    departures.give_up(*event)
                    lost += 1
            look_at = loop.time() + LOST_S
    return lost


def _kept(log: EventLog, host: Host, topics: Iterable[Topic]) -> set[tuple[Topic, int]]:
    everything = 1 << 62
    return {
        (topic, event.seq)
        for topic in topics
        for event, _ in log.missing_of(topic, {}, everything, everything, host.now())
        if event.publisher == host.me
    }


async def _read(host: Host) -> None:
    """Wait until neighbours have read what was written to them so far."""
    asked = [
        (connection, connection.ping())
        for peer in host.peers
        if (connection := peer.connection) is not None and connection.open
    ]
    while any(connection.open and connection.pongs < n for connection, n in asked):
        await asyncio.sleep(LOOK_S)
