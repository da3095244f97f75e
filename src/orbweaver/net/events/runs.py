"""The events that an application publishes leave the node in runs.

Events that are published on one topic in one tick of the loop follow each other in one stream. They
are numbered at once, wait for the end of the tick, and then take the way to the neighbours as one
*run*: signed together, handed to the overlay together, kept in the window as one entry. What a
node does for an event is nearly all done once for a run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from orbweaver.core.ids import Topic
from orbweaver.core.messages import RUN_EVENTS_MAX, Carrier, Event
from orbweaver.net.host import Host
from orbweaver.net.wire.seals import event_hashes, seal_events

RUN_BYTES_MAX = 64 << 10
"""Bytes of payload at which runs are closed before the end of the tick."""


class OpenRun:
    """The events of one topic that wait for the end of the tick."""

    __slots__ = ("payloads", "reach", "seq")

    def __init__(self, seq: int, reach: int) -> None:
        self.seq = seq
        """The number of the first event."""
        self.payloads: list[bytes] = []
        self.reach = reach
        """To how many neighbours the events will be sent."""


class OpenRuns:
    """The runs of one node that are open in this tick."""

    events_max = RUN_EVENTS_MAX
    """Most events of all open runs together: they are under one signature."""

    def __init__(self, host: Host, published: Callable[[Sequence[Carrier]], None]) -> None:
        """`published` is called with what was published in a tick."""
        self._host = host
        self._published = published
        self._next: dict[Topic, int] = {}
        """Topic -> the number of the next event after the open runs."""
        self.open: dict[Topic, OpenRun] = {}
        self._events = self._bytes = 0

    def begin(self, topic: Topic) -> OpenRun:
        """Open a run. The overlay is asked once for each run how many neighbours it will reach."""
        if not self.open:
            asyncio.get_running_loop().call_soon(self.close)
        run = self.open[topic] = OpenRun(self._next.get(topic, 0), self._host.overlay.reach(topic))
        return run

    def append(self, run: OpenRun, payload: bytes) -> int:
        """Add an event to an open run, and return its number."""
        seq = run.seq + len(run.payloads)
        run.payloads.append(payload)
        self._events += 1
        self._bytes += len(payload)
        if self._events >= self.events_max or self._bytes >= RUN_BYTES_MAX:
            self.close()
        return seq

    def close(self) -> None:
        """Sign what was published in this tick, and hand it to the overlay."""
        runs, self.open = self.open, {}
        self._events = self._bytes = 0
        host = self._host
        if not runs or not host.running:
            return
        host.tick()
        if host.settings.sign:
            hashes = [
                digest
                for topic, run in runs.items()
                for digest in event_hashes(
                    Event(topic, host.me, host.epoch, run.seq, run.payloads[0]), run.payloads[1:]
                )
            ]
            time_ms = round(time.time() * 1000)
            host.seal = seal_events(
                host.identity, host.settings.cluster, hashes, time_ms, host.certificate
            )
        for topic, run in runs.items():
            self._next[topic] = run.seq + len(run.payloads)
            carriers = host.overlay.publish_run(topic, run.payloads)
            first = carriers[0].event
            assert (first.epoch, first.seq) == (host.epoch, run.seq), "an overlay numbers from 0"
            host.outgoing.departures.published(first, len(run.payloads))
            self._published(carriers)
        host.outgoing.flush()
