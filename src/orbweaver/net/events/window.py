"""The window keeps recent events for neighbours that missed them.

An entry is an event, or a run of events that came together; limits count events and bytes. All
entries are in the order of arrival. Each topic has its own entries, for the limit on events;
one queue over all topics serves the limits on age and on bytes. An entry that has left its topic's
entries stays in the queue until it comes to the queue's head. When a limit is reached, room for a
64th of the limit is made at once: the holders that take up most (`events.shares`) lose their oldest
entries. So `put` costs a few microseconds.

Numbers that were seen are remembered for longer than events are kept, so that no event is
delivered twice: the numbers of a stream are remembered for `forget_ms` after its last event. By
then the event is too old for any window, and no peer can bring it again. If there are too many
streams, some are forgotten earlier, and the time in their seals takes the place of their numbers:
an event of the publisher that was sealed at this time or earlier is not new any more, unless its
stream is still known.

Times are milliseconds that the caller passes in and that never go back.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from orbweaver.core.errors import ProtocolError
from orbweaver.core.ids import NodeId, Topic
from orbweaver.core.messages import Event, Seal, StreamId, run_of
from orbweaver.net.events.seen import SEQ_MAX, Seen, has, has_all
from orbweaver.net.events.shares import Holder, cuts
from orbweaver.net.wire.seals import BatchSeal

EVENT_COST = 400
"""Bytes of memory that an event takes besides its payload, approximately."""

SEAL_COST = 6
"""Bytes of memory for each byte of an encoded seal."""

_SWEEP_MS = 1000
_SWEEP_ENTRIES = 100
"""How often old entries are removed, in milliseconds, and how many at a time: small lots, so that
no event has to wait for a large one."""

_PARTS = 32
"""A run that takes more than this part of a limit is kept as single events: entries leave whole."""

_STREAM_NUMBERS = range(-(1 << 63), 1 << 63)
"""Publishers and epochs that a signed 64-bit column can hold."""

Positions = Mapping[StreamId, Sequence[int]]
"""What a node has of each stream of a topic: edges as in `seen`. Edges from a peer may be any
numbers; wrong ones only mean that the peer is sent the wrong events."""


class Window:
    """The entries and streams of one topic."""

    __slots__ = ("entries", "events", "held", "streams", "topic")

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.entries: dict[int, Entry] = {}
        """Entries by number, in the order of arrival."""
        self.events = 0
        """How many events the entries have."""
        self.held: dict[Holder, int] = {}
        """How many of the events each holder has."""
        self.streams: dict[StreamId, KnownStream] = {}


Entry = tuple[int, int, Event, tuple[bytes, ...], Window, int, Holder]
"""(number, published at, the first event, the payloads of the events that follow it, the topic's
window, bytes counted, the holder). The events have numbers from `number` on."""


class KnownStream(Seen):
    """The numbers seen of one stream, and when its last event came."""

    __slots__ = ("last_ms", "number", "pushed_ms", "sealed_ms", "window")

    def __init__(self, window: Window) -> None:
        super().__init__()
        self.window = window
        self.last_ms = 0
        self.pushed_ms = 0
        """When the last event came by itself, not out of a neighbour's window."""
        self.number = 0
        """Number of the stream's last entry."""
        self.sealed_ms = 0
        """The latest time in a seal of the stream's events, by the publisher's clock."""


