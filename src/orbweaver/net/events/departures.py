"""Track which of a node's own events have left it, and wait until all have.

An event has left once it has been written to the socket of a neighbour: pushed, sent to a
neighbour that pulled it, or given out of the window. An event that is only queued, or only
announced, has not left, and neither has an event published while there was no neighbour.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from orbweaver.core.errors import NotDrained
from orbweaver.core.ids import Topic
from orbweaver.core.messages import Event
from orbweaver.net.wire.frames import EventId

if TYPE_CHECKING:
    from orbweaver.net.events.window import EventLog
    from orbweaver.net.host import Host

UNSENT_MAX = 1 << 16
"""Most events remembered as unsent; with more, the oldest count as lost."""
LOOK_S = 0.01
"""Seconds between two checks of what is still unsent."""
LOST_S = 1.0
"""Seconds between two checks of whether the window still has the unsent events."""


def event_id(event: Event) -> EventId:
    """Return the tuple that identifies an event."""
    return (event.publisher, event.epoch, event.topic, event.seq)


class Departures:
    """The node's own events that have not left yet."""

    def __init__(self) -> None:
        self.unsent: dict[EventId, None] = {}
        """Own events that were written to no socket yet, the oldest first."""
        self.lost = 0
        """How many events were removed from `unsent` because there were too many, since `drain`
        was last called."""

    def published(self, event: Event) -> None:
        self.unsent[event_id(event)] = None
        if len(self.unsent) > UNSENT_MAX:
            del self.unsent[next(iter(self.unsent))]
            self.lost += 1

    def written(self, events: Iterable[Event]) -> None:
        for event in events:
            self.unsent.pop(event_id(event), None)


async def drain(host: Host, log: EventLog, timeout: float | None) -> None:
    """Wait until all events have left and neighbours have read them (see `NetworkNode.drain`)."""
    departures = host.outgoing.departures
    lost, departures.lost = departures.lost, 0
    due = list(departures.unsent)
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
    unsent = lost + sum(key in departures.unsent for key in due)
    raise NotDrained(unsent, host.outgoing.queued(), lost, timeout)


async def _written(host: Host) -> None:
    """Wait until all events that are queued now have been written, or dropped with their peer."""
    marks = [(peer.queue, peer.queue.mark()) for peer in host.peers]
    while any(queue.passed < mark for queue, mark in marks):
        await asyncio.sleep(LOOK_S)


async def _sent(host: Host, log: EventLog, due: list[EventId]) -> int:
    """Wait until each of these events has left, and return how many never can, since they are
    neither in a queue nor in the window any more."""
    unsent = host.outgoing.departures.unsent
    loop = asyncio.get_running_loop()
    lost, look_at = 0, loop.time() + LOST_S
    while any(key in unsent for key in due):
        await asyncio.sleep(LOOK_S)
        if loop.time() >= look_at and not host.outgoing.queued() and not host.overlay.backlog():
            kept = _kept(log, host, {key[2] for key in due if key in unsent})
            for key in due:
                if key in unsent and key not in kept:
                    del unsent[key]
                    lost += 1
            look_at = loop.time() + LOST_S
    return lost


def _kept(log: EventLog, host: Host, topics: Iterable[Topic]) -> set[EventId]:
    everything = 1 << 62
    return {
        event_id(event)
        for topic in topics
        for event, _ in log.missing_of(topic, {}, everything, everything, host.now())
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
