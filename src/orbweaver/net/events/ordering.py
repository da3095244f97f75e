"""Hold back events, to give out those of each publisher on each topic in the order of their
numbers.

An event that comes early waits for the missing ones before it, as long as some peer may still have
them: they were published before it, so no window holds them once the event is older than
`window_ms`. The event waits for at least `wait_ms` after it came, or after the last missing event
came, since a node that catches up may take longer in all. Then the missing numbers are skipped and
counted as missed; should they still come, they are dropped. Events of a publisher's new life wait
behind events that are held of its life before.

No message says where a stream starts. An event numbered 0 starts the stream at once. With another
number the stream may have begun long before the subscription, or earlier events may be on their
way; so the first event waits `first_ms` for lower ones, and then the lowest one that came is the
start. No number before it counts as skipped. A host that knows more from its log says so with
`expect`. In a new life of a known publisher, numbers count from 0.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from heapq import heappop, heappush

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Carrier, StreamId

SKIPS_MAX = 256
"""How many skipped gaps are remembered for each line, so that none of their events counts as
missed twice."""

Key = tuple[NodeId, Topic]
"""(publisher, topic)"""

Place = tuple[int, int]
"""(epoch, sequence number)"""


class Line:
    """The events of one publisher on one topic that wait, and which number is next."""

    __slots__ = ("due", "epoch", "filled", "given", "held", "next_seq", "places", "skips")

    def __init__(self, epoch: int, next_seq: int | None) -> None:
        self.epoch = epoch
        self.next_seq = next_seq
        """The number that is given out next; None until the start of the stream is known."""
        self.held: dict[Place, tuple[Carrier, int]] = {}
        """Waiting events by place, with the time of arrival. They are in the order of arrival, so
        that the first one tells since when events are missing."""
        self.places: list[Place] = []
        """A heap of the places in `held`, and of places that have left `held`."""
        self.filled = 0
        """When a missing event last came while others were held."""
        self.due: int | None = None
        self.skips: deque[tuple[int, int, int]] = deque(maxlen=SKIPS_MAX)
        """Skipped gaps: (epoch, first number, first number after the gap)."""

        self.given: list[tuple[int, int]] = []
        """Runs of numbers of this epoch that were given out before and will not be offered."""

    def pass_given(self) -> None:
        """Advance the next number past numbers that were given out before."""
        while self.given and self.next_seq is not None and self.given[0][0] <= self.next_seq:
            _, end = self.given.pop(0)
            self.next_seq = max(self.next_seq, end)

    def missing_before(self, seq: int) -> int:
        """Return how many numbers from the next one to below `seq` have never been given out."""
        first = seq if self.next_seq is None else self.next_seq
        return seq - first - sum(max(0, min(end, seq) - start) for start, end in self.given)

    def lowest(self) -> Place:
        while self.places[0] not in self.held:
            heappop(self.places)
        return self.places[0]


class Ordered:
    """The hold-back of one subscription."""

    def __init__(
        self,
        wait_ms: int = 5000,
        first_ms: int = 500,
        events_max: int = 1000,
        streams_max: int = 100_000,
        bytes_max: int = 64 << 20,
        window_ms: int = 0,
    ) -> None:
        """Start without events, and with these limits.

        When more than `events_max` events of one publisher and topic wait, the oldest gap is
        skipped. With more than `streams_max` lines, the one that has been silent for longest is
        forgotten. When payloads of more than `bytes_max` wait in all, an event that would add to
        them makes its own line skip gaps. `window_ms` is the age up to which peers keep events.
        """
        self._wait_ms = wait_ms
        self._first_ms = min(first_ms, wait_ms)
        self._events_max = events_max
        self._streams_max = streams_max
        self._bytes_max = bytes_max
        self._window_ms = window_ms
        self._bytes = 0
        self._lines: OrderedDict[Key, Line] = OrderedDict()
        self._timers: list[tuple[int, Key]] = []
        self._gaps: list[tuple[Carrier, int]] = []
        self.skipped = 0
        """How many numbers were skipped."""
        self.late = 0
        """How many events were dropped because they came after later ones had been given out."""
        self.late_missed = 0
        """How many of the late events had not been counted as skipped."""

    def offer(self, message: Carrier, now: int) -> list[Carrier]:
        """Return what may be given out now, in order. A run that goes on where its line was, with
        nothing held, stays whole; any other one is taken apart."""
        event = message.event
        key = (event.publisher, event.topic)
        if message.more:
            line = self._lines.get(key)
            if (
                line is None
                or (event.epoch, event.seq) != (line.epoch, line.next_seq)
                or (line.held or line.given)
            ):
                return [out for single in message.singles() for out in self.offer(single, now)]
        out: list[Carrier] = []
        line = self._lines.get(key)
        if line is None:
            self._make_room(out)
            line = self._lines[key] = Line(event.epoch, None)
        self._lines.move_to_end(key)
        if event.epoch > line.epoch and not line.held:
            line = self._lines[key] = Line(event.epoch, 0)
        if (event.epoch, event.seq) < (line.epoch, line.next_seq or 0):
            self.late += 1
            self.late_missed += not any(
                epoch == event.epoch and first <= event.seq < end
                for epoch, first, end in line.skips
            )
            return out
        self._take(key, line, message, now, out)
        return out

    def expect(
        self, stream: StreamId, seq: int | None, given: Iterable[tuple[int, int]] = ()
    ) -> None:
        """Say that a stream goes on with number `seq`, or that its start is unknown (None).

        Numbers in the runs `given`, each (first, first after the run), are not offered again.
        The call has no effect after an event of the stream, or of a later epoch, was offered.
        """
        publisher, epoch, topic = stream
        line = self._lines.get((publisher, topic))
        if line is None or (epoch > line.epoch and not line.held):
            line = self._lines[publisher, topic] = Line(epoch, seq)
            line.given = list(given)
            line.pass_given()

    def due(self) -> int | None:
        """Return when to call `expire` next, or None if nothing waits."""
        timers = self._timers
        while timers:
            due, key = timers[0]
            line = self._lines.get(key)
            if line is not None and line.due == due:
                return due
            heappop(timers)
        return None

    def expire(self, now: int) -> list[Carrier]:
        """Skip the gaps that have been waited for too long, and return the events that may be given
        out after them."""
        out: list[Carrier] = []
        while (due := self.due()) is not None and due <= now:
            _, key = heappop(self._timers)
            line = self._lines[key]
            line.due = None
            self._skip(line, out)
            self._set_timer(key, line)
        return out

    def take_gaps(self) -> list[tuple[Carrier, int]]:
        """Return the events given out directly after a skipped gap since the last call, each with
        how many numbers the gap had."""
        gaps, self._gaps = self._gaps, []
        return gaps

    # -- inside

    def _take(self, key: Key, line: Line, message: Carrier, now: int, out: list[Carrier]) -> None:
        epoch, seq, held = message.event.epoch, message.event.seq, line.held
        place = (epoch, seq)
        if epoch == line.epoch and seq in (line.next_seq, 0):
            out.append(message)
            line.next_seq = seq + 1 + len(message.more)
            line.pass_given()
            if not held:
                return
            line.filled = now
            self._give_out(line, out)
        else:
            if place not in held:
                held[place] = (message, now)
                heappush(line.places, place)
                self._bytes += len(message.event.payload)
            while held and (len(held) > self._events_max or self._bytes > self._bytes_max):
                self._skip(line, out)
        self._set_timer(key, line)
        if line.due is not None and line.due <= now:
            out += self.expire(now)

    def _skip(self, line: Line, out: list[Carrier]) -> None:
        """Skip the numbers that are missing before the lowest number held."""
        place = line.lowest()
        _, lowest = place
        if line.next_seq is not None:
            missing = line.missing_before(lowest)
            self.skipped += missing
            line.skips.append((line.epoch, line.next_seq, lowest))
            message, _ = line.held[place]
            self._gaps.append((message, missing))
        line.next_seq = lowest
        self._give_out(line, out)

    def _give_out(self, line: Line, out: list[Carrier]) -> None:
        """Give out the next events, and go on to the next epoch if none of this one is held."""
        held = line.held
        while held:
            assert line.next_seq is not None
            place = (line.epoch, line.next_seq)
            if place in held:
                message, _ = held.pop(place)
                self._bytes -= len(message.event.payload)
                out.append(message)
                line.next_seq += 1
                line.pass_given()
                continue
            epoch, _ = line.lowest()
            if epoch == line.epoch:
                break
            line.epoch, line.next_seq = epoch, 0
            line.given.clear()
        if not held:
            line.places.clear()

    def _set_timer(self, key: Key, line: Line) -> None:
        due = None
        if line.held:
            message, since = next(iter(line.held.values()))
            if line.next_seq is None:
                due = max(since, line.filled) + self._first_ms
            else:
                published = since - message.age_ms
                due = max(max(since, line.filled) + self._wait_ms, published + self._window_ms)
        if due is not None and due != line.due:
            heappush(self._timers, (due, key))
        line.due = due

    def _make_room(self, out: list[Carrier]) -> None:
        if len(self._lines) >= self._streams_max:
            _, line = self._lines.popitem(last=False)
            while line.held:
                self._skip(line, out)