class EventLog:
    """The window of a node, in memory."""

    def __init__(
        self,
        events_max: int = 1000,
        age_ms_max: int = 300_000,
        bytes_max: int = 64 << 20,
        *,
        streams_max: int = 100_000,
        streams_of_publisher: int = 1 << 14,
        forget_ms: int | None = None,
        sealed_ms_max: int | None = None,
        seal_to_bytes: Callable[[Seal], bytes] | None = None,
    ) -> None:
        """Make an empty log with these limits.

        `events_max` is for each topic and `streams_of_publisher` for each publisher; the other
        limits are for the whole log. The caller puts no event whose seal is older than
        `sealed_ms_max`, so a stream with an older last seal is forgotten even before
        `forget_ms`. Without `seal_to_bytes`, seals do not count as bytes.
        """
        self._events_max = events_max
        self._age_ms_max = age_ms_max
        self._bytes_max = bytes_max
        self._streams_max = max(1, streams_max)
        self._streams_of_publisher = max(1, streams_of_publisher)
        self._forget_ms = 2 * age_ms_max if forget_ms is None else forget_ms
        self._sealed_ms_max = self._forget_ms if sealed_ms_max is None else sealed_ms_max
        self._seal_to_bytes = seal_to_bytes

        self._number = 0
        self._events = 0
        self._bytes = 0
        self._forgotten = 0
        self._sweep_at = 0
        self._held: dict[Holder, int] = {}
        """How many bytes each holder has."""
        self._sealed: dict[bytes, tuple[int, Holder]] = {}
        """Name of each seal -> how many entries are kept under it, and the holder that its bytes
        count for: the holder of the first entry."""
        self._windows: dict[Topic, Window] = {}
        self._order: deque[Entry] = deque()
        self._streams: OrderedDict[StreamId, KnownStream] = OrderedDict()
        """All known streams, the longest silent first."""
        self._of_publisher: dict[NodeId, int] = {}
        """How many known streams each publisher has."""
        self._sealed_until: dict[NodeId, int] = {}
        """Publisher -> the latest time in a seal of its streams that were forgotten early."""
        self._all_sealed_until = 0
        """The latest time in a seal of streams that were forgotten early, over the publishers that
        are no longer in `_sealed_until`."""

    # -- events that come

    def put(
        self,
        event: Event,
        age_ms: int,
        now: int,
        source: NodeId | None = None,
        more: tuple[bytes, ...] = (),
        pulled: bool = False,
    ) -> bool:
        """Keep the event, unless it is too old, and return whether it is new: False if it was seen
        before.

        `source` is the neighbour that brought the event, if one did, and `pulled` says that it came
        out of the neighbour's window. With `more`, the payloads of
        events that follow it, return False without a change unless the run lies behind all that
        was seen of its stream: then try its events one by one. Raise a `ProtocolError` if the
        event has numbers that no publisher can have reached.
        """
        seq, count = event.seq, 1 + len(more)
        key = (event.publisher, event.epoch, event.topic)
        known = self._streams.get(key)
        if known is None:
            if self._may_be_forgotten(event):
                return False
            known = self._remember(key, seq)
        edges = known.edges
        if edges[-1] == seq:
            edges[-1] = seq + count
        elif not (known.go_on(seq, count) if more else known.settle(seq)):
            return False
        number = self._number + 1
        self._number = known.number = self._number + count
        known.last_ms = now
        if not pulled:
            known.pushed_ms = now
        if isinstance(event.seal, BatchSeal) and event.seal.time_ms > known.sealed_ms:
            known.sealed_ms = event.seal.time_ms
        self._streams.move_to_end(key)

        if age_ms <= self._age_ms_max:
            published = now - age_ms if age_ms > 0 else now
            size = count * EVENT_COST + len(event.payload) + sum(map(len, more))
            holder = (source, event.publisher)
            if more and (_PARTS * count > self._events_max or _PARTS * size > self._bytes_max):
                for at, one in enumerate(run_of(event, more), number):
                    cost = EVENT_COST + len(one.payload)
                    self._keep((at, published, one, (), known.window, cost, holder))
            else:
                self._keep((number, published, event, more, known.window, size, holder))
        if now >= self._sweep_at:
            self._sweep(now, _SWEEP_ENTRIES)
        return True

    def seen(self, event: Event) -> bool:
        """Return whether the event was seen before."""
        known = self._streams.get(event.stream)
        return known is not None and has(known.edges, event.seq)

    def expire(self, now: int) -> None:
        """Drop all entries and streams that are too old. `put` drops some with each event; `expire`
        is for times without events."""
        self._sweep(now, len(self._order) + len(self._streams))

    def drop_topic(self, topic: Topic) -> None:
        """Drop all entries of a topic. Its streams stay known as usual, so that a node that
        subscribes again soon does not get the same events again."""
        window = self._windows.get(topic)
        for entry in list(window.entries.values()) if window is not None else ():
            self._drop(entry)
        self._tidy()

    # -- for neighbours

    def positions(self, topic: Topic) -> dict[StreamId, tuple[int, ...]]:
        """Return what was seen here of each stream of a topic, to ask a neighbour for the rest."""
        window = self._windows.get(topic)
        if window is None:
            return {}
        return {key: tuple(known.edges) for key, known in window.streams.items()}

    def flowing(self, topic: Topic, since_ms: int) -> Collection[StreamId]:
        """Return the streams of a topic of which an event has come by itself since then."""
        window = self._windows.get(topic)
        streams = window.streams.items() if window is not None else ()
        return {key for key, known in streams if known.pushed_ms >= since_ms}

    def kept(
        self, topic: Topic, age_ms_min: int, age_ms_max: int, now: int
    ) -> Iterator[tuple[StreamId, int]]:
        """Yield stream and number of each event kept of a topic that has an age from
        `age_ms_min` to `age_ms_max`."""
        window = self._windows.get(topic)
        if window is not None:
            oldest, youngest = now - min(age_ms_max, self._age_ms_max), now - age_ms_min
            for _, published, event, more, *_ in window.entries.values():
                if oldest <= published <= youngest:
                    stream = event.stream
                    for seq in range(event.seq, event.seq + 1 + len(more)):
                        yield stream, seq

    def missing_of(
        self, topic: Topic, positions: Positions, age_ms_max: int, limit_bytes: int, now: int,
        among: Callable[[StreamId], bool] | None = None,
    ) -> list[tuple[Event, int]]:  # fmt: skip
        """Return the events kept here, with their ages, that a node with these positions lacks.

        The oldest come first, and each stream is in the order of its numbers. The events take at
        most `limit_bytes`, except for a single larger event, which could never be sent
        otherwise. Streams for which `among` is False are left out.
        """
        window = self._windows.get(topic)
        if window is None:
            return []
        horizon = now - min(age_ms_max, self._age_ms_max)
        lacking: list[tuple[int, Event]] = []
        for _, published, first, more, *_ in window.entries.values():
            stream = first.stream
            edges = positions.get(stream, (0,))
            if published < horizon or has_all(edges, first.seq, 1 + len(more)):
                continue
            if among is None or among(stream):
                lacking += [
                    (published, event) for event in run_of(first, more) if not has(edges, event.seq)
                ]
        size = 0
        chosen: list[tuple[Event, int]] = []
        seals: dict[bytes, None] = {}
        for published, event in _in_turn(lacking):
            size += EVENT_COST + len(event.payload)
            seal = event.seal
            if seal is not None and seal.name not in seals and self._seal_to_bytes is not None:
                seals[seal.name] = None
                size += len(self._seal_to_bytes(seal))
            if chosen and size > limit_bytes:
                break
            chosen.append((event, max(0, now - published)))
        return chosen

    def sizes(self) -> dict[str, int]:
        """Return the sizes of the window, by name. `topics` counts topics with an event."""
        topics = sum(1 for window in self._windows.values() if window.entries)
        return {
            "events": self._events,
            "bytes": self._bytes,
            "streams": len(self._streams),
            "topics": topics,
        }

    # -- for a log that survives the process; here without effect

    @property
    def unwritten(self) -> int:
        """Return how many events were put since the last `flush`."""
        return 0

    def flush(self) -> None:
        """Write all changes to the file."""

    def close(self) -> None:
        """Flush, and close the file."""

    def remember_subscription(self, topic: Topic, since_ms: int) -> None:
        """Remember a subscription, and since when events are owed to it."""

    def forget_subscription(self, topic: Topic) -> None:
        """Forget the subscription to a topic."""

    def subscriptions(self) -> dict[Topic, int]:
        """Return the remembered subscriptions: topic -> since when events are owed."""
        return {}

    def remember_peers(self, peers: Sequence[tuple[NodeId, bytes]]) -> None:
        """Remember these peers and their cards, in place of those remembered before."""

    def peers(self) -> list[tuple[NodeId, bytes]]:
        return []

    # -- inside

    def _remember(self, key: StreamId, seq: int) -> KnownStream:
        publisher, epoch, topic = key
        if not (publisher in _STREAM_NUMBERS and epoch in _STREAM_NUMBERS and 0 <= seq < SEQ_MAX):
            raise ProtocolError(
                f"an event has number {seq}, publisher {publisher} and epoch {epoch}; they should "
                "fit into 63 bits"
            )
        if len(self._streams) >= self._streams_max:
            self._forget_early(next(iter(self._streams)))
        count = self._of_publisher.get(publisher, 0)
        if count >= self._streams_of_publisher:
            # Half of the publisher's streams go at once, since finding them takes a while.
            own = [stream for stream in self._streams if stream[0] == publisher]
            for stream in own[: (count + 1) // 2]:
                self._forget_early(stream)
        self._of_publisher[publisher] = self._of_publisher.get(publisher, 0) + 1
        window = self._windows.get(topic)
        if window is None:
            window = self._windows[topic] = Window(topic)
        known = self._streams[key] = window.streams[key] = KnownStream(window)
        return known

    def _may_be_forgotten(self, event: Event) -> bool:
        """Return whether an event of an unknown stream may have been delivered before: its seal is
        not newer than the seals of streams that were forgotten early."""
        if not isinstance(event.seal, BatchSeal) or not event.seal.time_ms:
            return False  # unsigned
        until = self._sealed_until.get(event.publisher, 0)
        return event.seal.time_ms <= max(until, self._all_sealed_until)

    def _forget_early(self, key: StreamId) -> None:
        known, publisher = self._streams[key], key[0]
        self._forget_stream(key)
        # The publisher moves to the end, since its stream was forgotten last.
        until = max(known.sealed_ms, self._sealed_until.pop(publisher, 0))
        self._sealed_until[publisher] = until
        if len(self._sealed_until) > self._streams_max:
            until = self._sealed_until.pop(next(iter(self._sealed_until)))
            # A time ahead of our clock would make the events of all publishers old.
            self._all_sealed_until = max(self._all_sealed_until, min(until, known.last_ms))

    def _forget_stream(self, key: StreamId) -> None:
        known, publisher = self._streams.pop(key), key[0]
        self._of_publisher[publisher] -= 1
        if not self._of_publisher[publisher]:
            del self._of_publisher[publisher]
        self._forgotten += 1
        del known.window.streams[key]
        self._drop_if_empty(known.window)

    def _keep(self, entry: Entry) -> None:
        number, _, event, more, window, size, holder = entry
        window.entries[number] = entry
        self._order.append(entry)
        self._count_events(window, holder, 1 + len(more))
        self._charge(holder, size)
        self._count_seal(event, holder, 1)
        if window.events > self._events_max:
            self._make_room_in(window)
        if self._bytes > self._bytes_max:
            self._make_room()
        order = self._order
        while order and order[0][0] not in order[0][4].entries:
            order.popleft()
        if len(order) > 2 * self._events + 1000:
            self._tidy()

    def _make_room_in(self, window: Window) -> None:
        """Make room for more events of the topic."""
        excess = window.events - self._events_max + (self._events_max >> 6)
        give = cuts(window.held, excess)
        gone: list[Entry] = []
        for entry in window.entries.values():
            *_, more, _, _, holder = entry
            if give.get(holder, 0) > 0:
                give[holder] -= 1 + len(more)
                excess -= 1 + len(more)
                gone.append(entry)
                if excess <= 0:
                    break
        for entry in gone:
            self._drop(entry)

    def _make_room(self) -> None:
        """Get down to the limit on bytes, and somewhat below it if possible."""
        over, before = self._bytes - self._bytes_max, self._bytes
        enough = over + (self._bytes_max >> 6)
        give = cuts(self._held, enough)
        for entry in self._order:
            number, _, _, _, window, size, holder = entry
            if give.get(holder, 0) <= 0 or number not in window.entries:
                continue
            freed = before - self._bytes
            if freed >= over and freed + size > enough:
                break
            self._drop(entry)
            give[holder] -= before - freed - self._bytes
        while self._bytes > self._bytes_max:  # the holder of a seal may have nothing else
            entry = self._order.popleft()
            if entry[0] in entry[4].entries:
                self._drop(entry)

    def _drop(self, entry: Entry) -> None:
        number, _, event, more, window, size, holder = entry
        del window.entries[number]
        self._count_events(window, holder, -1 - len(more))
        self._charge(holder, -size)
        self._count_seal(event, holder, -1)
        if not window.entries:
            self._drop_if_empty(window)

    def _count_events(self, window: Window, holder: Holder, change: int) -> None:
        self._events += change
        window.events += change
        window.held[holder] = held = window.held.get(holder, 0) + change
        if not held:
            del window.held[holder]

    def _charge(self, holder: Holder, size: int) -> None:
        self._bytes += size
        self._held[holder] = held = self._held.get(holder, 0) + size
        if not held:
            del self._held[holder]

    def _drop_if_empty(self, window: Window) -> None:
        if not window.entries and not window.streams:
            del self._windows[window.topic]

    def _tidy(self) -> None:
        """Remove from the queue the entries that have left their topics. Otherwise they would pile
        up behind an entry that stays for long."""
        self._order = deque(entry for entry in self._order if entry[0] in entry[4].entries)

    def _sweep(self, now: int, most: int) -> None:
        order, streams = self._order, self._streams
        horizon = now - self._age_ms_max
        for _ in range(most):
            if order and (order[0][0] not in order[0][4].entries or order[0][1] < horizon):
                entry = order.popleft()
                if entry[0] in entry[4].entries:
                    self._drop(entry)
            elif streams and self._is_over(next(iter(streams.values())), now):
                self._forget_stream(next(iter(streams)))
            else:
                self._sweep_at = now + min(_SWEEP_MS, self._age_ms_max)
                return

    def _is_over(self, known: KnownStream, now: int) -> bool:
        """Return whether no peer can bring an event of this stream any more."""
        if known.last_ms < now - self._forget_ms:
            return True
        # A stream without seals may be this node's own, or of a network without signatures.
        last_ms = max(known.last_ms, known.sealed_ms)
        return known.sealed_ms > 0 and last_ms < now - self._sealed_ms_max

    def _count_seal(self, event: Event, holder: Holder, change: int) -> None:
        """Count one entry more (`change` 1) or less (-1) under the event's seal."""
        seal = event.seal
        if seal is None or self._seal_to_bytes is None:
            return
        count, payer = self._sealed.get(seal.name, (0, holder))
        if count + change:
            self._sealed[seal.name] = (count + change, payer)
        else:
            del self._sealed[seal.name]
        if not (count and count + change):
            self._charge(payer, change * SEAL_COST * len(self._seal_to_bytes(seal)))


def _in_turn(events: list[tuple[int, Event]]) -> list[tuple[int, Event]]:
    """Return events with their times by time of publication, but each stream in the order of its
    numbers.

    Ages are estimates, and may say that the later of two events is older. Events of one stream
    are therefore exchanged among the places of the stream.
    """
    streams: dict[StreamId, list[tuple[int, Event]]] = {}
    for timed in events:
        streams.setdefault(timed[1].stream, []).append(timed)
    for own in streams.values():
        own.sort(key=lambda timed: timed[1].seq, reverse=True)
    turns = sorted(events, key=lambda timed: timed[0])
    return [streams[event.stream].pop() for _, event in turns]
