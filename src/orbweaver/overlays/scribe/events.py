"""What was published: events on their way to the root, events here, and events that are missing.

Scribe itself delivers with best effort. Here the publisher repeats an event until a
root has confirmed it, and what a broken branch missed is pulled afterwards: tree neighbours tell
each other of recent events, and pull those that they lack. This part remembers and decides. Its
owner sends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from orbweaver.core.ids import Topic
from orbweaver.core.messages import Carrier, Event, StreamId
from orbweaver.core.overlay import Context
from orbweaver.gossip.cache import EventCache, Held
from orbweaver.gossip.messages import EventId
from orbweaver.gossip.streams import AGE_SLACK_MS, Stream
from orbweaver.overlays.scribe.messages import ScribeMulticast, Span
from orbweaver.overlays.scribe.params import ScribeParams

AGAIN_MS = 1000
"""Milliseconds after which an event that no root has confirmed is sent again. Doubles each
time."""
BACK = 512
"""How many events of one stream, back from the last, are looked for."""
PULL_MAX = 128
"""Most events that are pulled because of one message."""
PULL_AGAIN_MS = 500
"""Milliseconds after which an event may be pulled again."""
PULLS_MAX = 4
"""How often an event is pulled."""
STREAMS_MAX = 1 << 17
"""How many streams are remembered. A publisher can begin any number of them."""
RECENT_MAX = 64
"""Most streams of one topic that are told of."""
WANTED_MAX = 1 << 15
"""Most events that are looked for at one time."""
BACKLOG_MS = 2000
"""Milliseconds for which an event that no root has confirmed counts as backlog."""


class Unconfirmed:
    """An event that a root has to get from here."""

    __slots__ = ("again_ms", "held", "tries")

    def __init__(self, held: Held, now: int) -> None:
        self.held = held
        self.tries = 0
        self.again_ms = now


class ScribeEvents:
    def __init__(
        self, context: Context, params: ScribeParams, subscribed: Mapping[Topic, int]
    ) -> None:
        """`subscribed` is the live map of the subscribed topics and their times."""
        self._context = context
        self._me = context.me
        self._outbox = context.outbox
        self._subscribed = subscribed
        self._keep_ms = params.keep_ms
        self._cache = EventCache(params.cache_size, params.keep_ms)
        self._epoch = 0
        self._sent: dict[Topic, int] = {}
        self._streams: dict[StreamId, Stream] = {}
        self._recent: dict[Topic, dict[StreamId, tuple[int, int, int]]] = {}
        """Topic -> its recent streams, each with the first and last event and the time of that."""
        self._wanted: dict[EventId, tuple[int, int]] = {}
        """Event that was pulled -> how often, and when last."""
        self.unconfirmed: dict[EventId, Unconfirmed] = {}

    def start(self) -> None:
        self._epoch = self._outbox.now()

    # -- to the root

    def make(self, topic: Topic, payload: bytes) -> Held:
        seq = self._sent.get(topic, 0)
        self._sent[topic] = seq + 1
        event = Event(topic, self._me, self._epoch, seq, payload, self._context.seal())
        return Held(event, 0, 0, self._outbox.now())

    def entrust(self, held: Held) -> None:
        """Remember an event until a root has confirmed it."""
        name = name_of(held.event)
        if name not in self.unconfirmed:
            self.unconfirmed[name] = Unconfirmed(held, self._outbox.now())

    def due(self) -> list[Unconfirmed]:
        """Return the events that have to be sent towards the root now, and count that as done."""
        now = self._outbox.now()
        for name, waiting in list(self.unconfirmed.items()):
            if waiting.held.since < now - self._keep_ms:
                del self.unconfirmed[name]
        due = [waiting for waiting in self.unconfirmed.values() if waiting.again_ms <= now]
        for waiting in due:
            waiting.again_ms = now + (AGAIN_MS << min(waiting.tries, 5))
            waiting.tries += 1
        return due

    def backlog(self) -> int:
        """Return how many events of the last moments no root has confirmed."""
        old = self._outbox.now() - BACKLOG_MS
        return sum(waiting.held.since >= old for waiting in self.unconfirmed.values())

    # -- what is here

    def take(self, message: Carrier) -> bool:
        """Keep an event, and give it to the application if it wants it. Return whether it is new
        here."""
        event = message.event
        stream = self._stream(event.stream)
        if stream.seen(event.seq):
            return False
        stream.settle(event.seq)
        now = self._outbox.now()
        self._cache.put(Held(event, message.hops, message.age_ms, now), event.stream)
        self._note_recent(event, now)
        self._wanted.pop(name_of(event), None)
        if event.publisher != self._me and self._wants(event.topic, message.age_ms):
            self._outbox.deliver(message)
        return True

    def copy(self, name: EventId) -> ScribeMulticast | None:
        """Return an event to pass on, if it is still here."""
        held = self._cache.get(name[:3], name[3])
        if held is None:
            return None
        return ScribeMulticast(held.event, held.hops + 1, held.age_at(self._outbox.now()))

    def held(self, topic: Topic) -> list[Held]:
        """Return the recent events of a topic."""
        found = []
        for stream, (first, last, _) in self._recent.get(topic, {}).items():
            for seq in range(first, last + 1):
                held = self._cache.get(stream, seq)
                if held is not None:
                    found.append(held)
        return found

    # -- what is missing

    def topics(self, within_ms: int) -> list[Topic]:
        """Return the topics with events of the last `within_ms`. Events older than `keep_ms` are
        forgotten."""
        old = self._outbox.now() - self._keep_ms
        for topic, streams in list(self._recent.items()):
            for key in [key for key, (_, _, at) in streams.items() if at < old]:
                del streams[key]
            if not streams:
                del self._recent[topic]
        for name in [name for name, (_, at) in self._wanted.items() if at < old]:
            del self._wanted[name]
        since = self._outbox.now() - within_ms
        return [
            topic
            for topic, streams in self._recent.items()
            if any(at >= since for _, _, at in streams.values())
        ]

    def spans(self, topic: Topic) -> list[Span]:
        """Return what a tree neighbour is told of the recent events of a topic."""
        told = list(self._recent.get(topic, {}).items())[-RECENT_MAX:]
        return [Span(stream, first, last) for stream, (first, last, _) in told]

    def lacking(self, spans: Iterable[Span]) -> list[EventId]:
        """Return which of the events that a neighbour tells of have to be pulled now."""
        names: list[EventId] = []
        for span in spans:
            known = self._streams.get(span.stream)
            if known is not None and known.next_seq > span.last and not known.skipped:
                continue  # nearly always: all of it is here
            first = max(span.first, span.last - BACK + 1)
            gaps = (known or Stream()).gaps_up_to(span.last, span.last - first + 1)
            names += self._to_pull(span.stream, gaps, PULL_MAX - len(names))
            if len(names) >= PULL_MAX:
                break
        return names

    def gaps_before(self, event: Event) -> list[EventId]:
        """Return the events that were due before this one and have not come. What was published
        before the first event seen of a stream is not looked for."""
        streams = self._recent.get(event.topic, {})
        first = streams[event.stream][0] if event.stream in streams else event.seq
        window = min(BACK, event.seq - first)
        if window <= 0:
            return []
        gaps = self._streams[event.stream].gaps_up_to(event.seq - 1, window)
        return self._to_pull(event.stream, gaps, PULL_MAX)

    # -- inside

    def _to_pull(self, stream: StreamId, gaps: Sequence[int], most: int) -> list[EventId]:
        now = self._outbox.now()
        names: list[EventId] = []
        for seq in gaps:
            name = (*stream, seq)
            pulls, at = self._wanted.get(name, (0, -PULL_AGAIN_MS))
            if len(names) >= most:
                break
            if pulls >= PULLS_MAX or now - at < PULL_AGAIN_MS:
                continue
            self._wanted.pop(name, None)
            self._wanted[name] = (pulls + 1, now)
            if len(self._wanted) > WANTED_MAX:
                del self._wanted[next(iter(self._wanted))]
            names.append(name)
        return names

    def _wants(self, topic: Topic, age_ms: int) -> bool:
        """Return whether an event was published after the subscription to its topic."""
        since = self._subscribed.get(topic)
        return since is not None and age_ms <= self._outbox.now() - since + AGE_SLACK_MS

    def _stream(self, key: StreamId) -> Stream:
        stream = self._streams.get(key)
        if stream is None:
            if len(self._streams) >= STREAMS_MAX:
                del self._streams[next(iter(self._streams))]
            stream = self._streams[key] = Stream()
        return stream

    def _note_recent(self, event: Event, now: int) -> None:
        streams = self._recent.setdefault(event.topic, {})
        first, last, _ = streams.pop(event.stream, (event.seq, event.seq, now))
        first, last = min(first, event.seq), max(last, event.seq)
        streams[event.stream] = (max(first, last - BACK + 1), last, now)
        if len(streams) > 2 * RECENT_MAX:
            del streams[next(iter(streams))]


def name_of(event: Event) -> EventId:
    return (event.publisher, event.epoch, event.topic, event.seq)
