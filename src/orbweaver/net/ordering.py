"""Hold-back: events of each publisher on each topic, given out by their numbers.

An event that came early waits for those before it, but for `wait_ms` at most after the first
sign that they are missing, or after the last of them that came: who catches up may take longer
in all. Then they are skipped, and dropped should they come after all.

Where a stream starts, nobody says. An event numbered 0 starts at once. With another number
the stream may have begun long before the subscription, or the events before may be under way;
so the first event waits `first_ms` for lower ones, and then the lowest that came is the
start. Nothing counts as skipped by that. A host that knows better, from its log, says so with
`expect`. When a publisher starts anew it is known already, and its numbers count from 0.
"""

from __future__ import annotations

from collections import OrderedDict
from heapq import heappop, heappush

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, StreamId

Key = tuple[NodeId, Topic]


class Line:
    """What waits of one publisher on one topic."""

    __slots__ = ("due", "epoch", "filled", "held", "next_seq")

    def __init__(self, epoch: int, next_seq: int | None) -> None:
        self.epoch = epoch
        self.next_seq = next_seq
        """None until the start is known."""
        self.held: dict[int, tuple[Carrier, int]] = {}
        """By number, with the time of arrival; in the order of arrival, so that the first one
        tells since when the others are missed."""
        self.filled = 0
        """When the number that was waited for last came while others were held."""
        self.due: int | None = None


class Ordered:
    def __init__(
        self,
        wait_ms: int = 5000,
        first_ms: int = 500,
        events_max: int = 1000,
        streams_max: int = 100_000,
        bytes_max: int = 64 << 20,
    ) -> None:
        """`events_max` is for each publisher and topic: beyond it, the oldest gap is given
        up. Beyond `streams_max` the one that has been silent for longest is forgotten. When
        payloads of more than `bytes_max` wait in all, who adds to them waits no longer."""
        self._wait_ms = wait_ms
        self._first_ms = min(first_ms, wait_ms)
        self._events_max = events_max
        self._streams_max = streams_max
        self._bytes_max = bytes_max
        self._bytes = 0
        self._lines: OrderedDict[Key, Line] = OrderedDict()
        self._timers: list[tuple[int, Key]] = []
        self.skipped = 0
        """Numbers that were waited for in vain."""
        self.late = 0
        """Events dropped because they came after later ones had been given out."""

    def offer(self, message: Carrier, now: int) -> list[Carrier]:
        """What may be given out now, in order."""
        event = message.event
        key = (event.publisher, event.topic)
        out: list[Carrier] = []
        line = self._lines.get(key)
        if line is None:
            self._make_room(out)
            line = self._lines[key] = Line(event.epoch, None)
        self._lines.move_to_end(key)
        if event.epoch > line.epoch:
            while line.held:
                self._skip(line, out)
            line = self._lines[key] = Line(event.epoch, 0)
        if event.epoch < line.epoch or event.seq < (line.next_seq or 0):
            self.late += 1
            return out
        self._take(key, line, message, now, out)
        return out

    def expect(self, stream: StreamId, seq: int) -> None:
        """The stream goes on with this number. Ignored once something of it, or of a later
        epoch, has been offered."""
        publisher, epoch, topic = stream
        line = self._lines.get((publisher, topic))
        if line is None or (epoch > line.epoch and not line.held):
            self._lines[publisher, topic] = Line(epoch, seq)

    def due(self) -> int | None:
        """When to call `expire` next."""
        timers = self._timers
        while timers:
            due, key = timers[0]
            line = self._lines.get(key)
            if line is not None and line.due == due:
                return due
            heappop(timers)
        return None

    def expire(self, now: int) -> list[Carrier]:
        """Give up what has been waited for too long; what may be given out by that."""
        out: list[Carrier] = []
        while (due := self.due()) is not None and due <= now:
            _, key = heappop(self._timers)
            line = self._lines[key]
            line.due = None
            self._skip(line, out)
            self._set_timer(key, line)
        return out

    # -- inside

    def _take(self, key: Key, line: Line, message: Carrier, now: int, out: list[Carrier]) -> None:
        seq, held = message.event.seq, line.held
        if seq == line.next_seq or seq == 0:
            out.append(message)
            line.next_seq = seq + 1
            if not held:
                return
            line.filled = now
            self._give_out(line, out)
        else:
            if seq not in held:
                held[seq] = (message, now)
                self._bytes += len(message.event.payload)
            while held and (len(held) > self._events_max or self._bytes > self._bytes_max):
                self._skip(line, out)
        self._set_timer(key, line)
        if line.due is not None and line.due <= now:
            out += self.expire(now)

    def _skip(self, line: Line, out: list[Carrier]) -> None:
        """Give up what is missing before the lowest number held."""
        lowest = min(line.held)
        if line.next_seq is not None:
            self.skipped += lowest - line.next_seq
        line.next_seq = lowest
        self._give_out(line, out)

    def _give_out(self, line: Line, out: list[Carrier]) -> None:
        held, seq = line.held, line.next_seq
        assert seq is not None
        while seq in held:
            message, _ = held.pop(seq)
            self._bytes -= len(message.event.payload)
            out.append(message)
            seq += 1
        line.next_seq = seq

    def _set_timer(self, key: Key, line: Line) -> None:
        due = None
        if line.held:
            _, since = next(iter(line.held.values()))
            wait_ms = self._first_ms if line.next_seq is None else self._wait_ms
            due = max(since, line.filled) + wait_ms
        if due is not None and due != line.due:
            heappush(self._timers, (due, key))
        line.due = due

    def _make_room(self, out: list[Carrier]) -> None:
        if len(self._lines) >= self._streams_max:
            _, line = self._lines.popitem(last=False)
            while line.held:
                self._skip(line, out)
