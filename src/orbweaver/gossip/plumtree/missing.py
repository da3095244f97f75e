"""Events that are known to exist and have not come: which nodes have them, and when to ask.

What peers say of events is not signed, so what is remembered of it is bounded, for each peer
and in all.
"""

from __future__ import annotations

from heapq import heappop, heappush

from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import StreamId
from orbweaver.gossip.streams import Stream

Numbered = tuple[StreamId, int]


class MissingEvent:
    """An event known to exist: which nodes have it, and which were asked."""

    __slots__ = ("asked", "due", "floor", "holders", "since")

    def __init__(self, since: int, holder: NodeId, floor: int) -> None:
        self.since = self.due = since
        self.holders = [holder]
        self.floor = floor
        """Lowest number of the stream that was worth asking for when this one was noted."""
        self.asked: list[NodeId] = []


class MissingEvents:
    PATIENCE_MS = 100
    """Lowest patience: milliseconds in which an announced event may come by itself before it is
    pulled. Where events come later, the patience is twice as long as they took."""
    PATIENCE_MS_MAX = 2000
    """Highest patience in milliseconds."""
    OF_PEER = 1 << 12
    """How many events are looked for at one time on the word of one peer."""
    MAX = 1 << 16
    """How many events are looked for at one time."""

    def __init__(self) -> None:
        self.events: dict[Numbered, MissingEvent] = {}
        self.patience_ms = self.PATIENCE_MS
        self._late = False
        """Whether an event has come late since the patience was last lowered."""
        self._numbers: dict[StreamId, dict[int, None]] = {}
        """The same events, by stream."""
        self._told_by: dict[NodeId, int] = {}
        """Peer -> how many of the events are looked for on its word."""
        self._shown: dict[StreamId, dict[NodeId, int]] = {}
        """Stream with missing events -> peer -> the highest number that the peer has shown."""
        self._dues: list[tuple[int, Numbered]] = []
        """A heap of when events are due. Entries that hold no longer are skipped."""

    def note(
        self,
        key: StreamId,
        stream: Stream,
        seq: int,
        window: int,
        holder: NodeId,
        now: int,
    ) -> bool:
        """Note that `holder` has the events of a stream up to `seq`. Those of the last `window`
        that are missing here are due at once. Return whether any of them is news."""
        if self._told_by.get(holder, 0) >= self.OF_PEER:
            return False
        floor = seq - window + 1
        # What this holder has shown before has been noted; there may be thousands of it.
        shown = self._shown.get(key, {}).get(holder, -1)
        for gap in stream.gaps_up_to(seq, min(window, seq - shown)):
            missing = self.events.get((key, gap))
            if missing is None:
                told = self._told_by.get(holder, 0)
                if told >= self.OF_PEER or len(self.events) >= self.MAX:
                    seq = gap - 1
                    break
                self._told_by[holder] = told + 1
                self._numbers.setdefault(key, {})[gap] = None
                self.events[key, gap] = MissingEvent(now, holder, floor)
                heappush(self._dues, (now, (key, gap)))
            elif holder not in missing.holders:
                missing.holders.append(holder)
        if key in self._numbers and seq > shown:
            self._shown.setdefault(key, {})[holder] = seq
            return True
        return False

    def found(self, key: StreamId, seq: int) -> MissingEvent | None:
        """Look for an event no longer. Return what was known of it, if it was looked for."""
        missing = self.events.pop((key, seq), None)
        if missing is not None:
            numbers, holder = self._numbers[key], missing.holders[0]
            del numbers[seq]
            if not numbers:
                del self._numbers[key]
                self._shown.pop(key, None)
            self._told_by[holder] -= 1
            if not self._told_by[holder]:
                del self._told_by[holder]
        return missing

    def give_up(self, key: StreamId, seq: int) -> None:
        """Look for an event no longer, until the next sign of its stream."""
        self.found(key, seq)
        self._shown.pop(key, None)

    def give_up_topic(self, topic: Topic) -> None:
        for key, seq in [event for event in self.events if event[0][2] == topic]:
            self.give_up(key, seq)

    def below(self, key: StreamId, seq: int) -> list[int]:
        """Return the numbers of a stream below `seq` that are looked for."""
        return [number for number in self._numbers.get(key, ()) if number < seq]

    def overdue(self, now: int) -> list[tuple[Numbered, MissingEvent]]:
        return [event for event in self.events.items() if event[1].due <= now]

    def put_off(self, event: Numbered, due: int) -> None:
        self.events[event].due = due
        heappush(self._dues, (due, event))

    def next_due(self) -> int | None:
        dues = self._dues
        while dues:
            due, event = dues[0]
            missing = self.events.get(event)
            if missing is not None and missing.due == due:
                return due
            heappop(dues)
        return None

    @property
    def is_patient(self) -> bool:
        """Whether events have come late of late."""
        return self.patience_ms > self.PATIENCE_MS

    def be_patient(self, late_ms: int) -> None:
        """Note that an event that was announced has come by itself after `late_ms`. Pulling
        such events would only make work where there is too much of it."""
        if 2 * late_ms > self.patience_ms:
            self.patience_ms = min(2 * late_ms, self.PATIENCE_MS_MAX)
        self._late = self._late or 4 * late_ms > self.patience_ms

    def be_impatient(self) -> None:
        """Halve the patience, down to the minimum, unless events still come late."""
        if not self._late:
            self.patience_ms = max(self.PATIENCE_MS, self.patience_ms // 2)
        self._late = False
